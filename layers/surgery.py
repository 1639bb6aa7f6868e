"""Replacement of layers in any Gluon net, for example by this library's, with the same parameters.

Each layer of this library that computes the same as a layer of Gluon has a classmethod `of`:

====================  ==============================  ============================================
layer                 stands for                      its parameters
====================  ==============================  ============================================
`DenseBlock`          nn.Dense                        the same objects
`LayerNormBlock`      nn.LayerNorm                    the same objects
`GroupNormBlock`      nn.InstanceNorm                 the same objects
`GroupNormBlock`      nn.GroupNorm                    new ones, a group's values for its channels
`ReLUBlock`           nn.Activation("relu")           none
`SigmoidBlock`        nn.Activation("sigmoid")        none
`SoftplusBlock`       nn.Activation("softrelu")       none
`GELUBlock`           nn.GELU                         none
`SwishBlock`          nn.Swish                        none
`HardSwishBlock`      GluonCV's HardSwish             none
====================  ==============================  ============================================

Layers of other classes stay, also layers of a user's class with one of these names.

Parameters that are the same objects keep their names in `collect_params` and `save_parameters`. So
files that were saved before still fit, and a Trainer goes on with them. Operators that a net calls
by itself, such as ``F.Activation`` in a residual block, are no layers, and stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._errors import note
from .activation import (
    GELUBlock,
    HardSwishBlock,
    ReLUBlock,
    SigmoidBlock,
    SoftplusBlock,
    SwishBlock,
    activation_of,
)
from .dense import DenseBlock
from .engine import gluon, mxnet_error
from .norm import GroupNormBlock, LayerNormBlock

__all__ = ["counterpart", "replace"]

_ACTIVATIONS = {
    kind: block
    for block in (GELUBlock, HardSwishBlock, ReLUBlock, SigmoidBlock, SoftplusBlock, SwishBlock)
    for kind in block.replaces
}


def replace(net, kind, make: Callable) -> list[str]:
    """Replace all layers of a class in a net, wherever they are.

    ``replace(net, gluon.nn.Dense, DenseBlock.of)`` leaves the net's outputs unchanged; with
    ``lambda old: DenseBlock.of(old, quantize=8)``, the net learns to be stored in 8 bits.

    A layer that is used in several places is replaced by one new layer. A new layer is hybridized
    if the old one was. Existing graphs are traced again at the next call, so `net` must be the
    whole net that is called. Hooks of the old layers are lost.

    Parameters
    ----------
    net : Block
        The net, changed in place.
    kind : type or tuple of type
        The class of the layers, or several; subclasses count, too.
    make : callable
        A function of the old layer that returns the Block in its place, or None to leave the layer
        and search inside it.

    Returns
    -------
    list of str
        Places of the replaced layers, named as in `save_parameters`: ``["output"]``,
        ``["features.3"]``.

    Raises
    ------
    TypeError
        `net` is no Block, `kind` no class, or `make` no function; `make` returned something else;
        or a layer cannot be replaced. The net stays unchanged.
    ValueError
        `net` itself is of the class, and has no layers inside.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(net, gluon.Block) or not all(isinstance(k, type) for k in kinds):
        raise mxnet_error(
            TypeError,
            f"replace: net is a {type(net).__name__}, kind is {kind!r}\n"
            "  expected a Block, and a class of layers, such as gluon.nn.Dense",
        )
    if isinstance(net, kind) and not net._children:
        raise mxnet_error(
            ValueError,
            f"replace: the net itself is a {type(net).__name__}\n"
            "  expected a net with such layers inside; call `make` yourself",
        )
    if isinstance(make, gluon.Block) or not callable(make):
        raise mxnet_error(
            TypeError,
            f"replace: make is {make!r}\n"
            "  expected a function of the old layer, such as DenseBlock.of",
        )
    made: dict[int, tuple] = {}  # keeps the old layer, so that its id stays its own
    places = list(_places(net, kind, make, made))
    new = {i: block for i, (old, block) in made.items() if block is not old}
    for block in list(_blocks(net)):
        _put(block, new)
    if new:
        for block in _blocks(net):
            if isinstance(block, gluon.HybridBlock):
                block._clear_cached_op()
    return places


def counterpart(old):
    """Return this library's layer for one of Gluon's or GluonCV's; a `make` for `replace`.

    ``replace(net, gluon.HybridBlock, counterpart)`` replaces the layers of this module's table.
    Some layers stay: each GroupNorm, an InstanceNorm whose number of channels is not known yet, and
    a LayerNorm or InstanceNorm of an axis other than the default.

    Parameters
    ----------
    old : Block

    Returns
    -------
    Block or None
        A layer with the same output and parameters; None if there is none.
    """
    if type(old) is gluon.nn.Dense:
        return DenseBlock.of(old)
    if type(old) is gluon.nn.LayerNorm and old._axis == -1:
        return LayerNormBlock.of(old)
    if type(old) is gluon.nn.InstanceNorm and old._axis == 1 and old.gamma.shape[0]:
        return GroupNormBlock.of(old)
    block = _ACTIVATIONS.get(activation_of(old))
    return block.of(old) if block else None


def _places(net, kind, make: Callable, made: dict, prefix: str = "") -> Iterator[str]:
    """Make new layers; yield the names of their places."""
    for key, old in net._children.items():
        name = prefix + key
        if isinstance(old, kind) and id(old) not in made:
            try:
                made[id(old)] = old, _checked(make(old), old, net)
            except Exception as error:
                note(error, f"in replace, for {name}: {old!r}")
                raise
        if made.get(id(old), (old, old))[1] is not old:
            yield name
        else:
            yield from _places(old, kind, make, made, f"{name}.")


def _blocks(net) -> Iterator:
    yield net
    for child in net._children.values():
        yield from _blocks(child)


def _checked(new, old, parent):
    """Check the result of `make` and return it, hybridized if the old layer was."""
    if new is None or new is old:
        return old
    expected = gluon.HybridBlock if isinstance(parent, gluon.HybridBlock) else gluon.Block
    if not isinstance(new, expected):
        raise mxnet_error(
            TypeError,
            f"replace: make returned {type(new).__name__}\n"
            f"  expected a {expected.__name__}, or None to leave the layer",
        )
    if getattr(old, "_active", False):
        new.hybridize(True, **dict(old._flags))
    return new


def _put(parent, new: dict) -> None:
    """Replace layers in a block's attributes and children, also inside lists, dicts and tuples."""
    for name, value in list(vars(parent).items()):
        found = _with_new(value, new)
        if found is not value:  # Gluon's own setattr refuses a block of another class
            object.__setattr__(parent, name, found)


def _with_new(value, new: dict):
    """Replace layers inside a value; lists and dicts are changed in place, tuples are rebuilt."""
    if id(value) in new:
        return new[id(value)]
    if isinstance(value, list):
        value[:] = [_with_new(each, new) for each in value]
    elif isinstance(value, dict):
        for key, each in value.items():
            value[key] = _with_new(each, new)
    elif isinstance(value, tuple):
        found = [_with_new(each, new) for each in value]
        if any(a is not b for a, b in zip(found, value)):
            return getattr(value, "_make", tuple)(found)  # a named tuple stays one
    return value
