"""What is installed: names, console scripts, and the files of the wheel."""

import re
import subprocess
import sys
from configparser import ConfigParser
from email import message_from_string
from importlib.metadata import distributions
from pathlib import Path

import installed
import pytest
from repeated import first_alone

import layers

ROOT = Path(__file__).resolve().parents[1]


def can_build():
    """Whether pip and a setuptools that makes wheels, from 70.1 on or with `wheel`, are there."""
    # Not find_spec: looking for pip turns off setuptools' distutils, which MXNet imports.
    found = {one.metadata["Name"]: one.version for one in distributions()}
    version = tuple(int(n) for n in re.findall(r"\d+", found.get("setuptools", "0"))[:2])
    return "pip" in found and (version >= (70, 1) or (version > (0,) and "wheel" in found))


builds = pytest.mark.skipif(
    not can_build(), reason="a wheel is built with pip and setuptools from 70.1 on"
)


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    """The folder in which the package is installed."""
    return installed.install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def folder(tmp_path):
    """A folder with programs of a user's own, called train and mine."""
    (tmp_path / "train.py").write_text("print('the train.py of a user')\n")
    (tmp_path / "mine.py").write_text(
        "from layers import operator\n\n\n@operator\nclass twice:\n"
        "    def forward(x):\n        return x * 2\n\n"
        "    def dx(dy):\n        return dy * 2\n"
    )
    return tmp_path


def metadata(target):
    (path,) = target.glob("gluon_layers-*.dist-info")
    return message_from_string((path / "METADATA").read_text("utf-8"))


@builds
def test_name_and_version(target):
    told = metadata(target)
    assert told["Name"] == "gluon-layers"
    assert told["Version"] == layers.__version__ == "0.2.0"
    assert told["Author"] == "The layers developers" and "gluon" in told["Keywords"]
    assert (target / "layers").is_dir() and (target / "train").is_dir()


def test_the_version_is_in_one_place():
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    assert config["metadata"]["version"] == "attr: layers.__version__"


@builds
def test_files_for_type_checkers_and_templates_are_there(target):
    names = ["layers/py.typed", "train/py.typed", "layers/mxnet/ndarray/op.pyi"]
    templates = (ROOT / "train/report/templates").iterdir()
    for name in (*names, *(f"train/report/templates/{path.name}" for path in templates)):
        assert (target / name).exists(), name


@builds
@pytest.mark.parametrize("in_path", first_alone([False, True]), ids=["", "PYTHONPATH=."])
def test_a_train_py_of_a_users_does_not_shadow(target, folder, in_path, engine):
    out = folder / "out"
    given = ["--engine", engine, "--epochs", "1", "--hidden", "16", "--out", str(out)]
    paths = [folder] if in_path else []
    done = installed.run(target, folder, "layers-train", *given, paths=paths)
    assert done.returncode == 0, done.stderr
    assert "of a user" not in done.stdout and (out / "model.params").exists()


def test_without_a_console_script_it_does(folder):
    """What the console script is for."""
    done = subprocess.run([sys.executable, "-m", "train"], cwd=folder, capture_output=True)
    assert done.stdout == b"the train.py of a user\n"


@pytest.mark.slow
@builds
def test_help_names_the_script(target, folder):
    modules = {"train": "train", "check": "layers.check"}
    modules |= {name: f"train.{name}" for name in ("predict", "report", "export")}
    for program, module in ((f"layers-{name}", module) for name, module in modules.items()):
        told = installed.run(target, folder, program, "--help").stdout
        assert f"usage: {program} " in told and f"python -m {module} " not in told


@pytest.mark.slow
@builds
def test_check_finds_modules_in_the_current_folder(target, folder):
    given = ["mine:twice", "--input", "4x3", "--no-compile"]
    done = installed.run(target, folder, "layers-check", *given)
    assert done.returncode == 0 and " 0 failed" in done.stdout, done.stderr


@pytest.mark.slow
@builds
@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "arguments", first_alone([["program.py"], ["-m", "program"]]), ids=" ".join
)
def test_mxnet_runs_a_program(target, folder, arguments):
    (folder / "program.py").write_text(
        "import mxnet as mx, mine, sys\nprint(mine.twice(mx.nd.ones((2,))).asnumpy(), sys.argv[1])"
    )
    done = installed.run(target, folder, "layers-mxnet", *arguments, "x")
    assert done.stdout == "[2. 2.] x\n", done.stderr
    (folder / "program.py").write_text("1 / 0\n")
    told = installed.run(target, folder, "layers-mxnet", *arguments).stderr
    files = [line for line in told.splitlines() if line.startswith("  File ")]
    assert len(files) == 1 and "program.py" in files[0], told


@pytest.mark.slow
@builds
@pytest.mark.engine("torch")
def test_mxnet_names_itself(target, folder):
    told = installed.run(target, folder, "layers-mxnet", "absent.py").stderr
    assert told == "layers-mxnet: there is no file 'absent.py'\n"
    told = installed.run(target, folder, "layers-mxnet", "--help").stdout
    assert told.startswith("layers-mxnet script.py [args]: run") and "python -m" not in told


# Of the names that pip is told to install, with extras: this distribution's is gluon-layers.
EXTRAS = re.compile(r"(?<![\w-])layers\[[a-z]")
INSTALLS = re.compile(r"pip3? install [^`\n]*?(?<![\w./-])layers\b")


def texts():
    for pattern in ("*.md", "*.cfg", "*.toml", "Makefile", "layers/**/*.py", "train/**/*.py"):
        yield from ROOT.glob(pattern)
    yield from (ROOT / "docs").glob("*.md")


def offences(text):
    """What sends people to another project's package."""
    return EXTRAS.findall(text) + INSTALLS.findall(text)


def test_nothing_names_another_projects_package():
    found = {str(path): offences(path.read_text("utf-8")) for path in texts()}
    assert len(found) > 300 and not {path: bad for path, bad in found.items() if bad}


@pytest.mark.parametrize(
    "text, bad",
    [
        ("pip install 'layers[exchange]'", True),
        ("expected layers[train]", True),
        ("pip install layers", True),
        ("pip install -U 'layers>=0.2'", True),
        ("pip install 'gluon-layers[exchange]'", False),
        ("pip install gluon-layers", False),
        ("net.layers[0]", False),
    ],
)
def test_what_names_it_is_found(text, bad):
    assert bool(offences(text)) is bad
