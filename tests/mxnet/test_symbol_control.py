"""Loops and branches of sym.contrib: nodes with graphs inside.

Graphs go between layers.mxnet and MXNet itself, each in a process of its own; MXNet's interpreter
is what LAYERS_MXNET_PYTHON names, or .venv-mxnet at the root of the repository.
"""

import inspect
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from repeated import first_alone

NEAR = {"rtol": 1e-5, "atol": 1e-6}


def graphs(mx):
    """Graphs by name; sent as text to the other process too."""
    s = mx.sym
    d, z, w, i, t = (s.var(name) for name in "dzwit")
    outside = s.exp(w * 0.1, name="outside")
    halves = s.split(d, num_outputs=2, axis=2, name="halves")

    def step(x, h):
        y = s.tanh(s.FullyConnected(x, w, num_hidden=3, no_bias=True) + h)
        return y, y

    def across(x, h):
        y, h = s.contrib.foreach(lambda a, b: (s.broadcast_mul(a, s.sum(w)), b + s.sum(a)), x, h)
        return s.broadcast_add(y, s.reshape(h, shape=(1, 1))), h * 1

    def func(a, b):
        return [a * 2, s.broadcast_add(b, s.sum(outside))], [a + 1, s.broadcast_add(b, a)]

    def both(a, b):
        return s.Group(
            [part for item in (a, b) for part in (item if type(item) is list else [item])]
        )

    def swap(x, h):
        return [x[1] * h[0], x[0]], [h[1], s.broadcast_add(h[0], s.sum(outside))]

    return {
        "cell": both(*s.contrib.foreach(step, d, z)),
        "nested": both(*s.contrib.foreach(across, d, i)),
        "lists": both(*s.contrib.foreach(swap, [halves[0], halves[1]], [t, t + 1])),
        "while": both(*s.contrib.while_loop(lambda a, b: a < 3, func, [i, z], max_iterations=3)),
        "then": s.contrib.cond(s.sum(z) < 9, lambda: s.dot(d, w, transpose_b=True), lambda: d),
        "else": s.contrib.cond(
            s.sum(z) > 9, lambda: d, lambda: s.dot(d, outside, transpose_b=True)
        ),
    }


def values(names):
    rng = np.random.default_rng(3)
    shapes = {"d": (4, 2, 6), "z": (2, 3), "w": (3, 6), "i": (1,), "t": (2, 3)}
    drawn = {name: rng.uniform(-1, 1, shape).astype("float32") for name, shape in shapes.items()}
    return {name: drawn[name] if name != "i" else np.zeros(1, "float32") for name in names}


NAMES = ["cell", "nested", "lists", "while", "then", "else"]

# What MXNet 1.9.1 gives its nodes: (arguments, attributes).
NODES = {
    "cell": (["d", "z", "w"], {
        "in_data_locs": "[0]", "in_state_locs": "[2]", "remain_locs": "[1]", "num_args": "4",
        "num_out_data": "1", "num_outputs": "2"}),
    "nested": (["d", "i", "w"], {
        "in_data_locs": "[0]", "in_state_locs": "[1]", "remain_locs": "[2]", "num_args": "4",
        "num_out_data": "1", "num_outputs": "2"}),
    "lists": (["d", "t", "w"], {
        "in_data_locs": "[2, 0]", "in_state_locs": "[1, 3]", "remain_locs": "[4]",
        "num_args": "6", "num_out_data": "2", "num_outputs": "4"}),
    "while": (["i", "z", "w"], {
        "cond_input_locs": "[0]", "func_input_locs": "[0, 1, 2]", "func_var_locs": "[0, 1]",
        "max_iterations": "3", "num_args": "5", "num_out_data": "2", "num_outputs": "4"}),
    "then": (["z", "d", "w"], {
        "cond_input_locs": "[0]", "then_input_locs": "[1, 2]", "else_input_locs": "[1]",
        "num_args": "6", "num_outputs": "1"}),
    "else": (["z", "d", "w"], {
        "cond_input_locs": "[0]", "then_input_locs": "[1]", "else_input_locs": "[1, 2]",
        "num_args": "6", "num_outputs": "1"}),
}  # fmt: skip


def eager(name, d=None, z=None, w=None, i=None, t=None):
    """What the graph of this name computes."""
    outside = None if w is None else np.exp(w * np.float32(0.1))
    if name == "cell":
        steps = []
        for x in d:
            z = np.tanh(x @ w.T + z)
            steps.append(z)
        return [np.stack(steps), z]
    if name == "nested":
        steps = []
        for x in d:
            i = i + x.sum()
            steps.append(x * w.sum() + i)
        return [np.stack(steps), i]
    if name == "lists":
        x, y, states = d[..., :3], d[..., 3:], [t, t + 1]
        steps = []
        for b in y:
            steps.append(b * states[0])
            states = [states[1], states[0] + outside.sum()]
        return [np.stack(steps), x, *states]
    if name == "while":
        steps = [(i + k, z + outside.sum() + [0, 0, 1][k]) for k in range(3)]
        return [np.stack([2 * a for a, _ in steps]), np.stack([b for _, b in steps]), i + 3, z + 3]
    return [d @ (w if name == "then" else outside).T]


def computed(mx, graph, given):
    return [y.asnumpy() for y in graph.eval(**{n: mx.nd.array(v) for n, v in given.items()})]


@pytest.mark.parametrize("name", NAMES)
def test_values(mx, name):
    graph = graphs(mx)[name]
    given = values(graph.list_arguments())
    found, expected = computed(mx, graph, given), eager(name, **given)
    for y, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, other, **NEAR)


@pytest.mark.parametrize("name", NAMES)
def test_node(mx, name):
    graph = graphs(mx)[name]
    node = json.loads(graph.tojson())["nodes"][-1]
    arguments, attributes = NODES[name]
    assert graph.list_arguments() == arguments
    assert {k: v for k, v in node["attrs"].items() if not k.startswith("__")} == attributes
    count = len(graph.list_outputs())
    numbers = range(count) if count > 1 else [""]
    assert graph.list_outputs() == [f"{node['name']}_output{i}" for i in numbers]
    for inner in node["subgraphs"]:  # each output is a node's of its own, never a variable
        heads = [number for number, _, _ in inner["heads"]]
        assert len(set(heads)) == len(heads)
        assert all(inner["nodes"][number]["op"] != "null" for number in heads)


@pytest.mark.engine("torch")  # MXNet lists them as arguments, and cannot train them
def test_states_inside_are_states(mx):
    s = mx.sym
    graph = s.contrib.foreach(
        lambda x, h: (s.BatchNorm(x, name="bn"), h * 1), s.var("d"), s.var("h")
    )[0]
    assert graph.list_arguments() == ["d", "h", "bn_gamma", "bn_beta"]
    assert graph.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    executor = graph.simple_bind(mx.cpu(), d=(3, 4, 2), h=(1,))
    executor.arg_dict["d"][:] = 1
    executor.forward(is_train=True)
    mean = executor.aux_dict["bn_moving_mean"].asnumpy()
    np.testing.assert_allclose(mean, [1 - 0.9**3] * 2, **NEAR)


def test_names(mx):
    s = mx.sym
    with mx.name.Prefix("net_"):
        y, state = s.contrib.foreach(lambda x, h: (x + h, h * 2), s.var("d"), s.var("h"), name="f")
        branch = s.contrib.cond(s.var("p"), lambda: s.var("a"), lambda: s.var("b"))
    assert y.list_outputs() == ["net__foreach0_output0"]
    assert state.list_outputs() == ["net__foreach0_output1"]
    assert branch.list_outputs() == ["net__cond0_output"]
    assert branch.list_arguments() == ["p", "a", "b"]


def test_shapes(mx):
    s = mx.sym
    d, h = s.var("d"), s.var("h")
    y, state = s.contrib.foreach(
        lambda x, h: (lambda y: (y, y + h))(s.FullyConnected(x, num_hidden=3, name="fc")), d, h
    )
    graph = s.Group([y, state])
    assert graph.list_arguments() == ["d", "h", "fc_weight", "fc_bias"]
    expected = [(4, 2, 5), (2, 3), (3, 5), (3,)], [(4, 2, 3), (2, 3)], []
    assert graph.infer_shape(d=(4, 2, 5), h=(2, 3)) == expected
    assert graph.infer_shape(d=(4, 2, 5)) == expected  # the state from what a step makes of it
    assert graph.infer_type(d="float64")[1] == [np.float64, np.float64]
    one = s.contrib.foreach(lambda x, h: (x + h, h * 2), d, h)[0]
    assert one.infer_shape(d=(3,), h=(1,))[1] == [(3, 1)]  # a slice has at least one axis


@pytest.mark.engine("torch")
def test_shapes_of_while_and_cond(mx):
    s = mx.sym
    assert graphs(mx)["while"].infer_shape(i=(1,), z=(2, 3), w=(3, 6))[1] == [
        (3, 1), (3, 2, 3), (1,), (2, 3),
    ]  # fmt: skip
    then = graphs(mx)["then"]  # which has 3 where its other branch has 6
    assert then.infer_shape_partial(z=(2, 3), d=(4, 2, 6), w=(3, 6))[1] == [(4, 2, 0)]
    a, b = s.var("a"), s.var("b")
    either = s.contrib.cond(s.var("p"), lambda: a * b, lambda: a - b)
    assert either.infer_shape(p=(1,), a=(2, 3)) == ([(1,), (2, 3), (2, 3)], [(2, 3)], [])


def gradients(mx, graph, given):
    executor = graph.bind(
        mx.cpu(),
        {n: mx.nd.array(v) for n, v in given.items()},
        {n: mx.nd.zeros(v.shape) for n, v in given.items()},
    )
    outputs = executor.forward(is_train=True)
    executor.backward([mx.nd.ones(y.shape) for y in outputs])
    return {n: g.asnumpy() for n, g in executor.grad_dict.items()}


@pytest.mark.engine("torch")  # MXNet's while_loop keeps what the last step sends to `outside` only
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_numeric(mx, name):
    graph = graphs(mx)[name]
    given = values(graph.list_arguments())
    found = gradients(mx, graph, given)
    direction = {n: np.random.default_rng(5).standard_normal(v.shape) for n, v in given.items()}
    direction["i" if name == "while" else ""] = 0  # the number of steps does not move

    def total(by):
        moved = {n: v.astype("float64") + by * direction[n] for n, v in given.items()}
        return sum(y.sum() for y in eager(name, **moved))

    expected = (total(1e-3) - total(-1e-3)) / 2e-3
    along = sum((found[n] * direction[n]).sum() for n in given)
    np.testing.assert_allclose(along, expected, rtol=1e-3)


def test_gradients_of_foreach(mx):
    s = mx.sym
    d, h, w = s.var("d"), s.var("h"), s.var("w")
    graph = s.Group(list(s.contrib.foreach(lambda x, h: (x * h * w, h + x), d, h)))
    found = gradients(mx, graph, {k: np.array(v, "float32") for k, v in {
        "d": [[1], [2], [3]], "h": [4], "w": [2]
    }.items()})  # fmt: skip
    # outputs: d0 h w, d1 (h + d0) w, d2 (h + d0 + d1) w; the state: h + d0 + d1 + d2
    assert found["d"].tolist() == [[8 + 4 + 6 + 1], [10 + 6 + 1], [14 + 1]]
    assert found["h"].tolist() == [2 * 6 + 1]
    assert found["w"].tolist() == [4 + 10 + 21]


@pytest.mark.engine("torch")  # MXNet leaves what is behind the last step as it found the memory
def test_while_is_padded_with_zeros(mx):
    s = mx.sym
    i, w = s.var("i"), s.var("w")
    outputs, last = s.contrib.while_loop(
        lambda i: i < 3, lambda i: (i + w, i + 1), i, max_iterations=5
    )
    graph = s.Group([outputs, last])
    assert [y.tolist() for y in computed(mx, graph, {"i": [1], "w": [7]})] == [
        [[8], [9], [0], [0], [0]], [3],
    ]  # fmt: skip
    assert [y.tolist() for y in computed(mx, graph, {"i": [9], "w": [7]})] == [[[0]] * 5, [9]]
    grads = gradients(mx, graph, {"i": np.ones(1, "float32"), "w": np.ones(1, "float32")})
    assert grads["w"].tolist() == [2] and grads["i"].tolist() == [3]


def test_while_stops_at_max_iterations(mx):
    s = mx.sym
    i = s.var("i")
    outputs, last = s.contrib.while_loop(lambda i: i < 9, lambda i: ([], i + 2), [i], 3)
    assert outputs == []
    assert last[0].list_outputs()[0].endswith("_output")
    assert computed(mx, last[0], {"i": [1]})[0].tolist() == [7]


@pytest.mark.engine("torch")  # MXNet dies of a Custom in a branch
def test_cond_computes_one_branch(mx):
    calls = []

    class Counted(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

    @mx.operator.register("counted_in_cond")
    class CountedProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Counted()

    s = mx.sym
    a = s.var("a")
    branch = s.contrib.cond(
        s.var("p"), lambda: s.Custom(a, op_type="counted_in_cond"), lambda: a - 1
    )
    assert computed(mx, branch, {"p": [0], "a": [3]})[0].tolist() == [2]
    assert calls == []
    assert computed(mx, branch, {"p": [5], "a": [3]})[0].tolist() == [6]
    assert len(calls) == 1


@pytest.mark.engine("torch")  # MXNet refuses what a body does not use
def test_a_body_need_not_use_all(mx):
    s = mx.sym
    d, h, c = s.var("d"), s.var("h"), s.var("c")
    y, states = s.contrib.foreach(lambda x, s_: (s_[0], [s_[0] + 1, s_[0]]), d, [h, c])
    given = {"d": np.zeros((3, 2)), "h": [4, 4], "c": [[9]]}
    found = computed(mx, s.Group([y, *states]), given)
    assert [v.tolist() for v in found] == [[[4, 4], [5, 5], [6, 6]], [7, 7], [6, 6]]
    y, _ = s.contrib.while_loop(lambda a, b: b < 2, lambda a, b: (b, [b, b + 1]), [h, c], 2)
    assert computed(mx, y, {"h": [8], "c": [0]})[0].tolist() == [[0], [1]]


@pytest.mark.engine("torch")  # MXNet wants different names in a graph
def test_one_symbol_in_many_places(mx):
    s = mx.sym
    a = s.var("a")
    y, states = s.contrib.foreach(
        lambda x, h: (x[0] * x[1] + h[0], [h[1] + a, h[0]]), [a, a], [a, a]
    )
    found = computed(mx, s.Group([y, *states]), {"a": [2]})
    assert [v.tolist() for v in found] == [[[6]], [4], [2]]


# In blocks


def net(gluon):
    class Net(gluon.HybridBlock):
        """Every kind of control flow, with layers inside."""

        def __init__(self, loop):
            super().__init__(prefix="net_")
            self.loop = loop
            with self.name_scope():
                self.fc = gluon.nn.Dense(3, flatten=False)
                if loop == "normed":
                    self.norm = gluon.nn.BatchNorm()
                self.drop = gluon.nn.Dropout(0.5)
                self.w = self.params.get("w", shape=(3,), init="one")

        def hybrid_forward(self, F, x, state, w):
            return getattr(self, self.loop)(F, x, state, w)

        def foreach(self, F, x, state, w):
            def body(x, state):
                y = F.tanh(self.fc(x))
                return F.broadcast_mul(y, w), state + F.sum(y)

            return F.contrib.foreach(body, x, state)

        def normed(self, F, x, state, w):
            return F.contrib.foreach(lambda x, s: (self.norm(self.fc(x)) * 1, s * 1), x, state)

        def while_loop(self, F, x, state, w):
            y = F.sum(self.fc(x) * 1)
            return F.contrib.while_loop(
                lambda i, a: i < 2, lambda i, a: (a * F.sum(w), [i + 1, a + y]), [state, y], 3
            )

        def cond(self, F, x, state, w):
            y = self.fc(x) * 1
            then = F.contrib.cond(F.sum(state) < 1, lambda: F.broadcast_mul(y, w), lambda: y)
            return then, F.contrib.cond(F.sum(state) > 1, lambda: F.broadcast_mul(y, w), lambda: y)

        def custom(self, F, x, state, w):
            def body(x, s):
                return F.Custom(self.fc(x), op_type="noisy_in_a_loop"), s * 1

            return F.contrib.foreach(body, x, state)

        def dropped(self, F, x, state, w):
            return F.contrib.foreach(
                lambda x, s: (F.broadcast_add(self.drop(x), s), s * 1), x, state
            )

    return Net


@pytest.fixture(scope="module")
def noisy(mx):
    """An operator of one's own that no compiler may trace: it draws from NumPy."""

    class Noisy(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.factor = np.random.uniform()
            self.assign(out_data[0], req[0], in_data[0] * self.factor)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * self.factor)

    @mx.operator.register("noisy_in_a_loop")
    class NoisyProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Noisy()


def flat(value):
    return [y for v in value for y in flat(v)] if isinstance(value, (list, tuple)) else [value]


def trained(mx, loop, **hybrid):
    """Outputs, gradients and states of one step."""
    block = net(mx.gluon)(loop)
    block.initialize()
    np.random.seed(4)
    if hybrid:
        block.hybridize(**hybrid)
    x, state = mx.nd.arange(40).reshape((4, 2, 5)) / 20, mx.nd.zeros(1)
    block(x, state)
    rng = np.random.default_rng(1)
    for _, parameter in sorted(block.collect_params(".*(weight|w)$").items()):
        if 0 not in parameter.shape:
            parameter.set_data(mx.nd.array(rng.uniform(-1, 1, parameter.shape)))
    with mx.autograd.record():
        outputs = flat(block(x, state))
        loss = sum((y * y).sum() for y in outputs)
    loss.backward()
    found = {str(i): y.asnumpy() for i, y in enumerate(outputs)}
    for name, parameter in block.collect_params().items():
        states = parameter.grad_req == "null"
        found[name] = (parameter.data() if states else parameter.grad()).asnumpy()
    return found


@pytest.mark.parametrize(
    "loop",
    [
        "foreach",
        # MXNet tells no shapes through these two, and fails in backward of the others
        pytest.param("cond", marks=pytest.mark.engine("torch")),
        pytest.param("while_loop", marks=pytest.mark.engine("torch")),
        pytest.param("normed", marks=pytest.mark.engine("torch")),
        pytest.param("custom", marks=pytest.mark.engine("torch")),
    ],
)
def test_hybridized_as_eager(mx, loop, noisy):
    plain, replayed = trained(mx, loop), trained(mx, loop, active=True)
    assert plain.keys() == replayed.keys()
    for name, value in plain.items():
        np.testing.assert_allclose(replayed[name], value, err_msg=name, **NEAR)


@pytest.mark.engine("torch")
@pytest.mark.parametrize("loop", first_alone(["while_loop", "foreach", "cond", "normed", "custom"]))
def test_compiled_as_eager(mx, loop, noisy, caplog):
    plain, compiled = trained(mx, loop), trained(mx, loop, backend="aot_eager")
    for name, value in plain.items():
        np.testing.assert_allclose(compiled[name], value, err_msg=name, **NEAR)
    hints = [r.message for r in caplog.records if r.name.startswith("layers")]
    assert not hints, "it was replayed"


@pytest.mark.engine("torch")
def test_each_step_draws_anew(mx):
    block = net(mx.gluon)("dropped")
    block.initialize()
    block.hybridize()
    with mx.autograd.train_mode():
        first, second, *_ = block(mx.nd.ones((4, 50, 2)), mx.nd.zeros(1))[0].asnumpy()
    assert 0 < (first == 0).sum() < 100
    assert (first != second).any()


def test_a_body_sees_what_was_drawn_outside_once(mx):
    s = mx.sym
    noise = s.random.uniform(shape=(2,))
    outer = s.contrib.foreach(lambda x, h: (x + noise, h * 1), s.var("d"), s.var("h"))[0]
    inner = s.contrib.foreach(
        lambda x, h: (x + s.random.uniform(shape=(2,)), h * 1), s.var("d"), s.var("h")
    )[0]
    given = {"d": np.zeros((3, 2)), "h": [0]}
    one = computed(mx, outer, given)[0]
    assert (one == one[0]).all()
    other = computed(mx, inner, given)[0]
    assert (other != other[0]).any()


@pytest.mark.engine("torch")
def test_symbol_block_in_a_body(mx):
    s = mx.sym
    x, w = s.var("x"), s.var("w")
    inner = mx.gluon.SymbolBlock(s.broadcast_mul(x, s.exp(w)), [x])
    inner.collect_params()["w"].shape = (1,)
    inner.initialize("zeros")
    d, h = s.var("d"), s.var("h")
    graph = s.contrib.foreach(lambda x, h: (inner(x) + h, h + 1), d, h)[0]
    assert graph.list_arguments() == ["d", "w", "h"] or set(graph.list_arguments()) == {*"dwh"}
    found = computed(mx, graph, {"d": [[1], [2]], "h": [0], "w": [0]})
    assert found[0].tolist() == [[1], [3]]


# Files


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded(mx, name, tmp_path):
    graph = graphs(mx)[name]
    graph.save(str(tmp_path / "graph.json"))
    loaded = mx.sym.load(str(tmp_path / "graph.json"))
    assert loaded.list_arguments() == graph.list_arguments()
    assert json.loads(loaded.tojson()) == json.loads(graph.tojson())
    given = values(graph.list_arguments())
    for y, other in zip(computed(mx, loaded, given), computed(mx, graph, given), strict=True):
        assert (y == other).all()


@pytest.mark.engine("torch")
def test_exported(mx, tmp_path):
    block = net(mx.gluon)("normed")
    block.initialize()
    block.hybridize()
    x, state = mx.nd.arange(40).reshape((4, 2, 5)), mx.nd.zeros(1)
    expected = block(x, state)[0].asnumpy()
    files = block.export(str(tmp_path / "net"))
    again = mx.gluon.SymbolBlock.imports(files[0], ["data0", "data1"], files[1])
    np.testing.assert_allclose(again(x, state)[0].asnumpy(), expected, **NEAR)


OTHER = """
import sys
import numpy as np
import mxnet as mx

for name, graph in graphs(mx).items():
    graph.save(f"theirs {name}.json")
    ours = mx.sym.load(f"ours {name}.json")
    for whose, it in ("theirs", graph), ("ours", ours):
        given = {n: mx.nd.array(v) for n, v in values(it.list_arguments()).items()}
        np.savez(f"{whose} {name}.npz", *[y.asnumpy() for y in it.eval(**given)])
"""


@pytest.fixture(scope="module")
def exchanged(mx, tmp_path_factory):
    """A folder with graphs of both, and what MXNet computed of them."""
    default = Path(__file__).parents[2] / ".venv-mxnet" / "bin" / "python"
    python = os.environ.get("LAYERS_MXNET_PYTHON") or default
    if python == default and not default.exists():
        pytest.skip("no interpreter with MXNet: neither LAYERS_MXNET_PYTHON nor .venv-mxnet")
    folder = tmp_path_factory.mktemp("exchanged")
    for name, graph in graphs(mx).items():
        graph.save(str(folder / f"ours {name}.json"))
    script = "import numpy as np\n" + inspect.getsource(graphs) + inspect.getsource(values) + OTHER
    done = subprocess.run(
        [str(python), "-I", "-W", "ignore", "-c", script],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.engine("torch")
@pytest.mark.parametrize("whose", ["ours", "theirs"])
@pytest.mark.parametrize("name", NAMES)
def test_exchanged(mx, exchanged, name, whose):
    graph = mx.sym.load(str(exchanged / f"{whose} {name}.json"))
    expected = np.load(exchanged / f"{whose} {name}.npz")
    found = computed(mx, graph, values(graph.list_arguments()))
    for y, other in zip(found, expected.values(), strict=True):
        np.testing.assert_allclose(y, other, **NEAR)


def foreach_json(mx, **changes):
    """A loop as JSON, with attributes of its node changed."""
    graph = json.loads(graphs(mx)["cell"].tojson())
    graph["nodes"][-1]["attrs"] |= {k: v for k, v in changes.items() if v is not None}
    for key in [k for k, v in changes.items() if v is None]:
        del graph["nodes"][-1]["attrs"][key]
    return graph


WRONG = {
    "a location too large": ({"in_data_locs": "[5]"}, r"are \[5, 2, 1\]"),
    "a location twice": ({"in_state_locs": "[0]"}, r"are \[0, 0, 1\]"),
    "a location below 0": ({"in_state_locs": "[-1]"}, r"are \[0, -1, 1\]"),
    "no data": ({"in_data_locs": "[]", "remain_locs": "[0, 1]"}, r"one at least in in_data_locs"),
    "locations that are no numbers": ({"remain_locs": "[x]"}, "remain_locs is '\\[x\\]'"),
    "an attribute missing": ({"remain_locs": None}, "remain_locs is missing"),
    "too many outputs": ({"num_outputs": "99999999999"}, "num_outputs 99999999999"),
    "outputs below 0": ({"num_out_data": "-1", "num_outputs": "0"}, "num_out_data is -1"),
    "outputs that the body has not": ({"num_out_data": "2", "num_outputs": "3"}, r"have \[2\]"),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("changes, message", WRONG.values(), ids=WRONG.keys())
def test_wrong_attributes_in_a_file(mx, changes, message):
    with pytest.raises(mx.MXNetError, match=message) as error:
        mx.sym.load_json(json.dumps(foreach_json(mx, **changes)))
    assert "node 3 ('_foreach" in str(error.value)


@pytest.mark.engine("torch")
def test_wrong_graphs_in_a_file(mx):
    def refused(message, change):
        graph = foreach_json(mx)
        change(graph["nodes"][-1])
        with pytest.raises(mx.MXNetError, match=message):
            mx.sym.load_json(json.dumps(graph))

    def bad_index(node):
        node["subgraphs"][0]["nodes"][2]["inputs"][0] = [7, 0, 0]

    def bad_operator(node):
        node["subgraphs"][0]["nodes"][2]["op"] = "os.system"

    refused("subgraphs: None\n  expected 1", lambda node: node.pop("subgraphs"))
    refused("subgraphs: 2\n  expected 1", lambda node: node["subgraphs"].append({}))
    refused("'_foreach.*subgraph 0, the text has no list", lambda n: n.update(subgraphs=["x"]))
    refused("subgraph 0, node 2 .*input is of node 7", bad_index)
    refused("subgraph 0, node 2 .*no operator 'os.system'", bad_operator)
    refused("inputs .*\n  expected 3 of 2 inputs", lambda node: node["inputs"].pop())


@pytest.mark.engine("torch")
def test_depth_of_graphs_in_a_file_is_bounded(mx):
    graph = foreach_json(mx)
    for _ in range(20):
        outer = foreach_json(mx)
        outer["nodes"][-1]["subgraphs"] = [graph]
        graph = outer
    with pytest.raises(mx.MXNetError, match="it is inside 8 graphs\n  expected fewer"):
        mx.sym.load_json(json.dumps(graph))


@pytest.mark.engine("torch")
def test_wrong_locations_of_while_and_cond(mx):
    for name, key, value, message in [
        ("while", "cond_input_locs", "[3]", r"variables of cond are the inputs \(3,\)"),
        ("while", "cond_input_locs", str([1] * 5000), r"the inputs \(1, [1, ]{,60}\.\.\.\)\n"),
        ("while", "func_var_locs", "[0, 0]", r"func_var_locs are \(0, 0\)"),
        ("while", "func_var_locs", "[0, 3]", r"func_var_locs are \(0, 3\)"),
        ("while", "max_iterations", "0", "max_iterations is 0"),
        ("then", "else_input_locs", "[-1]", r"variables of else are the inputs \(-1,\)"),
        ("then", "num_outputs", "2", r"have \[1, 1, 1\] outputs"),
    ]:
        graph = json.loads(graphs(mx)[name].tojson())
        graph["nodes"][-1]["attrs"][key] = value
        with pytest.raises(mx.MXNetError, match=message):
            mx.sym.load_json(json.dumps(graph))


# Errors


def foreach(body):
    return lambda s, a, b: s.contrib.foreach(body, a, b)


def while_loop(cond, func, most=3):
    return lambda s, a, b: s.contrib.while_loop(cond, func, [a, b], max_iterations=most)


REFUSED = {
    "body returns one": (foreach(lambda x, h: x), "body returns <Symbol a-0>"),
    "body returns a number": (foreach(lambda x, h: (3, h)), r"output of body is 3 \(int\)"),
    "body returns None": (foreach(lambda x, h: None), "body returns None"),
    "states nested otherwise": (
        foreach(lambda x, h: (x, [h, h])),
        r"states \[Symbol, Symbol\]\n  expected them nested as init_states, Symbol",
    ),
    "data is a number": (lambda s, a, b: s.contrib.foreach(None, 3, b), r"data is 3 \(int\)"),
    "no data": (lambda s, a, b: s.contrib.foreach(None, [], b), r"data is \[\]"),
    "nothing": (lambda s, a, b: s.contrib.foreach(lambda x, h: ([], h), a, []), "returns nothing"),
    "no max_iterations": (while_loop(None, None, None), "max_iterations is missing"),
    "max_iterations is text": (while_loop(None, None, "x"), "max_iterations is 'x'"),
    "max_iterations is 0": (while_loop(None, None, 0), "max_iterations is 0"),
    "cond is no Symbol": (while_loop(lambda i, t: True, None), r"cond is True \(bool\)"),
    "loop_vars get lost": (
        while_loop(lambda i, t: i, lambda i, t: (i, [i])),
        r"loop_vars \[Symbol\]\n  expected \[Symbol, Symbol\]",
    ),
    "func returns one": (while_loop(lambda i, t: i, lambda i, t: i), "func returns <Symbol a-0>"),
    "no loop_vars": (
        lambda s, a, b: s.contrib.while_loop(None, None, [], max_iterations=1),
        r"loop_vars is \[\]",
    ),
    "pred is a number": (lambda s, a, b: s.contrib.cond(1, None, None), r"pred is 1 \(int\)"),
    "branches differ": (
        lambda s, a, b: s.contrib.cond(a, lambda: [a, b], lambda: a),
        r"returns \[Symbol, Symbol\], and else_func Symbol",
    ),
}


@pytest.mark.engine("torch")
@pytest.mark.parametrize("call, message", REFUSED.values(), ids=REFUSED.keys())
def test_refused(mx, call, message):
    with pytest.raises(mx.MXNetError, match=message) as error:
        call(mx.sym, mx.sym.var("a"), mx.sym.var("b"))
    assert isinstance(error.value, ValueError)


@pytest.mark.engine("torch")
def test_refused_when_computed(mx):
    s = mx.sym
    a, b = s.var("a"), s.var("b")
    given = {"a": np.ones((2, 1)), "b": np.ones((3, 1))}
    with pytest.raises(ValueError, match=r"_cond: the condition is \(2, 1\)") as error:
        computed(mx, s.contrib.cond(a, lambda: b, lambda: b), given)
    assert "in _cond '_cond" in shown(error.value)
    both = s.contrib.foreach(lambda x, h: (x[0], h), [a, b], a)[0]
    with pytest.raises(ValueError, match=r"first axes of data are \[2, 3\]"):
        computed(mx, both, given)
    with pytest.raises(ValueError, match=r"first axes of data are \[2, 3\]"):
        both.infer_shape(a=(2, 1), b=(3, 1))
    with pytest.raises(ValueError) as error:  # inside: the node of the body, then the loop
        computed(mx, s.contrib.foreach(lambda x, h: (s.dot(x, h, name="it"), h), a, b)[0], given)
    assert "dot 'it'" in shown(error.value) and "_foreach '_foreach" in shown(error.value)
    grows = s.contrib.foreach(lambda x, h: (x, s.concat(h, x, dim=0)), a, b)[0]
    with pytest.raises(ValueError, match=r"a state is \(3,\), and \(4,\) after a step"):
        grows.infer_shape(a=(2, 1), b=(3,))


def shown(error):
    return "\n".join([str(error), *getattr(error, "__notes__", ())])
