"""The stubs for editors are what the table says."""

import ast

import pytest

pytestmark = pytest.mark.engine("torch")


def test_the_stubs_are_fresh():
    from layers.mxnet._table.stub import stubs

    stale = [path.name for path, text in stubs().items() if path.read_text("utf-8") != text]
    assert not stale, f"{stale} are stale: make stub"


def test_the_stubs_are_python():
    from layers.mxnet._table.stub import stubs

    names = {
        node.name
        for text in stubs().values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
    }
    assert {"FullyConnected", "sum", "_plus_scalar"} <= names
