"""Loops and branches of nd.contrib; the same on both engines."""

import pytest


def listed(value):
    if isinstance(value, (list, tuple)):
        return [listed(item) for item in value]
    return value.asnumpy().tolist()


@pytest.fixture
def x(mx):
    return mx.nd.arange(6).reshape((3, 2))


def test_foreach(mx, x):
    outputs, state = mx.nd.contrib.foreach(lambda d, s: (d + s, s + d), x, mx.nd.zeros(2))
    assert listed(outputs) == [[0, 1], [2, 4], [6, 9]]
    assert listed(state) == [6, 9]


def test_foreach_of_nested_lists(mx, x):
    def body(d, s):
        return [d[0] * d[1], [d[0]]], [s[0], [s[1][0] + 1]]

    given = [mx.nd.zeros(1), [mx.nd.ones(1)]]
    outputs, states = mx.nd.contrib.foreach(body, [x, x], given)
    assert listed(outputs) == [[[0, 1], [4, 9], [16, 25]], [[[0, 1], [2, 3], [4, 5]]]]
    assert listed(states) == [[0], [[4]]]
    assert mx.nd.contrib.foreach(lambda d, s: ([], s), x, [])[0] == []


def test_gradient_of_foreach(mx, x):
    x.attach_grad()
    with mx.autograd.record():
        outputs, state = mx.nd.contrib.foreach(lambda d, s: (d * s, s + d), x, mx.nd.ones(2))
    mx.autograd.backward([outputs, state])
    # outputs: x0, x1 (1 + x0), x2 (1 + x0 + x1); the state: 1 + x0 + x1 + x2
    assert listed(x.grad) == [[8, 10], [6, 8], [4, 6]]


def test_while_loop(mx):
    def func(i, total):
        return [i * 2], [i + 1, total + i]

    given = [mx.nd.array([0]), mx.nd.array([1])]
    outputs, last = mx.nd.contrib.while_loop(lambda i, _: i < 3, func, given, max_iterations=5)
    assert outputs[0].shape == (5, 1)
    assert listed(outputs[0][:3]) == [[0], [2], [4]]
    assert listed(last) == [[3], [4]]


def test_ends_of_while_loop(mx):
    def run(below, most):
        step = lambda i: (i * 2, i + 1)  # noqa: E731 - shorter than its name
        start = mx.nd.array([0])
        return mx.nd.contrib.while_loop(lambda i: i < below, step, start, max_iterations=most)

    assert listed(run(10, 2)) == [[[0], [2]], [2]]
    assert listed(run(0, 2)) == [[], [0]]
    with pytest.raises(ValueError, match="max_iterations"):
        run(3, None)


def test_cond(mx):
    one, none = mx.nd.array([1]), mx.nd.array([0])
    assert listed(mx.nd.contrib.cond(one, lambda: one + 1, lambda: [none, one])) == [2]
    assert listed(mx.nd.contrib.cond(none, lambda: one + 1, lambda: [none, one])) == [[0], [1]]


@pytest.mark.engine("torch")
def test_what_they_do_not_take(mx, x):
    contrib = mx.nd.contrib
    with pytest.raises(mx.MXNetError, match="foreach: data has 3"):
        contrib.foreach(lambda d, s: (d, s), 3, x)
    with pytest.raises(mx.MXNetError, match=r"first axes of data are \[3, 2\]"):
        contrib.foreach(lambda d, s: (d, s), [x, x[:2]], x)
    with pytest.raises(mx.MXNetError, match="body returns None .*\n  expected a pair"):
        contrib.foreach(lambda d, s: None, x, x)
    with pytest.raises(mx.MXNetError, match="func returns None .*\n  expected a pair"):
        contrib.while_loop(lambda a: True, lambda a: None, x, max_iterations=2)
    with pytest.raises(mx.MXNetError, match="returns 1 loop_vars"):
        contrib.while_loop(lambda a, b: True, lambda a, b: (a, b), [x, x], max_iterations=2)
    with pytest.raises(mx.MXNetError, match="loop_vars is empty"):
        contrib.while_loop(lambda: True, lambda: ([], []), [], max_iterations=2)
