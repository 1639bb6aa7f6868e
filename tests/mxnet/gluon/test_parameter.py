"""Parameters, and dictionaries of them; MXNet's behaviour where no test says otherwise."""

import copy
import pickle

import numpy as np
import pytest

from layers.engine import autograd, gluon, mx, nd

CPU0, CPU1, CPU2 = mx.cpu(0), mx.cpu(1), mx.cpu(2)
Parameter, ParameterDict = gluon.Parameter, gluon.ParameterDict


def made(shape=(2, 3), init="ones", ctx=None, **kwargs):
    parameter = Parameter("w", shape=shape, **kwargs)
    parameter.initialize(init, ctx)
    return parameter


def deferred(ctx=None):
    parameter = Parameter("w", shape=(2, 0), allow_deferred_init=True)
    parameter.initialize("ones", ctx)
    return parameter


def values(array):
    return array.asnumpy().tolist()


def test_repr():
    assert repr(Parameter("w")) == "Parameter w (shape=None, dtype=<class 'numpy.float32'>)"
    assert repr(made(dtype="float16")) == "Parameter w (shape=(2, 3), dtype=float16)"


@pytest.mark.parametrize("read", ["data", "grad", "list_data", "list_grad", "list_ctx"])
def test_not_initialized(read):
    with pytest.raises(RuntimeError, match="'w'.* not been initialized"):
        getattr(Parameter("w"), read)()


@pytest.mark.parametrize("shape", [None, (2, 0)])
def test_initialize_needs_the_shape(shape):
    with pytest.raises(ValueError, match="initialize"):
        Parameter("w", shape=shape).initialize()


def test_what_is_wrong_with_arguments():
    for name in ("grad_req", "stype", "grad_stype"):
        with pytest.raises(AssertionError, match="foo"):
            Parameter("w", **{name: "foo"})
    with pytest.raises((AssertionError, TypeError), match="nope"):
        made(init="nope")
    with pytest.raises((AssertionError, TypeError), match="nope"):
        Parameter("w", shape=(1,), init="nope").initialize()


@pytest.mark.engine("torch")
def test_arguments_are_refused_at_once():
    with pytest.raises(TypeError, match="foo"):
        Parameter("w", dtype="foo")
    with pytest.raises(ValueError, match="'cpu'"):
        made(ctx="cpu")
    with pytest.raises(ValueError, match=r"\[\]"):
        made(ctx=[])
    with pytest.raises(
        RuntimeError, match=r"row_sparse_data of storage type 'default'\n.* data\(\)"
    ):
        made().row_sparse_data(nd.array([0]))


# Deferred initialization


@pytest.mark.parametrize("read", ["data", "grad", "list_data", "list_grad"])
def test_deferred(read):
    with pytest.raises(gluon.parameter.DeferredInitializationError, match="'w'.*deferred"):
        getattr(deferred(), read)()


def test_deferred_knows_its_contexts():
    parameter = deferred([CPU0, CPU1])
    assert parameter.list_ctx() == [CPU0, CPU1]
    parameter.reset_ctx(CPU2)
    assert parameter.list_ctx() == [CPU2]
    parameter.zero_grad()


def test_deferred_is_finished_by_the_shape():
    parameter = deferred()
    parameter.shape = (2, 3)
    parameter._finish_deferred_init()
    assert values(parameter.data()) == [[1, 1, 1], [1, 1, 1]]
    assert values(parameter.grad()) == [[0, 0, 0], [0, 0, 0]]


def test_deferred_takes_data():
    parameter, data = deferred(), nd.array([[1, 2], [3, 4]])
    with pytest.raises(AssertionError, match=r"\(3, 4\).*incompatible"):
        parameter.set_data(nd.ones((3, 4)))
    parameter.set_data(data)
    assert parameter.shape == (2, 2)
    data[:] = 0
    parameter._finish_deferred_init()
    assert parameter.data().shape == (2, 2)


@pytest.mark.engine("torch")
def test_deferred_data_are_a_copy():
    parameter, data = deferred(), nd.ones((2, 2))
    parameter.set_data(data)
    data[:] = 5
    parameter._finish_deferred_init()
    assert values(parameter.data()) == [[1, 1], [1, 1]]


# Arrays and contexts


def test_one_array_for_each_context():
    parameter = made(ctx=[CPU0, CPU1])
    assert parameter.list_ctx() == [CPU0, CPU1]
    assert [a.context for a in parameter.list_data()] == [CPU0, CPU1]
    assert [a.context for a in parameter.list_grad()] == [CPU0, CPU1]
    assert parameter.data(CPU1).context == parameter.grad(CPU1).context == CPU1
    with CPU1:
        assert parameter.data().context == CPU1
    for wrong in (CPU2, mx.gpu(0)):
        with pytest.raises(RuntimeError, match=rf"{wrong.device_type}\({wrong.device_id}\)"):
            parameter.data(wrong)


def test_the_only_context_is_the_default():
    parameter = made(ctx=CPU1)
    assert parameter.data().context == parameter.grad().context == CPU1


def test_pinned_memory_is_the_cpus():
    assert made().data(mx.cpu_pinned(0)).context == CPU0


def test_the_present_context_is_the_default_to_initialize():
    with CPU2:
        assert made().list_ctx() == [CPU2]


def test_initialize_again():
    parameter = made()
    with pytest.warns(UserWarning, match="already initialized"):
        parameter.initialize("zeros")
    assert values(parameter.data()) == [[1, 1, 1], [1, 1, 1]]
    parameter.initialize("zeros", CPU1, force_reinit=True)
    assert values(parameter.data()) == [[0, 0, 0], [0, 0, 0]]
    assert parameter.list_ctx() == [CPU1]


@pytest.mark.engine("torch")  # MXNet warns of each
def test_parameters_that_are_initialized_are_told_once():
    parameters = gluon.ParameterDict()
    for name in "abc":
        parameters.get(name, shape=(2,)).initialize("ones")
    parameters.get("d", shape=(2,))
    with pytest.warns(UserWarning) as told:
        parameters.initialize("zeros")
    (warning,) = told
    assert str(warning.message).startswith("Parameter 'a' and 2 more are already initialized")
    assert [values(p.data())[0] for p in parameters.values()] == [1, 1, 1, 0]


def test_which_initializer():
    own = Parameter("w", shape=(2,), init="ones")
    own.initialize(default_init="zeros")
    assert values(own.data()) == [1, 1]
    none = Parameter("w_bias", shape=(2,))
    none.initialize(default_init="ones")
    assert values(none.data()) == [1, 1]
    default = Parameter("w", shape=(50, 50))
    default.initialize()
    assert 0.065 < np.abs(default.data().asnumpy()).max() <= 0.07


def test_an_initializer_gets_the_name():
    seen = []

    class Named(mx.init.Initializer):
        def _init_weight(self, name, arr):
            seen.append(str(name))
            arr[:] = 3

    assert values(made((2,), Named()).data()) == [3, 3]
    assert seen == ["w"]


def test_initialize_inside_record():
    with autograd.record():
        parameter = made((2,))
        y = (parameter.data() * 2).sum()
    y.backward()
    assert values(parameter.grad()) == [2, 2]


def test_reset_ctx():
    parameter = made(ctx=[CPU0, CPU1])
    parameter.data(CPU1)[:] = 3
    parameter.reset_ctx(CPU2)
    assert parameter.list_ctx() == [CPU2]
    assert values(parameter.data()) == [[2, 2, 2], [2, 2, 2]]  # the average
    with pytest.raises(ValueError, match="not been initialized"):
        Parameter("w", shape=(2,)).reset_ctx(CPU0)


def test_set_data():
    parameter = made()
    data, gradient = parameter.data(), parameter.grad()
    parameter.set_data(nd.ones((2, 3), dtype="float64") * 5)
    assert parameter.data() is data and parameter.grad() is gradient
    assert data.dtype == np.float32 and values(data) == [[5, 5, 5], [5, 5, 5]]
    parameter.set_data(np.full((2, 3), 7))
    assert values(data) == [[7, 7, 7], [7, 7, 7]]
    with pytest.raises(AssertionError, match=r"(?s)\(2, 4\).*\(2, 3\)"):
        parameter.set_data(nd.ones((2, 4)))
    with pytest.raises(AssertionError, match="not been initialized"):
        Parameter("w").set_data(nd.ones((2,)))


def test_set_data_on_all_contexts():
    parameter = made((2,), ctx=[CPU0, CPU1])
    parameter.set_data(nd.array([4, 5]))
    assert [values(a) for a in parameter.list_data()] == [[4, 5], [4, 5]]


def test_cast():
    parameter = made()
    parameter.cast("float16")
    assert parameter.dtype == "float16"
    assert parameter.data().dtype == parameter.grad().dtype == np.float16
    before = Parameter("w", shape=(1,))
    before.cast("float64")
    before.initialize()
    assert before.data().dtype == np.float64


# (the shape it has, the one that is set, the one that it has then or None: an error)
SHAPES = [
    (None, (2, 3), (2, 3)),
    ((2, 0), (2, 3), (2, 3)),
    ((0, 3), (-1, 3), (-1, 3)),
    ((-1, 3), (5, 3), (5, 3)),
    ((2, 3), (2, 3), (2, 3)),
    ((2, 3), (2, 4), None),
    ((2, 3), (2, 0), None),
    ((2, 3), (2, 3, 1), None),
]


@pytest.mark.parametrize("has, given, then", SHAPES)
def test_shape(has, given, then):
    parameter = Parameter("w", shape=has)
    if then is None:
        with pytest.raises(AssertionError, match="incompatible") as error:
            parameter.shape = given
        assert str(has) in str(error.value) and str(given) in str(error.value)
        assert parameter.shape == has
    else:
        parameter.shape = given
        assert parameter.shape == then


def test_shape_of_one_axis():
    assert Parameter("w", shape=3).shape == (3,)


# Gradients


def descend(parameter, times=1):
    for _ in range(times):
        with autograd.record():
            y = (parameter.data() * 2).sum()
        y.backward()


def test_grad_req():
    parameter = made((2,))
    descend(parameter, 2)
    assert values(parameter.grad()) == [2, 2]
    parameter.grad_req = "add"
    assert values(parameter.grad()) == [0, 0]
    descend(parameter, 2)
    assert values(parameter.grad()) == [4, 4]
    parameter.zero_grad()
    assert values(parameter.grad()) == [0, 0]
    with pytest.raises(AssertionError, match="foo"):
        parameter.grad_req = "foo"


def test_grad_req_null():
    parameter = made((2,), grad_req="null")
    assert parameter.data().grad is None
    parameter.grad_req = "write"
    descend(parameter)
    parameter.grad_req = "null"
    assert parameter.data().grad is None
    parameter.zero_grad()
    for read in (parameter.grad, parameter.list_grad):
        with pytest.raises(RuntimeError, match="grad_req='null'"):
            read()


def test_not_differentiable():
    parameter = made((2,), differentiable=False)
    assert parameter.grad_req == "null"
    parameter.grad_req = "write"
    assert parameter.grad_req == "null"


def test_integers():
    parameter = made((2,), dtype="int32")
    assert values(parameter.data()) == [1, 1] and values(parameter.grad()) == [0, 0]


@pytest.mark.engine("torch")
@pytest.mark.parametrize("again", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_copies_have_gradients_of_their_own(again):  # MXNet's have none after that
    parameter = made((2,))
    other = again(parameter)
    descend(other)
    assert values(other.grad()) == [2, 2] and values(parameter.grad()) == [0, 0]


# Constants


def test_constant():
    constant = gluon.Constant("k", [[1, 2], [3, 4]])
    assert repr(constant) == "Constant k (shape=(2, 2), dtype=<class 'numpy.float32'>)"
    constant.initialize(ctx=[CPU0, CPU1])
    assert values(constant.data(CPU1)) == values(constant.value) == [[1, 2], [3, 4]]
    assert constant.grad_req == "null"
    with pytest.warns(UserWarning, match="ignored"):
        constant.grad_req = "write"
    assert constant.grad_req == "null"


def test_constant_keeps_the_dtype_of_an_array():
    constant = gluon.Constant("k", nd.array([1, 2], dtype="int32"))
    constant.initialize()
    assert constant.data().dtype == np.int32 and values(constant.data()) == [1, 2]


# Dictionaries


def dictionary(prefix="pre_", init=None, **shapes):
    found = ParameterDict(prefix)
    for name, shape in shapes.items():
        found.get(name, shape=shape, allow_deferred_init=True)
    if init is not None:
        found.initialize(init)
    return found


def test_get_makes_once():
    found = dictionary()
    parameter = found.get("w", shape=(2,), lr_mult=3)
    assert parameter.name == "pre_w" and parameter.lr_mult == 3
    assert found.get("w") is parameter is found["pre_w"]
    assert list(found) == list(found.keys()) == ["pre_w"] and "pre_w" in found
    assert list(found.items()) == [("pre_w", parameter)] and list(found.values()) == [parameter]
    with pytest.raises(KeyError):
        found["w"]
    with pytest.raises(TypeError, match="foo"):
        found.get("v", foo=1)


def test_repr_of_a_dictionary():
    rows = "  Parameter pre_w (shape=(2,), dtype=<class 'numpy.float32'>)"
    assert repr(dictionary(w=(2,))) == f"pre_ (\n{rows}\n)"
    assert repr(ParameterDict()) == "(\n\n)"


@pytest.mark.parametrize(
    "has, given, then",
    [
        (None, (2, 0), (2, 0)),
        ((2, 0), (0, 3), (2, 3)),
        ((2, 0), (0, 0), (2, 0)),
        ((2, 3), (2, 0), (2, 3)),
        ((2, 3), (2, 4), None),
        ((2, 3), (2, 3, 1), None),
    ],
)
def test_get_merges_shapes(has, given, then):
    found = ParameterDict()
    parameter = found.get("w", shape=has)
    if then is None:
        with pytest.raises(AssertionError, match="shape"):
            found.get("w", shape=given)
        assert parameter.shape == has
    else:
        assert found.get("w", shape=given).shape == then


@pytest.mark.parametrize(
    "has, given",
    [
        ({}, {"dtype": "float16"}),
        ({}, {"grad_req": "null"}),
        ({}, {"lr_mult": 2}),
        ({"init": "zeros"}, {"init": "ones"}),
    ],
    ids=str,
)
def test_get_refuses_other_arguments(has, given):
    found = ParameterDict()
    parameter = found.get("w", **has)
    assert found.get("w", **has) is parameter
    with pytest.raises(AssertionError, match=next(iter(given))):
        found.get("w", **given)


def test_get_sets_what_was_not_said():
    found = ParameterDict()
    found.get("w", dtype="float32")
    assert found.get("w", init="ones", dtype=np.float32, shape=None).init == "ones"


@pytest.mark.engine("torch")
def test_get_allows_deferral_afterwards():  # MXNet forgets it
    found = ParameterDict()
    found.get("w", shape=(2, 0))
    found.get("w", allow_deferred_init=True)
    found.initialize()
    with pytest.raises(TypeError, match="foo"):
        found.get("w", foo=1)


def test_get_constant():
    found = dictionary(w=(2,))
    constant = found.get_constant("k", nd.array([1, 2]))
    assert found.get_constant("k", nd.array([1, 2])) is constant is found.get_constant("k")
    with pytest.raises(AssertionError, match="pre_k"):
        found.get_constant("k", nd.array([1, 3]))
    with pytest.raises(KeyError, match="pre_j"):
        found.get_constant("j")
    with pytest.raises(AssertionError, match="not a constant"):
        found.get_constant("w", nd.array([1]))


@pytest.mark.engine("torch")
def test_get_constant_from_a_list():  # MXNet's second get crashes
    found = ParameterDict()
    assert found.get_constant("k", [1, 2]) is found.get_constant("k", [1, 2])
    with pytest.raises(AssertionError, match="'k'"):
        found.get_constant("k", [1, 2, 3])


def test_update():
    found, other = dictionary(w=(2,)), dictionary("other_", x=(3,))
    found.update(other)
    found.update(other)
    assert list(found) == ["pre_w", "other_x"]
    with pytest.raises(AssertionError, match="other_x"):
        found.update(dictionary("other_", x=(3,)))


def test_shared():
    first = dictionary(w=(2,))
    second = ParameterDict("pre_", shared=first)
    assert list(second) == []
    assert second.get("w") is first["pre_w"]
    assert list(second) == ["pre_w"]
    assert second.get("new") is not first.get("new")


def test_all_at_once():
    found = dictionary(w=(2,), b=(3,))
    found.initialize("ones", [CPU0, CPU1])
    assert set(map(str, found.list_ctx())) == {"cpu(0)", "cpu(1)"}
    found.reset_ctx(CPU2)
    assert found.list_ctx() == [CPU2] and ParameterDict().list_ctx() == []
    found.setattr("lr_mult", 3)
    assert [p.lr_mult for p in found.values()] == [3, 3]
    found.setattr("grad_req", "add")
    descend(found["pre_w"])
    found.zero_grad()
    assert values(found["pre_w"].grad()) == [0, 0]
    found.initialize(mx.init.Zero(), CPU1, force_reinit=True)
    assert values(found["pre_w"].data()) == [0, 0] and found.list_ctx() == [CPU1]


# Files


@pytest.fixture
def file(tmp_path):
    path = str(tmp_path / "a.params")
    dictionary(init="ones", w=(2, 3)).save(path, strip_prefix="pre_")
    return path


def test_save(tmp_path):
    path = str(tmp_path / "a.params")
    found = dictionary(init="ones", w=(2,), b=(1,))
    found.save(path)
    assert list(nd.load(path)) == ["pre_w", "pre_b"]
    with pytest.raises(ValueError, match="pre_w"):
        found.save(path, strip_prefix="other_")
    assert list(nd.load(path)) == ["pre_w", "pre_b"]


def test_save_averages_contexts(tmp_path):
    path = str(tmp_path / "a.params")
    found = dictionary(w=(2,))
    found.initialize("ones", [CPU0, CPU1])
    found["pre_w"].data(CPU1)[:] = 3
    found.save(path)
    assert values(nd.load(path)["pre_w"]) == [2, 2]


def test_load_with_another_prefix(file):
    found = dictionary("other_", w=(2, 0))
    with pytest.raises(AssertionError, match="'other_w'.*missing"):
        found.load(file)
    with pytest.raises(AssertionError, match="restore_prefix"):
        found.load(file, restore_prefix="third_")
    found.load(file, restore_prefix="other_")
    assert values(found["other_w"].data()) == [[1, 1, 1], [1, 1, 1]]
    assert found.list_ctx() == [CPU0]


def test_load_missing_and_extra(file):
    more = dictionary("", w=(2, 3), v=(1,))
    with pytest.raises(AssertionError, match="(?s)'v'.*missing.*'w'"):
        more.load(file)
    more.load(file, allow_missing=True)
    assert values(more["w"].data()) == [[1, 1, 1], [1, 1, 1]]
    less = dictionary("", init="zeros", u=(1,))
    with pytest.raises(AssertionError, match="(?s)'w'.*'u'"):
        less.load(file, allow_missing=True)
    less.load(file, allow_missing=True, ignore_extra=True)
    assert values(less["u"].data()) == [0]


@pytest.mark.engine("torch")
def test_load_names_the_nearest(tmp_path):
    path = tmp_path / "a.params"
    nd.save(path, {f"conv{i}_weight": nd.ones((1,)) for i in range(20)})
    with pytest.raises(AssertionError) as error:
        dictionary("", conv15_wieght=(1,)).load(path)
    assert "'conv15_weight'" in str(error.value) and "'conv7_weight'" not in str(error.value)


def test_load_refuses_another_shape(file):
    with pytest.raises(AssertionError, match=r"(?s)'w'.*\(2, 4\)|'w'.*\(2, 3\)"):
        dictionary("", w=(2, 4)).load(file)


@pytest.mark.engine("torch")
def test_load_changes_all_or_nothing(file):  # MXNet keeps what fitted before the error
    nd.save(file, {"a": nd.ones((1,)), "w": nd.ones((2, 3))})
    found = dictionary("", init="zeros", a=(1,), w=(2, 4))
    with pytest.raises(AssertionError):
        found.load(file)
    assert values(found["a"].data()) == [0]


@pytest.mark.parametrize("source, dtype", [("current", np.float16), ("saved", np.float32)])
def test_load_another_dtype(file, source, dtype):
    found = ParameterDict()
    found.get("w", shape=(2, 3), dtype="float16")
    with pytest.raises(AssertionError, match="cast_dtype"):
        found.load(file)
    found.load(file, cast_dtype=True, dtype_source=source)
    assert found["w"].data().dtype == np.dtype(found["w"].dtype) == dtype
    with pytest.raises(AssertionError):
        found.load(file, cast_dtype=True, dtype_source="foo")


def test_load_to_contexts(file):
    found = dictionary("", w=(2, 3))
    found.load(file, [CPU2, CPU1])
    assert found["w"].list_ctx() == [CPU2, CPU1]
    found.load(file)
    found.load(file, [CPU1, CPU2])
    with pytest.raises(AssertionError, match=r"cpu\(0\)"):
        found.load(file, CPU0)


def test_load_before_the_first_call(file):
    found = dictionary("", w=(2, 0))
    found.initialize(ctx=CPU1)
    with pytest.raises(AssertionError, match=r"cpu\(2\)"):
        found.load(file, CPU2)
    found.load(file)
    assert found["w"].data().context == CPU1 and found["w"].shape == (2, 3)
    assert values(found["w"].data()) == [[1, 1, 1], [1, 1, 1]]


def test_load_what_export_wrote(file):
    nd.save(file, {"arg:w": nd.ones((2,)), "aux:m": nd.zeros((3,))})
    found = dictionary("", w=(0,), m=(0,))
    found.load(file)
    assert values(found["w"].data()) == [1, 1] and values(found["m"].data()) == [0, 0, 0]


def test_load_dict():
    found = dictionary("", w=(2,))
    found.load_dict({"w": nd.array([1, 2])})
    assert values(found["w"].data()) == [1, 2]
    with pytest.raises(AssertionError, match="'z'"):
        found.load_dict({"z": nd.array([1, 2])}, allow_missing=True)


@pytest.mark.engine("torch")
def test_load_a_file_without_names(file):  # MXNet: not enough values to unpack
    nd.save(file, [nd.ones((1,))])
    with pytest.raises(ValueError, match="no names"):
        dictionary("", w=(1,)).load(file)


@pytest.mark.engine("torch")  # MXNet's goes on to show the gradient from before
def test_a_gradient_that_is_attached_anew_is_the_parameters():
    parameter = made()
    parameter.data().attach_grad("add")
    for _ in range(2):
        with autograd.record():
            y = parameter.data() * 3
        y.backward()
    assert parameter.grad() is parameter.data().grad
    assert values(parameter.grad()) == [[6] * 3] * 2
    parameter.zero_grad()
    assert values(parameter.data().grad) == [[0] * 3] * 2


@pytest.mark.engine("torch")
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
@pytest.mark.parametrize("req", ["write", "null"])
def test_a_copy_has_gradients_of_its_own(twin, req):
    parameter = made(ctx=[CPU0, CPU1], grad_req=req)
    if req == "write":
        parameter.list_grad()[1][:] = 5
    other = twin(parameter)
    assert values(other.data(CPU1)) == [[1] * 3] * 2
    if req == "null":
        with pytest.raises(ValueError, match="grad_req='null'"):
            other.list_grad()
        return
    assert [values(g) for g in other.list_grad()] == [[[0] * 3] * 2, [[5] * 3] * 2]
    with autograd.record():
        y = other.data(CPU1) * 2
    y.backward()
    assert values(other.grad(CPU1)) == [[2] * 3] * 2
    assert values(parameter.grad(CPU1)) == [[5] * 3] * 2


@pytest.mark.engine("torch")  # MXNet takes the new value, in what was computed before too
def test_a_value_that_is_set_inside_record():
    """A step of power iteration, in a layer that is called twice."""
    w, u = made(), Parameter("u", shape=(2,), grad_req="null")
    u.initialize("ones")
    with autograd.record():
        total = 0
        for step in (1.0, 2.0):
            total = total + (w.data() * u.data().reshape((2, 1))).sum()
            with autograd.pause():
                u.set_data(nd.full((2,), 10 * step))
    total.backward()
    assert values(u.data()) == [20, 20]
    assert values(w.grad()) == [[11] * 3] * 2


@pytest.mark.engine("torch")
def test_the_gradients_of_both_values_are_summed():
    for req, factor in (("write", 1), ("add", 2)):
        p = made((2,), grad_req=req)
        for _ in range(2):
            p.set_data(nd.ones((2,)))
            with autograd.record():
                y = (p.data() ** 2).sum()
                with autograd.pause():
                    p.set_data(nd.array([5, 6]))
                z = y * 2 + (p.data() ** 2).sum()
            z.backward()
        assert values(p.grad()) == [14 * factor, 16 * factor]
        assert values(p.data()) == [5, 6]


def test_cast_to_no_dtype_is_one_to_float32():
    p, net = made(dtype="float64"), gluon.nn.Dense(2, in_units=3)
    p.cast(None)
    assert p.data().dtype == np.float32
    net.initialize()
    net.cast("float64")
    net.cast(None)
    assert net(nd.ones((1, 3))).dtype == np.float32
