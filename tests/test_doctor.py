"""``layers-doctor``: what is here, and what lacks."""

from layers import __version__, _doctor, engine


def test_it_tells_of_the_engine_and_of_what_lacks(capsys, monkeypatch):
    real = _doctor.version_of
    monkeypatch.setattr(_doctor, "version_of", lambda n: None if n == "pyarrow" else real(n))
    assert _doctor.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"layers     {__version__}, Python ")
    assert lines[1].startswith(f"engine     {engine.name()}: MXNet's API 1.9.1; ")
    assert "lacks      pyarrow, for tables in .parquet: pip install pyarrow" in lines


def test_without_an_engine(capsys, monkeypatch):
    def none():
        raise engine.EngineError("neither is installed")

    monkeypatch.setattr(engine, "describe", none)
    assert _doctor.main() == 2
    assert "engine     none: neither is installed" in capsys.readouterr().out
