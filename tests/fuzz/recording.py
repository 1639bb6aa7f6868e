"""A call as a whole program: its inputs, and the gradients that it gives them."""

from __future__ import annotations

from hypothesis import strategies as st

from .program import Expression, Program, call, path
from .values import Draw, one, rarely


def program(about: str, do: list, show: list) -> Program:
    """A program, and what it is about: ``operators/sum``."""
    return {"about": about, "do": do, "show": show}


def differentiated(
    draw: Draw,
    inputs: dict[str, Expression],
    result: Expression,
    show: list[Expression] = (),
    constants: tuple[str, ...] = (),
    always: bool = False,
) -> tuple[list, list]:
    """The statements that call and differentiate, and what they show: ``y``, gradients, `show`.

    What `constants` names of the inputs is no variable. `always`: it is always recorded.
    """
    do = [["let", name, value] for name, value in inputs.items()]
    floats = [n for n, v in inputs.items() if v[0] == "array" and v[1].startswith("float")]
    floats = [n for n in floats if n not in constants]
    computed = ["let", "y", result]
    if not floats or not (always or draw(st.booleans())):
        mode = one(draw, None, None, "predict_mode", "train_mode")
        do.append(computed if mode is None else ["with", call(f"mx.autograd.{mode}"), [computed]])
        return do, [path("y"), *show]
    chosen = [n for n in floats if not rarely(draw, 4)] or floats
    req = one(draw, "write", "write", "write", "add")
    do += [["do", call(f"{n}.attach_grad", *([req] if req == "add" else []))] for n in chosen]
    mode = {"train_mode": False} if rarely(draw, 5) else {}
    back = call("backward", path("mx"), path("y"), one(draw, 1, 0), **mode)
    once = [["with", call("mx.autograd.record", **mode), [computed]], ["do", back]]
    do += once * (2 if req == "add" else 1)
    return do, [path("y"), *(path(f"{n}.grad") for n in chosen), *show]
