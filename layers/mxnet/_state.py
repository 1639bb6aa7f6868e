"""The state in force in a thread, as one object with named fields.

A call looks it up once, ``state = this_thread.state`` (30 ns), and reads its fields (3 ns each).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

# Whether kernels compute, in a thread that does not say it.
_KERNELS = os.environ.get("LAYERS_KERNELS", "").lower() not in ("0", "false", "off", "no")


class State:
    """The state in force in one thread; the fields of the class itself are those of the process.

    Attributes
    ----------
    recording, training : bool
        MXNet's two switches: remember computations; let Dropout and BatchNorm train.
    entered : list of (weakref, (bool, bool))
        The scopes of autograd whose `with` statements have not ended, from the outermost, and the
        two switches before each.
    differentiating : bool
        True inside a gradient that is itself to be differentiated.
    elements_in_numpy : int or None
        The number of elements that NumPy has got from the custom operator that runs; None while
        none runs.
    has_image : bool
        True while Pillow reads or writes an image.
    plain : bool
        True if graphs run as they are, neither recorded nor compiled.
    recorder : Recorder or None
        What records the calls of PyTorch. It is told of each array that takes another tensor, and
        of each custom operator that is not pure before it runs.
    np_shape : bool
        MXNet's np_shape semantics.
    np_array : bool
        True if Gluon makes arrays of ``mx.np``.
    kernels : bool
        True if kernels compute in place of formulas.
    part : int or None
        The part of a graph to compute again in backward, to which new nodes belong.
    bulk_size : int
        MXNet's size of bulks, which has no effect.
    contexts, name_managers, attribute_scopes, blocks : list
        The objects of the `with` statements around, the innermost last; see `ThreadStack`.
    precision : Policy or None
        The mixed precision of the process.
    profile : callable or None
        The profiler of the process: what ``profile(category, name, function)`` returns is called
        in place of an operator's function. The category is 'operator' or 'Custom Operator'.
    np_shape_everywhere : bool
        np_shape semantics in all threads of the process.
    """

    __slots__ = (
        "attribute_scopes",
        "blocks",
        "bulk_size",
        "contexts",
        "differentiating",
        "elements_in_numpy",
        "entered",
        "has_image",
        "kernels",
        "name_managers",
        "np_array",
        "np_shape",
        "part",
        "plain",
        "recorder",
        "recording",
        "training",
    )

    precision: Any = None
    profile: Callable[[str, str, Callable], Callable] | None = None
    np_shape_everywhere = False

    def __init__(self):
        self.recording = self.training = self.differentiating = False
        self.entered: list[tuple] = []
        self.elements_in_numpy: int | None = None
        self.has_image = self.plain = False
        self.recorder: Any = None
        self.np_shape = self.np_array = False
        self.kernels = _KERNELS
        self.part: int | None = None
        self.bulk_size = 0
        self.contexts: list = []
        self.name_managers: list = []
        self.attribute_scopes: list = []
        self.blocks: list = []


class _ThisThread(threading.local):
    """The holder of each thread's own `State`."""

    def __init__(self):
        self.state = State()


this_thread = _ThisThread()


class ThreadStack:
    """A stack in the state of each thread, which begins with the object that `make` returns.

    Attributes
    ----------
    value
        The topmost object, which is in force. One that is set takes its place until the innermost
        ``with`` statement ends.
    """

    def __init__(self, field: str, make: Callable[[], Any]):
        self._field, self._make = field, make

    @property
    def value(self) -> Any:
        return self._items()[-1]

    @value.setter
    def value(self, item: Any) -> None:
        self._items()[-1] = item

    def push(self, item: Any) -> None:
        """Put an object on top."""
        self._items().append(item)

    def pop(self) -> None:
        """Take the topmost object away."""
        self._items().pop()

    def _items(self) -> list:
        items = getattr(this_thread.state, self._field)
        if not items:
            items.append(self._make())
        return items


def scope_type(attribute: str, stack: str) -> type:
    """Return a metaclass whose classes have an attribute: the scope in force in this thread.

    Parameters
    ----------
    attribute : str
        Its name. To set it is to put another scope in force.
    stack : str
        The attribute of the class that has the `ThreadStack`.
    """

    def get(cls: type) -> Any:
        return getattr(cls, stack).value

    def put(cls: type, item: Any) -> None:
        getattr(cls, stack).value = item

    return type("Scope", (type,), {attribute: property(get, put)})
