"""CustomOps on sparse arrays: what they are given, as their Prop's infer_storage_type says."""

import numpy as np
import pytest

VALUES = [[0, 1.0, 2], [0, 0, 0], [3, 0, 4]]
SQUARES, DOUBLES = np.square(VALUES).tolist(), np.multiply(VALUES, 2).tolist()
seen = []


def stypes_of(*lists):
    return [[x.stype for x in arrays] for arrays in lists]


def define(mx, name, of_output, of_gradient, dependency=None):
    """Register x², with outputs and gradients of these storage types; 'same' is the input's."""

    class Square(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            seen.append(("forward", *stypes_of(in_data, out_data, aux)))
            (x,), (y,) = in_data, out_data
            if y.stype == "csr":
                parts = (x.data * x.data, x.indices, x.indptr)
                result = mx.nd.sparse.csr_matrix(parts, shape=x.shape)
            else:
                dense = x.tostype("default")
                result = (dense * dense).tostype(y.stype)
            self.assign(y, req[0], result)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            seen.append(("backward", *stypes_of(out_grad, in_data, in_grad)))
            dx = 2 * in_data[0].tostype("default") * out_grad[0].tostype("default")
            self.assign(in_grad[0], req[0], dx.tostype(in_grad[0].stype))

    class SquareProp(mx.operator.CustomOpProp):
        def infer_storage_type(self, in_stype):
            return in_stype, [in_stype[0] if of_output == "same" else of_output], []

        def infer_storage_type_backward(self, ograd, in_stype, out_stype, igrad, aux):
            told = in_stype[0] if of_gradient == "same" else of_gradient
            return ograd, in_stype, out_stype, [told], aux

        def create_operator(self, ctx, shapes, dtypes):
            return Square()

    if dependency:
        SquareProp.declare_backward_dependency = dependency
    mx.operator.register(name)(SquareProp)


def marked(mx, stype, gradient=None):
    x = mx.nd.array(VALUES).tostype(stype)
    x.attach_grad(stype=gradient or stype)
    return x


CASES = {  # the rule, the storage types of x and of its gradient, then those of y
    "same-default": ("same", "same", "default", "default", "default"),
    "same-csr": ("same", "same", "csr", "csr", "csr"),
    "same-row_sparse": ("same", "same", "row_sparse", "row_sparse", "row_sparse"),
    "rows-of-dense": ("row_sparse", "same", "default", "default", "row_sparse"),
    "dense-of-rows": ("default", "row_sparse", "row_sparse", "row_sparse", "default"),
    "rows-as-the-gradient": ("default", "row_sparse", "default", "row_sparse", "default"),
}


@pytest.mark.parametrize("case", CASES)
def test_storage_types_of_a_custom_operator(mx, case):
    of_output, of_gradient, of_x, of_dx, of_y = CASES[case]
    name = f"square-{case}"
    define(mx, name, of_output, of_gradient)
    x = marked(mx, of_x, of_dx)
    seen.clear()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward()
    mx.nd.waitall()
    assert (y.stype, x.grad.stype) == (of_y, of_dx)
    assert (y.asnumpy().tolist(), x.grad.asnumpy().tolist()) == (SQUARES, DOUBLES)
    assert seen == [
        ("forward", [of_x], [of_y], []),
        ("backward", ["default"], [of_x], [of_dx]),
    ]


@pytest.mark.parametrize("of_x", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("of_dy", ["row_sparse", "csr"])
def test_a_sparse_head_gradient_reaches_a_custom_operator_as_it_is(mx, of_dy, of_x):
    name = f"square-head-{of_dy}-{of_x}"
    define(mx, name, "same", "same")
    x, dy = marked(mx, of_x), np.array([[1, 0, 1], [0, 0, 0], [0, 1, 3]], "float32")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=name)
    y.backward(mx.nd.array(dy).tostype(of_dy))
    assert x.grad.asnumpy().tolist() == (np.array(DOUBLES) * dy).tolist()
    assert seen[-1] == ("backward", [of_dy], [of_x], [of_x])


def test_a_sparse_head_gradient_is_added_to_what_else_is_sent_back(mx):
    define(mx, "square-heads", "same", "same")
    x = marked(mx, "row_sparse")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="square-heads")
        z = mx.nd.sum(y)
    mx.autograd.backward([y, z], [mx.nd.ones((3, 3)).tostype("row_sparse"), None])
    assert x.grad.asnumpy().tolist() == np.multiply(DOUBLES, 2).tolist()


def test_a_custom_operator_on_rows_in_a_graph(mx):
    define(mx, "square-graph", "same", "same")
    y = mx.sym.Custom(mx.sym.var("x", stype="row_sparse"), op_type="square-graph")
    x, dx = (mx.nd.array(v).tostype("row_sparse") for v in (VALUES, np.zeros((3, 3))))
    executor = y.bind(mx.cpu(), {"x": x}, args_grad={"x": dx})
    seen.clear()
    (y,) = executor.forward(is_train=True)
    executor.backward(mx.nd.ones((3, 3)))
    assert (y.stype, y.asnumpy().tolist()) == ("row_sparse", SQUARES)
    assert (dx.stype, dx.asnumpy().tolist()) == ("row_sparse", DOUBLES)
    assert seen[0] == ("forward", ["row_sparse"], ["row_sparse"], [])


@pytest.mark.engine("torch")
def test_a_state_of_a_custom_operator_may_be_csr(mx):
    """MXNet hands it over, and drops what is written into it."""

    class Count(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])
            self.assign(aux[0], "write", in_data[0])

    @mx.operator.register("csr-state")
    class CountProp(mx.operator.CustomOpProp):
        def list_auxiliary_states(self):
            return ["last"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape, in_shape

        def infer_storage_type(self, in_stype):
            return in_stype, in_stype, in_stype

        def create_operator(self, ctx, shapes, dtypes):
            return Count()

    x = mx.nd.array(VALUES).tostype("csr")
    last = mx.nd.sparse.zeros("csr", (3, 3))
    y = mx.nd.Custom(x, last, op_type="csr-state")
    assert (y.stype, last.stype) == ("csr", "csr")
    assert y.asnumpy().tolist() == last.asnumpy().tolist() == VALUES


@pytest.mark.engine("torch")
def test_a_prop_without_storage_types_is_given_dense_copies(mx):
    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], 2 * in_data[0])

    @mx.operator.register("dense-only")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Twice()

    y = mx.nd.Custom(marked(mx, "csr"), op_type="dense-only")
    assert (y.stype, y.asnumpy().tolist()) == ("default", DOUBLES)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "phase, given",
    [
        ("infer_storage_type", (["csr"], ["dense"], [])),
        ("infer_storage_type", ["csr"]),
        ("infer_storage_type_backward", (["default"], ["csr"], ["csr"])),
    ],
    ids=["name", "no-lists", "too-few"],
)
def test_storage_types_that_do_not_fit(mx, phase, given):
    name = f"square-{phase}"
    define(mx, name, "same", "same")
    prop = mx.operator.find(name)
    setattr(prop, phase, lambda self, *stypes: given)
    mx.operator.register(name + str(given))(prop)
    x = marked(mx, "csr")
    with pytest.raises(ValueError, match=f"{phase} gave .*\n  expected . lists"):
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type=name + str(given))
        y.backward()


def test_the_storage_types_of_a_prop_that_says_nothing(mx):
    prop = mx.operator.CustomOpProp()
    assert prop.infer_storage_type(["default"]) == (["default"], ["default"], [])
    with pytest.raises(Exception, match="csr"):
        prop.infer_storage_type(["csr"])
    told = prop.infer_storage_type_backward(["default"], ["csr"], ["csr"], ["undefined"], [])
    assert [*told] == [["default"]] * 4 + [[]]
    with pytest.raises(Exception, match="row_sparse"):
        prop.infer_storage_type_backward(["row_sparse"], ["default"], ["default"], ["default"], [])


@pytest.mark.engine("torch")
def test_what_backward_does_not_depend_on_is_left_out_of_sparse_arrays(mx):
    def dependency(self, out_grad, in_data, out_data):
        return out_grad

    define(mx, "square-left-out", "same", "same", dependency)
    x = marked(mx, "csr")
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="square-left-out")
    with pytest.raises(mx.base.MXNetError, match=r"in_data\[0\] is read in backward"):
        y.backward()


@pytest.mark.engine("torch")
@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
def test_nan_of_sparse_arrays_is_told_on_request(mx, stype, monkeypatch):
    monkeypatch.setattr("layers.mxnet._op.call.CHECK_NAN", True)
    define(mx, f"square-nan-{stype}", "same", "same")
    x = mx.nd.array([[0, 1.0], [0, 0], [1e30, 0]]).tostype(stype)
    x.attach_grad(stype=stype)
    with pytest.raises(FloatingPointError, match=r"output output is inf at \(2, 0\)"):
        mx.nd.Custom(x, op_type=f"square-nan-{stype}")
    x[:] = mx.nd.array([[0, 1.0], [0, 0], [1e10, 0]]).tostype(stype)
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type=f"square-nan-{stype}")
    with pytest.raises(FloatingPointError, match=r"the gradient of data is inf at \(2, 0\)"):
        y.backward(mx.nd.full((3, 2), 1e30))
