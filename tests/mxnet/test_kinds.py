"""Kinds of calls: new, made, or refused with a reason."""

import copy
import os
from importlib import import_module

import pytest

pytestmark = pytest.mark.engine("torch")

if os.environ["LAYERS_ENGINE"] == "torch":
    torch = import_module("torch")
    kinds = import_module("layers.mxnet._graph.kinds")
    autograd = import_module("layers.mxnet.autograd")
    this_thread = import_module("layers.mxnet._state").this_thread
    CPU = import_module("layers.mxnet").cpu()


def program(tensors, context):
    return ["plain", *tensors]


def made(tensors, context):
    return ["made", *tensors]


def by_size(calls, kind, tensors, context):
    """A way that makes a function for tensors of one element, and refuses those of two."""
    if tensors[0].numel() == 1:
        calls.keep(kind, made)
    elif tensors[0].numel() == 2:
        calls.refuse(kind, "it has two elements")
    return ["new", *tensors]


@pytest.fixture
def calls():
    return kinds.Kinds(program, by_size, "halved", 2, "the graph of a test")


def ran(calls, count):
    return calls([torch.zeros(count)], CPU)[0]


def test_a_kind_is_new_and_then_made_or_refused(calls, caplog):
    assert [ran(calls, 1), ran(calls, 1)] == ["new", "made"]
    assert [ran(calls, 3), ran(calls, 3)] == ["new", "new"]  # nothing is decided
    assert not caplog.messages
    assert [ran(calls, 2), ran(calls, 2)] == ["new", "plain"]
    told = "the graph of a test is not halved, and runs as it is: it has two elements"
    assert caplog.messages == [told]
    assert [*calls.reasons.values()] == ["it has two elements"]


def test_there_are_so_many_kinds(calls, caplog):
    assert [ran(calls, n) for n in (1, 2, 3, 1)] == ["new", "new", "plain", "made"]
    assert caplog.messages[-1].endswith("it was called with 2 shapes, dtypes and modes before")


def test_each_program_of_a_name_is_logged_once(calls, caplog):
    other = copy.copy(calls)
    for one in (calls, other):
        with autograd.train_mode():
            ran(one, 2)
        ran(one, 2)  # another kind, for the same reason
    assert len(caplog.messages) == 2 and len({*caplog.messages}) == 1


def test_modes_are_a_part_of_a_kind(calls):
    assert [ran(calls, 1), ran(calls, 1)] == ["new", "made"]
    with autograd.train_mode():
        assert [ran(calls, 1), ran(calls, 1)] == ["new", "made"]
    assert len(calls.runs) == 2


def test_a_copy_makes_its_functions_anew(calls):
    ran(calls, 1), ran(calls, 2)
    other = copy.copy(calls)
    assert not other.runs and not other.reasons
    assert [ran(other, 1), ran(calls, 1)] == ["new", "made"]


def test_graphs_are_plain_where_that_is_asked_for(calls, monkeypatch):
    with monkeypatch.context() as set_plain:
        set_plain.setattr(this_thread.state, "plain", True)
        assert ran(calls, 1) == "plain"
    assert ran(calls, 1) == "new"


def test_a_way_that_helps_nothing_is_not_taken():
    calls = kinds.Kinds(program, by_size, "halved", 2, helps=lambda context: context != CPU)
    assert ran(calls, 1) == "plain"
    assert not calls.runs
