"""The functions that programs call besides the engine's; a printed program begins with them."""

import numpy as np


def fill(mx, net, *inputs):
    """Give the parameters of a net values that differ from each other; variances are positive."""
    net.initialize()
    net(*inputs)
    for i, parameter in enumerate(net.collect_params().values()):
        values = np.random.RandomState(i).uniform(-0.5, 1, parameter.shape).round(3)
        values = abs(values) + 0.1 if parameter.name.endswith("var") else values
        parameter.set_data(mx.nd.array(values, dtype=parameter.dtype))


def parameters(net):
    """The values of all parameters of a net, in the order in which they were made."""
    return [p.data() for p in net.collect_params().values()]


def gradients(net):
    """The gradients of the parameters that have one."""
    return [p.grad() for p in net.collect_params().values() if p.grad_req != "null"]


def kind(array):
    """The dtype and the shape of an array, or of each in a list: what is not random of it."""
    if isinstance(array, (list, tuple)):
        return [kind(a) for a in array]
    return [np.dtype(array.dtype).name, array.shape]


def backward(mx, outputs, step=1, train_mode=True):
    """Go backward from all outputs, with head gradients of cos(0), cos(step), cos(2 step), ..."""
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    outputs = [y for y in outputs if np.dtype(y.dtype).kind == "f"]
    heads = [np.cos(step * np.arange(y.size)).reshape(y.shape) for y in outputs]
    heads = [mx.nd.array(h, dtype=y.dtype) for h, y in zip(heads, outputs)]
    mx.autograd.backward(outputs, heads, train_mode=train_mode)


def own(name, **options):
    """A layer around a custom operator: see `fuzz.own`."""
    from fuzz.own import LAYERS

    return LAYERS[name](**options)


def copies(arrays):
    """Copies of arrays, which will not change."""
    return [array.copy() for array in arrays]
