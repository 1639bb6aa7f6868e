"""What is printed, and where it cannot be."""

import io
import os
import sys

import pytest

from train.screen import open_closed_streams, say


def test_it_is_printed_at_once(tmp_path):
    with (tmp_path / "log").open("w") as stream:
        say("a\nb", stream)
        assert (tmp_path / "log").read_text() == "a\nb\n"


def test_a_reader_that_is_gone():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as stream:
        say("nobody reads this", stream)
        say("nor this", stream)


@pytest.mark.parametrize(
    "encoding, shown", [("utf-8", "1 \N{MIDDLE DOT} 2"), ("ascii", "1 \\xb7 2")]
)
def test_an_encoding_that_lacks_a_letter(encoding, shown):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    say("1 \N{MIDDLE DOT} 2", stream)
    assert stream.buffer.getvalue() == f"{shown}\n".encode()


def test_streams_that_are_closed(monkeypatch):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    before = sys.stdin
    open_closed_streams()
    assert sys.stdin is before
    for stream in (sys.stdout, sys.stderr):
        with stream:
            say("into nothing", stream)
