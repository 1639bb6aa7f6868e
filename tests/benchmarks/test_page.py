"""The page docs/benchmarks.md is that of the files in benchmarks/results/."""

from importlib.util import find_spec

import pytest

from benchmarks import page

pytestmark = pytest.mark.engine("torch")

ROW = {"seconds": 1e-3, "steady": True, "ratio": 1.0, "ratio_low": 0.9, "ratio_high": 1.2}
HALF = ROW | {"ratio": 0.5, "steady": False}


def test_the_page_is_fresh():
    assert page.PAGE.read_text("utf-8") == page.text(), "stale: python -m benchmarks --page"


def test_each_suite_has_its_picture():
    _, suites = page.measured()
    assert {f"{s.name}.png" for s in suites} == {p.name for p in page.PICTURES.iterdir()}


def test_a_suite_is_that_of_the_newest_file():
    files, suites = page.measured()
    dates = [found["date"] for found in files.values()]
    assert dates == sorted(dates, reverse=True)
    for suite in suites:
        having = [path for path, found in files.items() if suite.name in found["suites"]]
        assert suite.file == having[0]


def test_what_was_not_steady_is_marked():
    table = "".join(page._table({"small": {"PyTorch": ROW, "layers": HALF, "MXNet": None}}))
    assert "| PyTorch | 1.00 (1.00 ms) |" in table
    assert "| layers | ~0.50 (1.00 ms) |" in table and "| MXNet |  |" in table


@pytest.mark.skipif(not find_spec("matplotlib"), reason="matplotlib is not installed")
def test_a_suite_that_is_not_known_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "PICTURES", tmp_path)
    cases = {"small, new": {"PyTorch": ROW, "layers": HALF}}
    suite = page.Measured("new", cases, tmp_path / "cpu.json", {})
    assert suite.title == "new"
    page.draw(suite)
    assert (tmp_path / "new.png").read_bytes().startswith(b"\x89PNG")
