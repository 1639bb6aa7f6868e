"""The page docs/mxnet-coverage.md tells what is here, and its names are MXNet's."""

from __future__ import annotations

import re

import pytest
from api import compared, page, reasons, recording

torch_only = pytest.mark.engine("torch")


@pytest.mark.engine("mxnet")
@pytest.mark.filterwarnings("ignore")
def test_the_names_are_mxnets(pytestconfig):
    found = recording.as_text(recording.record())
    if pytestconfig.getoption("--record"):
        recording.RECORDED.write_text(found, "utf-8")
    assert found == recording.RECORDED.read_text("utf-8")


@torch_only
def test_the_page_is_fresh():
    assert page.PAGE.read_text("utf-8") == page.page(), "stale: make coverage"


@torch_only
def test_the_readme_says_the_numbers_on_its_first_screen():
    text = page.README.read_text("utf-8")
    found = page.SENTENCE.search(text)
    assert found and text[: found.end()].count("\n") < 25
    assert text == page.readme(), "stale: make coverage"


@torch_only
def test_the_differences_are_told():
    """Each section of docs/differences.md is in the table, with the names that it is about."""
    titles = set(compared.titles())
    new = titles - set(reasons.DIFFERENCES)
    assert not new, "which names is it about? say so in tests/api/reasons.py, DIFFERENCES"
    linked = {title for title, places in reasons.DIFFERENCES.items() if places}
    assert linked <= titles, "a link leads nowhere: take it out of DIFFERENCES"


@torch_only
@pytest.mark.parametrize("public", [False, True], ids=["all", "public"])
def test_most_operators_work_and_each_other_has_a_reason(public):
    found = compared.operators()
    count, working = found.counted(public)
    assert working >= 0.97 * count
    assert reasons.NOT_YET not in found.absent.values(), found.absent


@torch_only
@pytest.mark.parametrize(
    "places", [reasons.DIFFERS, " ".join(reasons.DIFFERENCES.values()).split()], ids=["own", "page"]
)
def test_reasons_are_for_names_of_mxnet(places):
    assert set(places) <= {name.place for name in compared.names()}


@torch_only
@pytest.mark.parametrize("pattern", reasons.ABSENT)
def test_reasons_why_names_are_absent_are_for_names_of_mxnet(pattern):
    assert any(re.fullmatch(pattern, name.place) for name in compared.names())


@torch_only
@pytest.mark.parametrize(
    "place, state",
    [
        ("nd.NDArray", "differs"),
        ("nd.NDArray.asnumpy", "works"),
        ("nd.NDArray.shape", "works"),
        ("nd.concat", "works"),
        ("nd.sparse.CSRNDArray.data", "works"),
        ("sym.Symbol.simple_bind", "differs"),
        ("autograd.get_symbol", "works"),
        ("gluon.nn.Dense", "works"),
        ("gluon.Trainer.save_states", "differs"),
        ("base.check_call", "absent"),
        ("context.num_gpus", "works"),
        ("np_array", "works"),
        ("numpy.ndarray.sum", "works"),
        ("numpy.exp", "works"),
        ("executor.Executor.arg_dict", "works"),
    ],
)
def test_states_of_names(place, state):
    full = re.sub(r"^nd\b", "ndarray", re.sub(r"^sym\b", "symbol", place))
    (found,) = (name for name in compared.names() if name.place == full)
    assert found.state == state
    assert bool(found.why) == (state != "works")


class Base:
    def __init__(self, prefix=None):
        self.prefix = prefix

    def run(self, x, **kwargs):
        pass


class Layer(Base):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)

    def run(self, **kwargs):
        pass

    def never(self):
        """Nothing.

        Raises
        ------
        UnsupportedError
            Always.
        """


@torch_only
@pytest.mark.parametrize(
    "keywords, refused",
    [
        ("units prefix", ""),
        ("units **kwargs", ""),
        ("units dtype", "`dtype`"),
        ("b _ a", "`a`, `b`"),
    ],
)
def test_arguments_that_are_not_taken(keywords, refused):
    found = compared.compared("gluon", "Layer", Layer, {"kind": "class", "keywords": keywords})
    assert found.state == ("differs" if refused else "works")
    assert found.why == (f"does not take {refused} by name" if refused else "")
    assert found.taken == found.arguments - len(refused.split())


@torch_only
@pytest.mark.parametrize(
    "member, keywords, state",
    [
        ("run", "x", "works"),
        ("run", "y", "differs"),
        ("prefix", "", "works"),
        ("never", "", "absent"),
        ("other", "", "absent"),
    ],
)
def test_members(member, keywords, state, monkeypatch):
    monkeypatch.setattr(compared, "PACKAGE", __name__)
    ours = compared.member_of(Layer, member)
    monkeypatch.undo()
    entry = {"kind": "method", "keywords": keywords}
    assert compared.compared("gluon", f"Layer.{member}", ours, entry, Layer).state == state


@torch_only
def test_a_name_that_is_missing_in_a_second_place():
    entry = {"kind": "function", "keywords": "shape", "also": ["ndarray.ndarray", "visualization"]}
    found = compared.compared("ndarray", "ones", compared.inside("ndarray", "ones"), entry)
    assert (found.state, found.why) == ("differs", "not at `mx.visualization`")


@torch_only
def test_operators_that_are_not_public():
    here, absent = compared.private_operators()
    assert {"_plus_scalar", "_contrib_box_iou", "_foreach"} <= {*here}
    assert "_Native" not in here + absent and not {*here} & {*absent}


def test_a_module_s_own_names():
    text = "import os\nA = 1\nB, (C, _d) = x\nif y:\n    E = 2\ndef f():\n    G = 1\n"
    assert recording.assigned_names(text) == {"A", "B", "C", "_d"}


def test_keywords_of_functions():
    def function(self, data, *args, axis=0, **kwargs):
        pass

    assert recording.keywords(function) == "self data *args axis **kwargs"
    assert recording.keywords(function, skip=True) == "data *args axis **kwargs"
    assert recording.keywords(object()) == ""
    assert recording.members(Layer) == {"never": "", "run": "**kwargs"}
