"""What is written appears whole or not at all: a full disk leaves what was there."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch", reason="layers.mxnet is MXNet's API on PyTorch")

import layers.mxnet as mx
from layers.mxnet import autograd, gluon, nd
from layers.mxnet._files.opening import write_files

pytestmark = pytest.mark.engine("torch")

resource = pytest.importorskip("resource", reason="no limits on the size of files here")


@pytest.fixture(scope="module")
def made():
    """A network, a module and a store after one step."""
    net = gluon.nn.HybridSequential(prefix="net_")
    net.add(gluon.nn.Dense(4, in_units=3, prefix="a_"), gluon.nn.BatchNorm(prefix="b_"))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    with autograd.record():
        loss = net(nd.ones((2, 3))).sum()
    loss.backward()
    trainer.step(2)

    module = mx.mod.BucketingModule(generated, default_bucket_key=3)
    module.bind([("data", (2, 3))])
    module.init_params()
    module.init_optimizer()

    kvstore = mx.kv.create("local")
    kvstore.set_optimizer(mx.optimizer.Adam())
    kvstore.init(3, nd.zeros(3))
    kvstore.push(3, nd.ones(3))
    return SimpleNamespace(net=net, trainer=trainer, module=module, kvstore=kvstore)


def generated(key):
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="fc"), ("data",), ()


WRITERS = {
    "nd.save": lambda made, path: nd.save(path, {"x": nd.ones(4)}),
    "safetensors": lambda made, path: nd.save(f"{path}.safetensors", {"x": nd.ones(4)}),
    "save_parameters": lambda made, path: made.net.save_parameters(path),
    "export": lambda made, path: made.net.export(path),
    "save_states": lambda made, path: made.trainer.save_states(path),
    "Symbol.save": lambda made, path: made.net(mx.sym.var("data")).save(path),
    "save_checkpoint": lambda made, path: mx.model.save_checkpoint(
        path, 0, mx.sym.exp(mx.sym.var("x"), name="y"), {"x": nd.ones(4)}, {}
    ),
    "Module": lambda made, path: made.module._curr_module.save_checkpoint(path, 0, True),
    "BucketingModule": lambda made, path: made.module.save_checkpoint(path, 0),
    "KVStore": lambda made, path: made.kvstore.save_optimizer_states(path),
}


@pytest.mark.parametrize("which", ["every file", "the largest file"])
@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_a_full_disk_leaves_what_was_there(made, tmp_path, write, which):
    write(made, str(tmp_path / "net"))
    sizes = {path: path.stat().st_size for path in tmp_path.iterdir()}
    for path in sizes:
        path.write_bytes(b"before")
    limit = max(sizes.values()) - 1 if which == "the largest file" else 0
    with full_disk(limit), pytest.raises(OSError, match="too large"):
        write(made, str(tmp_path / "net"))
    found = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert found == dict.fromkeys(sizes, b"before")
    write(made, str(tmp_path / "net"))
    assert {path: path.stat().st_size for path in tmp_path.iterdir()} == sizes


class full_disk:
    """Lets no file become longer than a limit, as a disk that is full."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


def test_pieces_that_fail_leave_what_was_there(tmp_path):
    def pieces():
        yield b"begun"
        raise KeyboardInterrupt

    (tmp_path / "a").write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        write_files({tmp_path / "a": [b"after"], tmp_path / "b": pieces()})
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"before")]


def test_a_missing_folder_is_reported_for_its_own_file(tmp_path):
    path = tmp_path / "missing" / "b"
    with pytest.raises(mx.base.MXNetError) as caught:
        write_files({tmp_path / "a": [b"a"], path: [b"b"]})
    assert caught.value.filename == str(path)
    assert not any(tmp_path.iterdir())


def test_a_missing_file_that_pieces_read_keeps_its_name(tmp_path):
    def pieces():
        yield (tmp_path / "source").read_bytes()

    with pytest.raises(FileNotFoundError) as caught:
        write_files({tmp_path / "a": pieces()})
    assert caught.value.filename == str(tmp_path / "source")
    assert not any(tmp_path.iterdir())
