"""A user's module with a loop kernel, y = x tanh(x)."""

from layers.ops import Custom, kernel


@kernel
def forward(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * tanh(x[i, j])
    return y


@kernel
def backward(x, dy):
    dx = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = tanh(x[i, j])
            dx[i, j] = dy[i, j] * (t + x[i, j] * (1 - t * t))
    return dx


back = Custom(backward)


def bprop(x, y, dy):
    return (back(x, dy),)


gate = Custom(forward, bprop=bprop)
gate.operator  # noqa: B018  registered by being asked for
