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
    "make, who, near, known",
    [
        (lambda: mx.optimizer.create("adam", lr=0.1), "Adam", "learning_rate", "beta1,.* wd"),
        (lambda: trainer({"lr": 0.1}), "SGD", "learning_rate", "momentum,.* wd"),
        (lambda: trainer({"momentun": 0.1}), "SGD", "momentum", "momentum,.* wd"),
        (lambda: mx.metric.create("topkaccuracy", topk=2), "TopKAccuracy", "top_k", "top_k"),
        (
            lambda: registry.get_create_func(Shape, "shape")("square", siz=1),
            "Square",
            "size",
            "size",
        ),
    ],
)
def test_an_unknown_argument_is_told_with_the_known_ones(make, who, near, known):
    with pytest.raises(TypeError) as caught:
        make()
    first, meant, expected = str(caught.value).splitlines()
    assert first.startswith(f"{who}: unexpected argument '")
    assert meant == f"  did you mean {near!r}?"
    assert re.match(f"  expected one of .*{known}", expected)


def trainer(parameters):
    dense = mx.gluon.nn.Dense(2, in_units=2)
    dense.initialize()
    return mx.gluon.Trainer(dense.collect_params(), "sgd", parameters)


@pytest.mark.engine("torch")
def test_an_error_inside_a_constructor_stays_what_it_is():
    @register
    class Inner(Shape):
        def __init__(self, size):
            dict.fromkeys([], size=size)

    with pytest.raises(TypeError, match="fromkeys"):
        create("inner", size=1)
