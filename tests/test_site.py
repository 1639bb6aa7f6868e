"""What the site of the documentation is made of; make docs builds it."""

import ast
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine("torch")

SITE = Path(__file__).resolve().parents[1] / "docs" / "site"


def rewritten(text):
    spec = spec_from_file_location("docstrings", SITE / "docstrings.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rewritten(text)


LAYER = """Affine map, y = x wᵀ + b.

Parameters
----------
units : int
    How many.

use_bias : bool

Inputs:
    - **x**: (n, k)
Outputs:
    - **y**: (n, units)

(After a paper.)

Raises
------
ValueError
    There are none."""


def test_gluons_lists_go_before_the_sections():
    text = rewritten(LAYER)
    free, sections = text.split("Parameters\n---", 1)
    assert "**Inputs:**\n\n- **x**: (n, k)" in free and "\n- **y**: (n, units)" in free
    assert "(After a paper.)" in free and "use_bias : bool" in sections
    assert "Raises\n------\nValueError\n    There are none." in sections


def test_inputs_in_one_line():
    text = rewritten("The same.\n\nInputs: any shape. Outputs: the same shape.")
    assert "\n\n**Inputs:** any shape.\n\n**Outputs:** the same shape." in text


def test_shapes_become_a_list():
    text = rewritten("y = x w\n\nx : (n, k)      w, v : (m, k), as\n    given\n\nMore.")
    assert "\n- `x` : (n, k)\n- `w, v` : (m, k), as given\n" in text and text.endswith("More.")


def test_a_literal_block_becomes_code():
    text = rewritten("It is like ::\n\n    for x in y:\n        pass\n\nand so on.")
    assert "It is like:\n\n```python\nfor x in y:\n    pass\n```\n" in text


def test_plain_text_stays():
    assert rewritten("One line.") == "One line."
    assert rewritten("One: two.\n\nThree.") == "One: two.\n\nThree."


def tables():
    for node in ast.parse((SITE / "pages.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id in ("LAYERS", "MXNET"):
            yield ast.literal_eval(node.value)


@pytest.mark.parametrize("module", [m for table in tables() for ms in table.values() for m in ms])
def test_the_modules_of_the_reference_are_there(module):
    assert find_spec(module)
