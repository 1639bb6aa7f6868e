"""Base class of layers and networks: `Cell`."""

from __future__ import annotations

from typing import Any

from ..engine import gluon
from ._absent import absent
from ._tensor import Parameter

__all__ = ["Cell"]


class Cell(gluon.Block):
    """Base class of all layers and networks; a Gluon Block.

    A subclass defines ``construct(self, x, ...)``, on Tensors. Cells and Parameters that are
    assigned to attributes become parts of it.
    """

    def __init__(self, auto_prefix: bool = True, flags: dict | None = None):
        super().__init__()
        self._weights: dict[str, Parameter] = {}

    def construct(self, *inputs: Any) -> Any:
        """Compute the output; a subclass defines it.

        Raises
        ------
        AttributeError
            The subclass does not define it.
        """
        raise AttributeError(f"{type(self).__name__}: construct is not defined")

    def forward(self, *inputs: Any) -> Any:
        """Call `construct`, for Gluon."""
        return self.construct(*inputs)

    def __call__(self, *inputs: Any) -> Any:
        if "_weights" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}: it is called before it is made\n"
                "  expected super().__init__() in its __init__"
            )
        return super().__call__(*inputs)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            if "_weights" not in self.__dict__:
                raise AttributeError(
                    f"{type(self).__name__}: attribute {name!r} is set too early\n"
                    "  expected super().__init__() before it"
                )
            value.name = value.name or name
            self._weights[name] = value
        elif name in self.__dict__.get("_weights", ()):
            raise TypeError(
                f"{type(self).__name__}: attribute {name!r} is set to a {type(value).__name__}\n"
                "  expected a Parameter, or set_data of the present one"
            )
        super().__setattr__(name, value)

    def parameters_and_names(self) -> list[tuple[str, Parameter]]:
        """Return the Parameters, also of inner Cells, each with its path, such as ``'dense.w'``."""
        found = list(self._weights.items())
        for name, cell in self._children.items():
            if isinstance(cell, Cell):
                found += [(f"{name}.{n}", p) for n, p in cell.parameters_and_names()]
        return found

    def get_parameters(self) -> list[Parameter]:
        """Return the Parameters, also of inner Cells."""
        return [p for _, p in self.parameters_and_names()]

    def trainable_params(self) -> list[Parameter]:
        """Return the Parameters that have ``requires_grad``."""
        return [p for p in self.get_parameters() if p.requires_grad]


__getattr__ = absent(__name__, __all__)
