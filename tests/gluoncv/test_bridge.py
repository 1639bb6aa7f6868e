"""GluonCV's way to layers.mxnet, shown on a stand-in that imports as GluonCV 0.10.5 does."""

import textwrap

import forks
import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")

INIT = """
from .check import _require_mxnet_version, _require_pytorch_version
__version__ = "0.11.0"
_found_mxnet = _found_pytorch = False
try:
    _require_mxnet_version("1.4.0", "2.0.0")
    from . import model_zoo
    _found_mxnet = True
except ImportError:
    pass
try:
    _require_pytorch_version("1.4.0", "2.0.0")
    _found_pytorch = True
except ImportError:
    pass
if not any((_found_mxnet, _found_pytorch)):
    raise ImportError("Unable to import modules")
"""
CHECK = """
def _require_mxnet_version(least, below):
    import mxnet as mx
    from distutils.version import LooseVersion
    if LooseVersion(mx.__version__) < LooseVersion(least):
        raise RuntimeError(mx.__version__)
    if LooseVersion(mx.__version__) >= LooseVersion(below):
        raise RuntimeError(mx.__version__)

def _require_pytorch_version(least, below):
    import torch
    raise RuntimeError(torch.__version__)
"""


@pytest.fixture
def run(tmp_path):
    """Run a program beside the stand-in, whose module model_zoo has the given text."""

    def run(model_zoo, program, *options):
        folder = tmp_path / "gluoncv"
        folder.mkdir()
        files = {"__init__": INIT, "check": CHECK, "model_zoo": model_zoo}
        for name, text in files.items():
            (folder / f"{name}.py").write_text(textwrap.dedent(text))
        (tmp_path / "program.py").write_text(textwrap.dedent(program))
        return forks.run([*options, "program.py"], cwd=tmp_path)

    return run


def printed(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_it_is_imported_on_layers_mxnet(run):
    done = run(
        """
        import mxnet as mx
        import mxnet.ndarray as nd
        from mxnet.gluon import nn
        from mxnet import gluon
        from mxnet.gluon.model_zoo import vision
        """,
        """
        import sys
        import layers.mxnet as mx
        zoo = mx.gluoncv().model_zoo
        print(zoo.mx is mx, zoo.nd is mx.nd, zoo.nn is mx.gluon.nn, zoo.gluon is mx.gluon)
        print(zoo.vision.__name__, "mxnet" in sys.modules)
        """,
    )
    assert printed(done).split() == ["True"] * 4 + ["layers.mxnet.gluon.model_zoo.vision", "False"]


@pytest.mark.parametrize("options", [(), ("-m", "layers.mxnet")])
def test_a_script_that_imports_it(run, options):
    install = "" if options else "import layers.mxnet; layers.mxnet.install()"
    done = run(
        "import mxnet as mx",
        f"""
        {install}
        import mxnet
        import gluoncv
        print(gluoncv.model_zoo.mx is mxnet, mxnet.gluoncv() is gluoncv, gluoncv._found_pytorch)
        """,
        *options,
    )
    assert printed(done) == "True True False"


def test_removed_names_are_given_to_its_modules_alone(run):
    done = run(
        """
        import numpy as np
        import numpy
        from numpy import float as old_float
        from numpy.linalg import norm
        import PIL.Image as pil
        from PIL import Image, ImageFile
        FLOAT = np.zeros(2).astype(np.float)
        def at_call():
            import numpy as np
            return np.int(3.5), np.bool, np.Inf
        UNEQUAL = np.asarray([[1, 2], [3]]), np.array([np.zeros((2, 3)), np.zeros((1, 3))])
        """,
        """
        import numpy as np
        import PIL.Image
        before = {*dir(np)}, {*dir(PIL.Image)}
        import layers.mxnet
        zoo = layers.mxnet.gluoncv().model_zoo
        print(zoo.FLOAT.dtype, zoo.at_call(), zoo.norm is np.linalg.norm, zoo.old_float is float)
        print(zoo.Image.ANTIALIAS is PIL.Image.LANCZOS, zoo.pil is zoo.Image, zoo.np is zoo.numpy)
        print(zoo.Image.Image is PIL.Image.Image, zoo.ImageFile is PIL.ImageFile)
        print(before == ({*dir(np)}, {*dir(PIL.Image)}))
        print([(rows.dtype.name, rows.shape) for rows in zoo.UNEQUAL])
        try:
            zoo.np.array([[1, 2], [3]], "float32")
        except ValueError:
            print("refused")
        """,
    )
    first = "float64 (3, <class 'bool'>, inf) True True"
    assert printed(done).splitlines() == [
        *(first, "True True True", "True True", "True"),
        *("[('object', (2,)), ('object', (2,))]", "refused"),
    ]


@pytest.mark.slow
def test_json_writes_numbers_of_numpy(run):
    done = run(
        """
        import io
        import numpy as np
        def dumped(value):
            import json
            to = io.StringIO()
            json.dump(value, to)
            return json.loads(to.getvalue())
        """,
        """
        import layers.mxnet
        dumped = layers.mxnet.gluoncv().model_zoo.dumped
        import json, numpy as np
        print(dumped({"score": 0.5 * np.float32(0.5), "id": np.int64(3)}))
        try:
            dumped({1, 2})
        except TypeError as error:
            print(error)
        print(json.dump.__name__)
        """,
    )
    refused = "Object of type set is not JSON serializable"
    assert printed(done).splitlines() == ["{'score': 0.25, 'id': 3}", refused, "dump"]


@pytest.mark.slow
def test_autocfg_knows_types_of_today(run):
    pytest.importorskip("autocfg")
    done = run(
        """
        from typing import Any, Union
        from autocfg import dataclass
        @dataclass
        class Options:
            teacher: Union[None, str] = None
            rate: Union[float, int] = 1
            norm: Any = 3
            steps: Union[tuple, list] = (1, 2)
        """,
        """
        import layers.mxnet
        Options = layers.mxnet.gluoncv().model_zoo.Options
        print(Options(teacher="net", rate=0.5))
        try:
            Options(rate="fast")
        except TypeError as error:
            print(str(error).partition(".")[2])
        """,
    )
    shown, refused = printed(done).splitlines()
    assert shown == "Options(teacher=net, rate=0.5, norm=3, steps=(1, 2))"
    assert "rate` requires typing.Union[float, int], given <class 'str'>:fast" in refused


def test_a_dependency_that_is_absent_is_told_where_it_is_used(run):
    done = run(
        """
        import yacs.config
        import autocfg.part as part
        from portalocker import Lock
        from tqdm import tqdm
        try:
            import cython_bbox
        except ImportError:
            cython_bbox = None
        def calls():
            return Lock("file")
        def takes():
            return yacs.config.CfgNode
        """,
        """
        import importlib.util
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name, package=None: (
            None if name in ("yacs", "autocfg", "portalocker") else found(name, package)
        )
        import layers.mxnet
        zoo = layers.mxnet.gluoncv().model_zoo
        print(zoo.cython_bbox, callable(zoo.tqdm))
        for use in (zoo.calls, zoo.takes, lambda: zoo.part.more):
            try:
                use()
            except ModuleNotFoundError as error:
                print(error.name, "|", str(error).replace(chr(10), " "))
        """,
    )
    text = "GluonCV uses {} here, and {} is not installed   expected pip install {}"
    assert printed(done).splitlines() == [
        "None True",
        "portalocker | " + text.format("portalocker.Lock", "portalocker", "portalocker"),
        "yacs | " + text.format("yacs.config", "yacs", "yacs"),
        "autocfg | " + text.format("autocfg.part", "autocfg", "autocfg"),
    ]


def test_what_fails_in_its_modules_is_not_hidden(run):
    done = run("from mxnet import NoSuchName", "import layers.mxnet as mx; mx.gluoncv()")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: gluoncv.model_zoo cannot be imported: cannot import name")
    assert "NoSuchName" in last


def test_it_says_at_debug_what_it_did(run):
    done = run(
        "import mxnet as mx\nimport numpy as np",
        """
        import logging
        logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
        import layers.mxnet
        layers.mxnet.gluoncv()
        """,
    )
    name = "layers.mxnet.gluoncv: "
    lines = [line for line in done.stderr.splitlines() if line.startswith(name)]
    assert f"{name}gluoncv.model_zoo imports mxnet: layers.mxnet" in lines
    assert f"{name}gluoncv.check imports distutils.version: LooseVersion of this package" in lines
    assert any("gluoncv.check finds no PyTorch" in line for line in lines)
    assert lines[-1].startswith(f"{name}gluoncv 0.11.0 of ")


def test_without_it():
    # What is installed is hidden once layers.mxnet is imported.
    program = "import sys\nimport layers.mxnet as mx\nsys.path.clear()\nmx.gluoncv()"
    done = forks.run(["-c", program])
    assert "ModuleNotFoundError: gluoncv: GluonCV is not installed" in done.stderr


def test_imported_before_on_another_mxnet(run):
    done = run(
        "",
        """
        import sys, types
        from importlib.machinery import ModuleSpec
        sys.modules["gluoncv"] = module = types.ModuleType("gluoncv")
        module.__spec__, module.__file__ = ModuleSpec("gluoncv", None), "gluoncv.py"
        import layers.mxnet
        layers.mxnet.gluoncv()
        """,
    )
    assert "RuntimeError: gluoncv: GluonCV is imported already, from gluoncv.py" in done.stderr


def test_int_of_one_element():
    from layers.mxnet._old.gluoncv import _int_of_one

    assert _int_of_one(np.array([3.0])) == _int_of_one(np.float32(3.7)) == _int_of_one("11", 2) == 3
    with pytest.raises(TypeError):
        _int_of_one(np.zeros(2))


def test_versions_are_compared_by_their_parts():
    from layers.mxnet._old.gluoncv import LooseVersion

    order = ["0.9", "0.10.5", "0.10.5.post0", "1.4.0", "1.9.1", "2.0.0rc1", "2.0.0.1", "10.0"]
    assert sorted(map(LooseVersion, reversed(order))) == [*map(LooseVersion, order)]
    assert str(LooseVersion("1.9.1")) == "1.9.1" and LooseVersion("1.0") == LooseVersion("1.0")
