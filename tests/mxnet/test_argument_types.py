"""Arguments come as NumPy's numbers, as 0 and 1, as text, as lists: what MXNet takes is taken."""

import json
import re
from pathlib import Path

import pytest
from api import calls

RECORDED = Path(__file__).parents[1] / "golden/argument_types.json"
ENTRIES = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
NONE_IS_FLOAT32 = "None as a dtype is float32 here everywhere; MXNet hands it to NumPy in places"
NO_SENSE = "MXNet takes it, and does something else than asked"
# By call, argument and form, a pattern: why it is refused, or does something else.
DIFFERS = {
    r".* dtype: None": NONE_IS_FLOAT32,
    r"nd.full val: None|Constant value: None": NO_SENSE,
    r"(loader|BatchSampler) batch_size: .*": NO_SENSE,
    r"(cpu|Context) device_id: .*": NO_SENSE,
    r"simple_bind grad_req: None": NO_SENSE,
    r"(Conv2D groups|Conv2DT channels|imresize interp|ppl axis|acc axis): text": "text as a number",
    r"(adam epsilon|rmsprop gamma1): text": "text as a number",
}


@pytest.mark.engine("mxnet")
@pytest.mark.filterwarnings("ignore")
def test_what_mxnet_takes(pytestconfig):
    found = calls.found()
    assert not [key for key, forms in found.items() if forms["as it is"] == "refused"]
    if pytestconfig.getoption("--record"):
        lines = [f" {json.dumps(key)}: {json.dumps(forms)}" for key, forms in found.items()]
        RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    assert found == json.loads(RECORDED.read_text("utf-8"))


@pytest.fixture(scope="module")
def found():
    return calls.found()


def differing(found, key):
    """The forms of an argument that MXNet takes, and that are refused or taken otherwise here."""
    expected = {form: told for form, told in ENTRIES[key].items() if told != "refused"}
    return [f"{key}: {form}" for form, told in expected.items() if found[key][form] != told]


@pytest.mark.engine("torch")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ENTRIES)
def test_it_is_taken(found, key):
    places = differing(found, key)
    assert not [p for p in places if not any(re.fullmatch(x, p) for x in DIFFERS)]


@pytest.mark.engine("torch")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("pattern", DIFFERS)
def test_reasons_are_for_what_differs(found, pattern):
    assert any(re.fullmatch(pattern, p) for key in ENTRIES for p in differing(found, key))
