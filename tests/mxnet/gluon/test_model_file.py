"""`Block.save` and `Block.load`: blocks, their graphs and their parameters in two files."""

import json
from pathlib import Path

import numpy as np
import pytest

from layers.engine import gluon, mx, nd

nn = gluon.nn
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*all (blocks|children).* HybridBlocks?:UserWarning"),
    pytest.mark.filterwarnings("ignore:All children of:UserWarning"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Scaled(gluon.HybridBlock):
    """A Dense whose output is scaled, and halved when computed in Python by `half`."""

    half = False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1, 2))
            self.dense = nn.Dense(2)

    def hybrid_forward(self, F, x, y=None, *, scale):
        z = self.dense(x) * F.broadcast_like(scale, self.dense(x))
        return z / 2 if self.half else z if y is None else z + y


def net(prefix=None, kind=nn.HybridSequential):
    made = kind(prefix=prefix)
    with made.name_scope():
        made.add(nn.Dense(3, in_units=4), Scaled(), nn.BatchNorm())
    return made


X = nd.array(np.random.RandomState(0).rand(5, 4))


def called(made, hybridized):
    made.initialize(mx.init.Normal(1))
    made.hybridize(hybridized)
    return made(X).asnumpy()


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_net_made_alike_computes_the_same(kind, hybridized):
    first, second = net("first_", kind), net("second_", kind)
    y = called(first, hybridized)
    first.save("net")
    second.load("net")
    np.testing.assert_allclose(second(X).asnumpy(), y, 1e-6)
    first.save("net")  # again, over the files that are there
    assert {p.name for p in Path().iterdir()} == {"net-model.json", "net-model.params"}


def test_what_the_files_have():
    made = net("n_")
    called(made, True)
    made.save("net")
    model = json.loads(Path("net-model.json").read_text())
    assert list(model) == ["hybridsequential0"]
    row = model["hybridsequential0"]
    assert (row["orig_name"], row["hybridized"]) == ("n", True)
    assert (row["in_format"], row["out_format"], len(row["inputs"])) == ([0], 0, 1)
    assert row["children"] == {"n_dense0": "0", "n_scaled0": "1", "n_batchnorm0": "2"}
    assert row["scaled2"]["dense3"]["orig_name"] == "n_scaled0_dense0"
    assert not row["dense1"]["hybridized"] and "symbol" not in row["dense1"]
    assert "n_scaled0_scale" in mx.sym.load_json(row["symbol"]).list_arguments()
    assert set(nd.load("net-model.params")) == set(made._collect_params_with_prefix())


def test_blocks_inside_that_are_no_part_of_a_graph_have_their_own():
    made = net("n_", nn.Sequential)
    called(made, True)
    made.save("net")
    row = json.loads(Path("net-model.json").read_text())["sequential0"]
    assert "hybridized" not in row and row["scaled2"]["hybridized"]
    assert not row["scaled2"]["dense3"]["hybridized"]


def test_the_graph_of_the_file_is_what_runs():
    first, second = net("first_"), net("second_")
    y = called(first, True)
    first.save("net")
    second[1].half = True  # which the graph does not know of
    second.load("net")
    np.testing.assert_allclose(second(X).asnumpy(), y, 1e-6)


@pytest.mark.engine("torch")  # MXNet takes the names of the file, and loses its parameters
def test_the_names_stay_and_the_net_can_be_hybridized_again():
    first, second = net("first_"), net("second_")
    y = called(first, True)
    first.save("net")
    second.load("net")
    second.hybridize()
    np.testing.assert_allclose(second(X).asnumpy(), y, 1e-6)
    assert all(name.startswith("second_") for name in second.collect_params())


def test_nested_inputs_and_outputs():
    class Nested(gluon.HybridBlock):
        def hybrid_forward(self, F, pair, x=None):
            return [pair[0] * 2, [pair[1] + 1]]

    first, second = Nested(), Nested()
    first.hybridize()
    pair = [nd.ones(1), nd.ones(2)]
    first(pair)
    first.save("net")
    second.load("net")
    y, [z] = second(pair)
    assert (y.asnumpy().tolist(), z.asnumpy().tolist()) == ([2], [2, 2])


@pytest.mark.filterwarnings("ignore:Parameter .* is not used:UserWarning")  # MXNet's, after load
def test_shared_parameters():
    class Shared(gluon.HybridBlock):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.a = nn.Dense(4, in_units=4)
                self.b = nn.Dense(4, params=self.a.params)

        def hybrid_forward(self, F, x):
            return self.b(self.a(x))

    first, second = Shared(prefix="a_"), Shared(prefix="b_")
    y = called(first, True)
    first.save("net")
    second.load("net")
    np.testing.assert_allclose(second(X).asnumpy(), y, 1e-6)


@pytest.mark.engine("torch")
def test_a_block_of_a_symbol():
    data = mx.sym.var("data")
    made = [gluon.SymbolBlock(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), data)] * 2
    y = called(made[0], True)
    made[0].save("net")
    made[1].load("net")
    np.testing.assert_allclose(made[1](X).asnumpy(), y, 1e-6)


def test_what_is_not_initialized_is_not_saved():
    with pytest.raises(RuntimeError, match="initialized"):
        net().save("net")


def test_another_net_is_refused():
    first, other = net(), nn.HybridSequential()
    called(first, False)
    first.save("net")
    other.add(nn.Dense(3, in_units=4), nn.Dense(3), nn.BatchNorm())
    with pytest.raises((KeyError, ValueError), match="dense2"):
        other.load("net")


@pytest.mark.engine("torch")  # MXNet loads the part that is there
@pytest.mark.parametrize("left_out", [0, 1, 2])
def test_a_net_with_fewer_blocks_is_refused(left_out):
    first, second = net(), nn.HybridSequential()
    called(first, True)
    first.save("net")
    second.add(*[block for i, block in enumerate(net()) if i != left_out])
    with pytest.raises(ValueError, match="net-model.json.*children"):
        second.load("net")


@pytest.mark.engine("torch")
def test_a_net_with_other_names_of_blocks_is_refused():
    class Pair(gluon.HybridBlock):
        def __init__(self, *names):
            super().__init__()
            for name in names:
                setattr(self, name, nn.Dense(4, in_units=4))

        def hybrid_forward(self, F, x):
            return self.body(self.head(x))

    first = Pair("body", "head")
    called(first, True)
    first.save("net")
    with pytest.raises(ValueError, match=r"\['head', 'body'\]"):
        Pair("head", "body").load("net")


@pytest.mark.engine("torch")
def test_a_missing_file():
    with pytest.raises(mx.base.MissingFileError, match="none-model.json"):
        net().load("none")


@pytest.mark.engine("torch")
def test_with_other_parameters_nothing_is_changed():
    first, second = net("first_"), net("second_")
    called(first, True)
    first.save("net")
    second[1].half = True
    before = called(second, False)
    nd.save("net-model.params", {"0.weight": nd.ones((3, 4))})
    with pytest.raises(ValueError, match="missing"):
        second.load("net")
    np.testing.assert_array_equal(second(X).asnumpy(), before)


def broken(**changed):
    """The text of a model file in which something is something else."""
    row = json.loads(Path("net-model.json").read_text())["hybridsequential0"]
    return json.dumps({"hybridsequential0": row | changed})


VARIABLE = mx.sym.var("data").tojson()
WRONG = {
    "empty": lambda: "",
    "no object": lambda: "3",
    "deep": lambda: "[" * 100000,
    "no rows": lambda: "{}",
    "row": lambda: '{"hybridsequential0": 3}',
    "name": lambda: broken(orig_name=3),
    "no children": lambda: broken(children=3),
    "children": lambda: broken(children={"a": ["0"], "b": "1", "c": "2"}),
    "graph": lambda: broken(symbol=3),
    "no graph": lambda: broken(symbol="{}"),
    "inputs": lambda: broken(inputs=3),
    "input": lambda: broken(inputs=[3]),
    "more inputs": lambda: broken(inputs=[VARIABLE] * 2),
    "no variable": lambda: broken(inputs=[(mx.sym.var("data") + 1).tojson()]),
    "input format": lambda: broken(in_format=0),
    "large": lambda: broken(out_format=1 << 40),
    "negative": lambda: broken(out_format=[0, -1]),
    "text": lambda: broken(out_format="0"),
    "nested": lambda: broken(out_format=json.loads("[" * 500 + "0" + "]" * 500)),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_wrong_is_refused_by_name(name):
    first, second = net("first_"), net("second_")
    called(first, True)
    first.save("net")
    Path("net-model.json").write_text(WRONG[name]())
    with pytest.raises(ValueError, match="net-model.json"):
        second.load("net")
    assert not second._active
    with pytest.raises(RuntimeError, match="initialized"):
        second[0].weight.data()
