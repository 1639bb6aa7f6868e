"""Operators in a compiled library: building, calling, preparing, and what is told when it fails."""

import copy
import gc
import os
import pickle
import resource
import shutil
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from layers import engine
from layers.engine import autograd, nd
from layers.ops.ways import library, toolchain
from layers.ops.ways.library import Library, LibraryError
from layers.ops.ways.operator import Operator

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).with_name("sources")
random = np.random.default_rng(0)

pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("c++")), reason="no compilers for C and C++ (cc, c++)"
)
needs_nvcc = pytest.mark.skipif(
    not shutil.which("nvcc"), reason="no compiler for CUDA (nvcc) on PATH"
)


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache of this module's own: what it builds, it builds once, and anew."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAYERS_CACHE", str(folder))
        for variable in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "NVCC", "NVCCFLAGS"):
            patch.delenv(variable, raising=False)
        yield folder


@pytest.fixture
def builds(monkeypatch):
    """The commands of the compilers that run for a test's own sources."""
    library._bridge()  # which is built when the first library in C++ is loaded
    commands = []
    compile = toolchain._compile
    monkeypatch.setattr(toolchain, "_compile", lambda c: (commands.append(c), compile(c)))
    return commands


def in_c(function):
    return Library(f"{SOURCES}/arithmetic.c:{function}")


def in_cxx(function):
    return Library(f"{SOURCES}/prepared.cc:{function}")


def call(it, *inputs, shape=None, dtype="float32", **attributes):
    (y,) = it.run(list(inputs), [inputs[0].shape if shape is None else shape], [dtype], attributes)
    return y


def floats(*shape):
    return np.asarray(random.standard_normal(shape), "float32")


# Calls


@pytest.mark.parametrize("shape", [(4,), (2, 3, 5), (), (0,), (2, 0, 3), (1,)], ids=str)
def test_add(shape):
    a, b = floats(*shape), floats(*shape)
    y = call(in_c("add"), a, b)
    assert y.shape == shape and y.dtype == np.float32 and y.flags.owndata and y.flags.writeable
    np.testing.assert_array_equal(y, a + b)


def test_several_outputs():
    low, high = in_c("extremes").run([np.array([3.0, -1, 2])], [(), ()], [np.float64, "float64"])
    assert (low, high) == (-1, 3) and low.shape == ()


def test_outputs_start_as_zeros():
    for _ in range(3):
        assert call(in_c("accumulate"), np.full(4, 7, "float32")).tolist() == [7, 7, 7, 7]


def unaligned():
    memory = np.zeros(25, np.uint8)
    memory[1:] = np.arange(6, dtype="float32").view(np.uint8)
    return memory[1:].view("float32").reshape(2, 3)


@pytest.mark.parametrize(
    "x",
    [
        pytest.param(floats(3, 2).T, id="transposed"),
        pytest.param(floats(4, 6)[::2, ::-2], id="strided"),
        pytest.param(np.broadcast_to(floats(3), (2, 3)), id="broadcast"),
        pytest.param(unaligned(), id="unaligned"),
        pytest.param(floats(2, 3).astype(">f4"), id="byte order"),
        pytest.param(np.asfortranarray(floats(3, 4)), id="Fortran"),
    ],
)
def test_inputs_of_any_layout(x):
    before = x.copy()
    np.testing.assert_allclose(call(in_c("square"), x), x.astype("float32") ** 2)
    np.testing.assert_array_equal(x, before)


DTYPES = ["bool", "float16", "float32", "float64", "complex64", "complex128"]
DTYPES += [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_text(dtype):
    y = call(in_c("describe"), np.zeros((2, 3), dtype), shape=(32,), dtype="uint8")
    assert y.tobytes().rstrip(b"\0").decode() == f"{dtype} 2 3"


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([None]), np.zeros(1, "i4,f4")], ids=str)
def test_what_is_no_number_is_refused(x):
    with pytest.raises(TypeError, match=r"library '.*:square': an array is .*\n  expected numbers"):
        call(in_c("square"), x)


# As an operator


def launched(it, inputs, shape, dtype="float32"):
    return engine.adapter().launch(it, inputs, [shape], [dtype], {})[0]


def test_square_with_its_gradient():
    square, gradient = in_c("square"), in_c("square_grad")
    it = Operator(
        "tests.library.square",
        lambda x: launched(square, [x], x.shape),
        inputs=("x",),
        gradients={"x": lambda dy, x: launched(gradient, [dy, x], x.shape)},
        shapes=lambda x: {"y": x},
        opaque="it is compiled already",
    )
    it.register()
    x = nd.array([1.0, 4.0, 9.0])
    x.attach_grad()
    with autograd.record():
        y = it(x)
    y.backward(nd.array([1.0, 2.0, 3.0]))
    assert y.asnumpy().tolist() == [1, 16, 81]
    assert x.grad.asnumpy().tolist() == [2, 16, 54]


def test_softmax_cross_entropy():
    softmax, gradient = (Library(f"{SOURCES}/softmax.cc:softmax{n}") for n in ("", "_grad"))
    x, label = floats(5, 4), np.array([0, 3, 1, 1, 2], np.int32)
    expected = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    y = call(softmax, x)
    np.testing.assert_allclose(y, expected, rtol=1e-6)
    dx = call(gradient, y, label)
    np.testing.assert_allclose(dx, expected - np.eye(4)[label], rtol=1e-6, atol=1e-7)
    with pytest.raises(LibraryError, match="softmax_grad returned 2"):
        call(gradient, y, label + 1)


# Attributes, and what is prepared

ATTRIBUTES = [
    ("bool", True, [1]),
    ("bool", np.bool_(True), [1]),
    ("int", -(2**53), [-(2**53)]),
    ("int", np.int64(7), [7]),
    ("float", 2.5, [2.5]),
    ("float", 3, [3]),
    ("float", np.float32(2.5), [2.5]),
    ("double", 0.1, [0.1]),
    ("string", "a\0ü", [97, 0, 0xC3, 0xBC]),
    ("string", "", []),
    ("ints", (3, 1, 2), [3, 1, 2]),
    ("ints", [], []),
    ("ints", np.array([3, 1]), [3, 1]),
    ("floats", [0.5, 2], [0.5, 2]),
    ("floats", [1, 2], [1, 2]),
    ("floats", [], []),
    ("int rows", [[1, 2], [], [3]], [1, 2, -1, -1, 3, -1]),
    ("int rows", [], []),
    ("float rows", np.array([[0.5, 1.5]]), [0.5, 1.5, -1]),
    ("whether there is one", 0, [1]),
    ("whether there is one", None, [0]),
]


@pytest.mark.parametrize("read, value, expected", ATTRIBUTES, ids=str)
def test_attributes(read, value, expected):
    (y,) = in_cxx("attribute").run([], [(8,)], ["float64"], {"read": read, "value": value})
    assert y.tolist() == expected + [0] * (8 - len(expected))


@pytest.mark.parametrize(
    "read, value, message",
    [
        ("int", None, "there is no attribute 'value'"),
        ("int", 2.5, "'value' is float, and was read as int64_t"),
        ("bool", 1, "'value' is int64_t, and was read as bool"),
        ("int", True, "'value' is bool, and was read as int64_t"),
        ("string", 1, "'value' is int64_t, and was read as std::string"),
        ("float", "1", "'value' is std::string, and was read as float"),
        ("int", [1], "'value' is a vector of int64_t, and was read as one number"),
        ("ints", 1, "'value' is int64_t, and was read as a vector"),
        ("ints", [[1]], "'value' is vectors of int64_t, and was read as a vector"),
        ("int rows", [1], "'value' is a vector of int64_t, and was read as vectors"),
    ],
)
def test_attributes_of_another_type(read, value, message):
    with pytest.raises(
        LibraryError, match=f":attribute': attribute threw an exception: .*{message}"
    ):
        in_cxx("attribute").run([], [(8,)], ["float64"], {"read": read, "value": value})


@pytest.mark.parametrize(
    "value", [2**63, ["a"], [True], [[[1]]], [1, [2]], {}, 1j, [2**63]], ids=str
)
def test_attributes_that_cannot_be(value):
    with pytest.raises(TypeError, match=r"the attribute value is .*\n  expected bool, int of 64"):
        in_cxx("attribute").run([], [(8,)], ["float64"], {"read": "int", "value": value})


def scales():
    (y,) = in_cxx("scales").run([], [(2,)], ["int32"])
    return dict(zip(("made", "alive"), y.tolist()))


def test_prepared_once_for_shapes_dtypes_and_attributes():
    before, scale = scales()["made"], in_cxx("scale")
    x = floats(5)
    for _ in range(4):
        np.testing.assert_allclose(call(scale, x, factor=3), 3 * x)
    assert scales()["made"] == before + 1
    call(scale, floats(6), factor=3)
    assert call(scale, x).tolist() == x.tolist()
    assert scales()["made"] == before + 3
    for value in (1, 1.0):  # equal, but not of one type
        call(scale, x, factor=value)
    assert scales()["made"] == before + 5


def test_once_among_threads_and_their_data_is_deleted():
    before, scale = scales(), in_cxx("scale")
    together = threading.Barrier(8)

    def run(seed):
        x = np.full(100, seed, "float32")
        together.wait()
        return all((call(scale, x, factor=2, slow=True) == 2 * seed).all() for _ in range(50))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(run, range(8)))
    assert scales() == {n: count + 1 for n, count in before.items()}
    scale = None
    gc.collect()
    assert scales()["alive"] == before["alive"]


def test_kernels_are_bounded():
    before, scale = scales()["alive"], in_cxx("scale")
    for n in range(1, library.MOST_KERNELS + 40):
        call(scale, np.ones(n, "float32"))
    gc.collect()
    assert scales()["alive"] == before + library.MOST_KERNELS


def test_workspaces():
    total = in_cxx("total")
    for n in (3, 1000):
        assert call(total, np.arange(n, dtype="float32"), shape=()) == n * (n - 1) / 2


def test_infer_shape():
    repeat = in_cxx("repeat")
    assert repeat.infer_shape([(3,)], {"times": 2}) == (6,)
    assert call(repeat, floats(3), shape=(6,), times=2).shape == (6,)
    assert in_c("add").infer_shape([(3,), (3,)]) is None
    with pytest.raises(LibraryError, match=r"exception: repeat is for vectors\n  for \(2, 3\)"):
        repeat.infer_shape([(2, 3)], {"times": 2})
    with pytest.raises(LibraryError, match="no attribute 'times'"):
        repeat.infer_shape([(3,)])


@pytest.mark.parametrize("shape", [(70, 1), (2, -1)])
def test_infer_shape_that_is_none(shape):
    with pytest.raises(LibraryError, match=rf"gave {shape[0]} sizes.*\n  expected at most 64"):
        in_cxx("wrong_shape").infer_shape([shape])


# Errors


@pytest.mark.parametrize("code", [5, -1, 2**31 - 1])
def test_return_codes(code):
    with pytest.raises(LibraryError) as error:
        in_c("give_back").run([np.array([code], np.int32)], [], [])
    assert str(error.value).endswith(f"returned {code}\n  expected 0\n  for int32 (1,)")


def test_exceptions_do_not_end_the_process():
    for function, message in [
        ("thrower", "thrower threw an exception: not today"),
        ("number_thrower", "number_thrower threw an exception: an exception that is no std::"),
        ("init_thrower", "init_throwerInit threw an exception: not prepared"),
    ]:
        with pytest.raises(LibraryError, match=message):
            in_cxx(function).run([], [(2,)], ["float32"])
    # What was thrown before is not told again.
    with pytest.raises(LibraryError, match="scaleInit returned -3\n"):
        call(in_cxx("scale"), floats(2), refuse=True)
    with pytest.raises(LibraryError, match="give_back returned 5\n"):
        in_c("give_back").run([np.array([5], np.int32)], [], [])


@pytest.mark.parametrize(
    "text, error",
    [(3, TypeError), *((t, ValueError) for t in ("", "a.so", "a.so:", ":f", "a.so:f:g"))],
)
def test_spelling(text, error):
    with pytest.raises(error, match=r"^library .*\n  expected 'path:function'$"):
        Library(text)


def test_no_such_file(tmp_path):
    for name in ("none.so", "none.c"):
        with pytest.raises(
            FileNotFoundError, match=rf"^library '{tmp_path}/{name}:f': there is no"
        ):
            Library(f"{tmp_path}/{name}:f")


@pytest.mark.parametrize("make", [in_c, in_cxx])
def test_no_such_function(make):
    with pytest.raises(
        LibraryError, match=r"it has no function 'none'\n  expected extern \"C\" int"
    ):
        make("none")


@pytest.mark.parametrize("content", [b"", b"I am no library\n" * 100, b"\x7fELF" + b"\0" * 200])
def test_not_a_library(tmp_path, content):
    path = tmp_path / "text.so"
    path.write_bytes(content)
    with pytest.raises(
        LibraryError, match=rf"'{path}:f': it cannot be loaded: .*\n  expected a sh"
    ):
        Library(f"{path}:f")


def test_a_source_that_does_not_compile(tmp_path):
    path = tmp_path / "bad.cc"
    path.write_text('extern "C" int f() { return nothing; }')
    with pytest.raises(LibraryError) as error:
        Library(f"{path}:f")
    first, command, *said = str(error.value).split("\n")
    assert first == f"library '{path}:f': it cannot be built: the compiler failed with 1"
    assert f"-std=c++17 -I {toolchain.INCLUDE} {path}" in command
    assert "nothing" in "".join(said) and "bad.cc:1" in "".join(said)


@pytest.mark.parametrize("suffix, language", [("c", "C"), ("cc", "C\\+\\+"), ("cu", "CUDA")])
def test_no_compiler(tmp_path, monkeypatch, suffix, language):
    path = tmp_path / f"add.{suffix}"
    path.touch()
    monkeypatch.setitem(
        toolchain.SOURCES, ".cu", toolchain.SOURCES[".cu"]._replace(candidates=("nvcc",))
    )
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        LibraryError, match=f"no compiler for {language}: none of .* is found\n  exp"
    ):
        Library(f"{path}:f")
    monkeypatch.setenv(toolchain.SOURCES[path.suffix].compiler, "mycc -O1")
    with pytest.raises(LibraryError, match=f"no compiler for {language}: .* is 'mycc'\n  expected"):
        Library(f"{path}:f")


def test_what_is_built_already_needs_no_compiler(tmp_path, monkeypatch):
    for source in ("arithmetic.c", "prepared.cc"):
        shutil.copy(toolchain.build(SOURCES / source), tmp_path / f"{source}.so")
    monkeypatch.setenv("PATH", "")
    library._bridge.cache_clear()
    x = floats(3)
    np.testing.assert_array_equal(call(Library(f"{tmp_path}/arithmetic.c.so:add"), x, x), x + x)
    with pytest.warns(RuntimeWarning, match="would end the process, for no compiler for C"):
        scale = Library(f"{tmp_path}/prepared.cc.so:scale")
    np.testing.assert_array_equal(call(scale, x, factor=2.0), 2 * x)
    with pytest.warns(RuntimeWarning):
        repeat = Library(f"{tmp_path}/prepared.cc.so:repeat")
    with pytest.raises(LibraryError, match=r"^library '.*:repeat': no compiler for C\+\+: none of"):
        repeat.infer_shape([(3,)])


# What is built, and when


def test_built_once(tmp_path, builds):
    source = tmp_path / "add.c"
    shutil.copy(SOURCES / "arithmetic.c", source)
    source.write_text(source.read_text() + "\n// for this test\n")
    for function in ("add", "add", "square"):
        Library(f"{source}:{function}")
    assert len(builds) == 1
    copied = tmp_path / "elsewhere" / "add.c"
    copied.parent.mkdir()
    shutil.copy(source, copied)
    Library(f"{copied}:add")
    assert len(builds) == 1


@pytest.mark.slow_on("mxnet")
@pytest.mark.slow
def test_built_anew_when_anything_changes(tmp_path, builds, monkeypatch):
    source, header = tmp_path / "prepared.cc", tmp_path / "prepared.h"
    for file in (source, header):
        shutil.copy(SOURCES / file.name, file)
    source.write_text(source.read_text() + "\n// for this test\n")

    def length():
        return Library(f"{source}:repeat").infer_shape([(3,)], {"times": 2})

    assert length() == (6,) and len(builds) == 1
    header.write_text("#define REPEAT 10\n")
    assert length() == (60,) and len(builds) == 2
    monkeypatch.setenv("CXXFLAGS", "-O1 -lm")
    assert length() == (60,) and len(builds) == 3 and "-O1" in builds[-1]
    assert length() == (60,) and len(builds) == 3


def test_parallel_builds(tmp_path):
    source, log, compiler = tmp_path / "add.c", tmp_path / "log", tmp_path / "slow-cc"
    shutil.copy(SOURCES / "arithmetic.c", source)
    compiler.write_text(f'#!/bin/sh\necho x >> {log}\nsleep 0.3\nexec cc "$@"\n')
    compiler.chmod(0o755)
    folder = tmp_path / "cache"
    program = (  # without the package, whose import takes seconds
        "from importlib import util\n"
        f"spec = util.spec_from_file_location({toolchain.__name__!r}, {toolchain.__file__!r})\n"
        "module = util.module_from_spec(spec)\n"
        f"spec.loader.exec_module(module); print(module.build({str(source)!r}))"
    )
    environment = {**os.environ, "LAYERS_CACHE": str(folder), "CC": str(compiler)}
    command = [sys.executable, "-c", program]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for _ in range(4)
    ]
    built = {process.communicate(timeout=60)[0].strip() for process in started}
    assert [process.returncode for process in started] == [0] * 4
    assert len(log.read_text().split()) > 1, "they were not at work at the same time"
    assert len(built) == 1 and [str(p) for p in folder.iterdir()] == [*built]
    assert call(Library(f"{built.pop()}:square"), np.ones(2, "float32")).tolist() == [1, 1]


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(
        LibraryError, match=r"cannot be built in .*\n  expected .* set LAYERS_CACHE"
    ):
        in_c("add")


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_a_cache_that_others_can_write(tmp_path, monkeypatch, mode):
    """They could have put a library there, under the name of one that is to be built."""
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path / "cache"))
    in_c("add")
    assert mode_of(tmp_path / "cache") == 0o700
    (tmp_path / "cache").chmod(mode)
    with pytest.raises(LibraryError, match=r"can be changed by others: (.|\n)*set LAYERS_CACHE"):
        in_c("add")


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_cache_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path))
    if os.geteuid() == 0:
        os.chown(tmp_path, 12345, 12345)
        owner = 12345
    else:
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(
        LibraryError, match=f"can be changed by others: {tmp_path} is user {owner}'s"
    ):
        in_c("add")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_built_library_of_another_user(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path / "cache"))
    in_c("add")
    [built] = (tmp_path / "cache").iterdir()
    os.chown(built, 12345, 12345)
    with pytest.raises(LibraryError, match=f"{built.name} can be changed by others"):
        in_c("add")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
def test_a_link_of_another_user_to_the_cache(tmp_path, monkeypatch):
    """It could lead elsewhere when the library is loaded."""
    (tmp_path / "cache").symlink_to(tmp_path / "there")
    (tmp_path / "there").mkdir(mode=0o700)
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path / "cache"))
    in_c("add")
    os.lchown(tmp_path / "cache", 12345, 12345)
    with pytest.raises(LibraryError, match="cache is a link of user 12345"):
        in_c("add")


def test_a_cache_in_a_folder_that_others_can_write(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYERS_CACHE", str(tmp_path / "all/cache"))
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o777)
    with pytest.raises(LibraryError, match=r"all is user \d+'s, drwxrwxrwx"):
        in_c("add")
    (tmp_path / "all").chmod(0o1777)
    in_c("add")


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.delenv("LAYERS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert toolchain._folder() == tmp_path / "layers"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert toolchain._folder() == tmp_path / ".cache" / "layers"


# In a process


def test_the_interpreter_goes_on_meanwhile():
    meet = in_c("meet")
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: meet.run([], [], []), range(2)))


def test_eight_threads():
    add = in_c("add")

    def run(seed):
        a = np.full(1000 + seed, seed, "float32")
        return all((call(add, a, a) == 2 * seed).all() for _ in range(50))

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(run, range(8)))


def test_a_child_does_not_wait_for_threads_it_has_not():
    scale = in_cxx("scale")
    call(scale, floats(3))
    kernel = next(iter(scale._kernels.values()))
    scale._lock.acquire(), kernel._lock.acquire()
    library._renew_locks()  # what a child of fork does first
    done = []

    def calls():
        done.extend(call(scale, floats(n)) for n in (3, 4))

    thread = threading.Thread(target=calls, daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert len(done) == 2


def test_memory_is_flat():
    add, scale = in_c("add"), in_cxx("scale")
    x = np.ones(2**18, "float32")  # 1 MiB

    def run(times):
        for _ in range(times):
            call(add, x, x)
            call(scale, x[:100].reshape(4, 25), factor=2)
            in_cxx("repeat").infer_shape([(3,)], {"times": 2})

    run(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(1000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_copies_and_pickles(monkeypatch, tmp_path):
    add = in_c("add")
    monkeypatch.chdir(tmp_path)
    for again in (copy.deepcopy(add), pickle.loads(pickle.dumps(add))):
        assert str(again) == str(add) and call(again, floats(3), floats(3)).shape == (3,)


# On a device


def test_memory_of_the_caller():
    total = in_cxx("total")
    x, y = np.arange(4, dtype="float32"), np.zeros(1, "float32")
    where = [x.ctypes.data, y.ctypes.data], [(4,), (1,)], ["float32", "float32"]
    kept = []

    def allocate(size):
        kept.append(np.empty(size, np.uint8))
        return kept[-1].ctypes.data, kept[-1]

    total.run_device(*where, allocate=allocate)
    assert y[0] == 6 and [a.size for a in kept] == [32, 8]
    with pytest.raises(LibraryError, match=r"workspaces of \[32, 8\] bytes\n  expected `allocate`"):
        total.run_device(*where)
    with pytest.raises(ValueError, match=r"1 pointers, 2 shapes, 2 dtypes\n  expected one of each"):
        total.run_device(where[0][:1], *where[1:])


def test_a_library_with_code_for_a_gpu_refuses_arrays_of_the_cpu(tmp_path):
    source = tmp_path / "marked.c"
    marker = '__attribute__((section(".nv_fatbin"))) int marker;\n'
    source.write_text(f"{marker}int f(int n, void** p) {{ return 0; }}\n")
    path = shutil.copy(toolchain.build(source), tmp_path / "marked.so")
    marked = Library(f"{path}:f")
    assert marked.device == "gpu"
    x = nd.ones((3,))
    for refused in (lambda: call(marked, floats(3)), lambda: launched(marked, [x], (3,))):
        with pytest.raises(LibraryError, match="CUDA was given arrays of the CPU\n  expected a G"):
            refused()


@pytest.mark.parametrize("stream", [None, 0, 1 << 40])
def test_the_stream_arrives(stream):
    y = np.full(1, -1)
    in_cxx("stream_given").run_device([y.ctypes.data], [(1,)], ["int64"], stream=stream)
    assert y[0] == (stream or 0)


@needs_nvcc
def test_cuda_is_built_and_refuses_arrays_of_the_cpu():
    negate = Library(f"{SOURCES}/negate.cu:negate")
    assert (negate.device, in_c("add").device) == ("gpu", "cpu")
    with pytest.raises(LibraryError, match="CUDA was given arrays of the CPU\n  expected a GPU"):
        call(negate, floats(3))
