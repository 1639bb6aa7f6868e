"""The bodies of operators as NumPy's code, as loop kernels, and as functions in C."""

from pathlib import Path

import numpy as np

from layers.ops import kernel

SOURCE = Path(__file__).parent.parent / "plain" / "loops.c"


def double(x):
    return x * 2


def double_grad(x, y, dy):
    return dy * 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def sigmoid_grad(x, y, dy):
    return dy * y * (1 - y)


@kernel
def double_loop(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 2.0 * x[i, j]
    return y


@kernel
def double_grad_loop(x, y, dy):
    dx = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            dx[i, j] = 2.0 * dy[i, j]
    return dx


@kernel
def sigmoid_loop(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = 1.0 / (1.0 + exp(-x[i, j]))
    return y


@kernel
def sigmoid_grad_loop(x, y, dy):
    dx = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            dx[i, j] = dy[i, j] * y[i, j] * (1.0 - y[i, j])
    return dx


SOURCES = {
    "pyfunc": {"double": (double, double_grad), "sigmoid": (sigmoid, sigmoid_grad)},
    "kernel": {
        "double": (double_loop, double_grad_loop),
        "sigmoid": (sigmoid_loop, sigmoid_grad_loop),
    },
    "library": {
        body: (f"{SOURCE}:{body}_forward", f"{SOURCE}:{body}_backward")
        for body in ("double", "sigmoid")
    },
}
