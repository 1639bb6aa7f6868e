"""What code does with tensors, noted and done again; and code that cannot be."""

import weakref

import numpy as np
import pytest

pytestmark = pytest.mark.engine("torch")


def taped(run, *tensors):
    import torch

    from layers.mxnet._run import tape

    with torch.no_grad():
        return tape.taped(lambda: run(*tensors), tensors)


def written(x):
    """Writes in place, into the whole, a part and a view."""
    import torch

    y = torch.zeros(2, 3)
    y[:] = x
    y[0] = x[1]
    row = y[1]
    row += 2
    y[:, [0, 1]] = 5
    return [y]


def given_memory(x):
    """A function that writes into a part of what it is given, and gives the other part."""
    import torch

    y = torch.zeros(3, 3)
    torch.topk(x, 2, out=(y[1:, :2], torch.zeros(2, 2, dtype=torch.int64)))
    return [y]


NOTED = {
    "numbers": lambda x: [(x * 2 + 1.5).exp()],
    "shapes": lambda x: [x.reshape(x.shape[::-1]) / x.numel()],
    "sums": lambda x: [x.sum(dim=1, keepdim=True), x.sum((0, 1))],
    "parts": lambda x: [x[0], x[:, 1:], x[..., None], x[[1, 0]], x[1:, 0]],
    "several outputs": lambda x: [*x.topk(2), *x.split(1)],
    "a tuple of one": lambda x: [x.split(2)[0] + 1],
    "given memory": given_memory,
    "lists": lambda x: [x.new_zeros([2]), x.new_zeros([2]).expand([3, 2])],
    "what is made": lambda x: [x + x.new_full((3,), 2)],
    "writes": written,
    "the input itself": lambda x: [x, x.detach(), x + 1, x],
    "left out": lambda x: [(x.exp(), x.log(), x + 1)[2]],
    "branches by shape": lambda x: [x * 2 if x.dim() == 2 else x * 3],
}


@pytest.mark.parametrize("run", NOTED.values(), ids=NOTED)
def test_what_is_noted_is_done_again(mx, run):
    import torch

    x, other = torch.rand(2, 3) + 1, torch.rand(2, 3) + 1
    results, function, reason = taped(run, x)
    assert reason == ""
    for given in (x, other, x):
        before = given.clone()
        for a, b in zip(function(given), run(given), strict=True):
            assert torch.equal(a, b) and a.stride() == b.stride()
        assert torch.equal(before, given)
    assert all(map(torch.equal, results, run(x)))


def looked_at(value):
    return lambda x: [x * value(x)]


def recorded(x):
    import torch

    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x * x).sum(), x)


REFUSED = {
    "item": (looked_at(lambda x: x.sum().item()), "_local_scalar_dense.default looks at values"),
    "bool": (
        looked_at(lambda x: 1 if x.sum() > 0 else 2),
        "_local_scalar_dense.default looks at values",
    ),
    "tolist": (looked_at(lambda x: x.tolist()[0][0]), "tolist gives list"),
    "equal": (looked_at(lambda x: 1 if x.equal(x) else 2), "equal.default looks at values"),
    "NumPy": (looked_at(lambda x: float(x.numpy().max())), "numpy gives ndarray"),
    "pointers": (looked_at(lambda x: x.data_ptr() % 7), "data_ptr gives int"),
    "random": (lambda x: [x.bernoulli(0.5)], "draws random numbers"),
    "recorded": (recorded, "it records"),
    "turned": (lambda x: [x.clone().t_()], "t_ changes what an array is"),
    "offset": (looked_at(lambda x: x[1:].storage_offset()), "storage_offset gives int"),
    "nonzero": (lambda x: [x.new_zeros(len(x.nonzero()))], "a shape that hangs on values"),
    "masks": (lambda x: [x[x > 0.5]], "a shape that hangs on values"),
    "constant": (lambda x: [x + CONSTANT["tensor"]], "given an array from outside"),
    "returned": (lambda x: [CONSTANT["tensor"]], "a result is an array from outside"),
    "NumPy's": (lambda x: [x.new_tensor(np.ones(3))], "new_tensor is given a ndarray"),
    "object": (lambda x: [x.apply_(abs)], "apply_ is given a builtin_function_or_method"),
}
CONSTANT = {}


@pytest.mark.parametrize("run, reason", REFUSED.values(), ids=REFUSED)
def test_what_looks_at_values_is_refused(mx, run, reason):
    import torch

    CONSTANT["tensor"] = torch.ones(3)
    results, function, found = taped(run, torch.rand(2, 3))
    assert function is None and reason in found
    assert len(results) == 1


def test_one_tensor_twice_is_refused(mx):
    import torch

    x = torch.ones(2)
    assert taped(lambda x, y: [x + y], x, x)[1:] == (None, "an array is given twice")


def test_what_gives_other_values_is_refused(mx):
    import torch

    class Changing(torch.overrides.TorchFunctionMode):
        """`exp` gives another value whenever it is called."""

        times = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            y = function(*args, **(kwargs or {}))
            self.times += function is torch.Tensor.exp
            return y + self.times if function is torch.Tensor.exp else y

    with Changing():
        results, function, reason = taped(lambda x: [x.exp()], torch.zeros(2))
    assert (function, reason) == (None, "done again, it gives other values")
    assert results[0].tolist() == [2, 2]


def test_what_fails_is_refused(mx):
    import torch

    class Failing(torch.overrides.TorchFunctionMode):
        """`exp` fails when it is called again."""

        times = 0

        def __torch_function__(self, function, types, args=(), kwargs=None):
            self.times += function is torch.Tensor.exp
            if function is torch.Tensor.exp and self.times > 1:
                raise ValueError("again")
            return function(*args, **(kwargs or {}))

    with Failing():
        assert taped(lambda x: [x.exp()], torch.zeros(2))[2] == (
            "done again, it fails: ValueError: again"
        )


def test_memory_is_freed_as_soon_as_by_the_code(mx):
    import torch

    def run(x):
        return [x.exp().log().exp().log()]

    _, function, _ = taped(run, torch.rand(2, 3) + 1)
    x, alive, most = torch.rand(2, 3) + 1, [], 0

    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            nonlocal most
            y = function(*args, **(kwargs or {}))
            alive.append(weakref.ref(y))
            most = max(most, sum(r() is not None for r in alive))
            return y

    with Counting():
        function(x)
    assert len(alive) == 4 and most == 2


def test_what_is_not_used_is_not_done_again(mx):
    import torch

    calls = []

    class Counting(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            calls.append(function)
            return function(*args, **(kwargs or {}))

    x = torch.ones(2)
    _, function, _ = taped(lambda x: [(x.exp(), x.log(), x.detach() + 1)[2]], x)
    with Counting():
        function(x)
    assert len(calls) == 1
