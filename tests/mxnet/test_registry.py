"""Registries of one's own."""

import re
import warnings

import pytest

from layers.engine import mx

registry = mx.registry


class Shape:
    def __init__(self, size=1):
        self.size = size


register = registry.get_register_func(Shape, "shape")
alias = registry.get_alias_func(Shape, "shape")
create = registry.get_create_func(Shape, "shape")


@alias("disc", "ring")
@register
class Circle(Shape):
    pass


@pytest.mark.parametrize(
    "given",
    [("circle", 3), ("Disc", 3), ('["ring", {"size": 3}]',), ({"shape": "ring", "size": 3},)],
    ids=str,
)
def test_create(given):
    made = create(*given)
    assert type(made) is Circle
    assert made.size == 3
    assert create(made) is made


def test_names():
    assert registry.get_registry(Shape) == dict.fromkeys(("circle", "disc", "ring"), Circle)
    registry.get_registry(Shape).clear()
    assert registry.get_registry(Shape)


@pytest.mark.parametrize("given", ["square", 3])
def test_unknown(given):
    with pytest.raises((AssertionError, ValueError), match="shape"):
        create(given)


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "text",
    ["[", "[1, {}]", '["ring"]', '["ring", 3]', '["ring", {"x": 1}]', '["ring", {"shape": 1}]',
     "{}", '{"shape": 3}', '{"shape": "ring", "x": 1}', "[" * 100_000, "[" + "9" * 5000 + "]"],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_a_description_that_is_none(text):
    with pytest.raises(mx.MXNetError, match="shape '") as refused:
        create(text)
    assert len(str(refused.value)) < 400


def test_not_a_subclass():
    with pytest.raises((AssertionError, TypeError)):
        register(int)


def test_replacing_warns():
    class Square(Shape):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register(Square)
    with pytest.warns(UserWarning, match="Square"):
        register(type("Square", (Shape,), {}))


@pytest.mark.engine("torch")
@pytest.mark.parametrize(
    "make, known",
    [
        (lambda: mx.optimizer.create("adam", lr=0.1), "learning_rate, beta1,.* wd"),
        (lambda: registry.get_create_func(Shape, "shape")("square", lr=1), "size"),
    ],
)
def test_an_unknown_argument_is_told_with_the_known_ones(make, known):
    with pytest.raises(TypeError) as caught:
        make()
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert re.search(f"unexpected keyword argument 'lr'\n  expected one of {known}", told)
