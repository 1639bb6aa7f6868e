"""What is printed, and where it cannot be."""

import io
import os
import sys

import pytest

from train import Diverged, Interrupted, NotFound, Refused
from train.predict_program import show
from train.screen import one_line, open_closed_streams, say

BAD = "\x1b[2J\x9b2J\u202e\u2028\r\nLINE"  # a name in a file, which a terminal would obey
HARMLESS = r"\x1b[2J\x9b2J\u202e\u2028\r\nLINE"


@pytest.mark.parametrize("kind", [Refused, NotFound, Diverged, lambda text: Interrupted(text, 2)])
def test_an_error_is_one_line_whatever_a_file_holds(kind):
    assert str(kind(f"column {BAD}")) == f"column {HARMLESS}"
    assert len(str(kind("w" * 10**6))) < 2000


def test_names_of_files_do_nothing_to_a_terminal(capsys, monkeypatch):
    say(f"a\n{BAD[:-6]}b", sys.stdout)
    assert capsys.readouterr().out == f"a\n{HARMLESS[:-8]}b\n"
    assert one_line(ValueError(BAD)) == r"\x1b[2J\x9b2J\u202e; LINE"
    show(iter([f"1,{BAD}\n"]))
    assert capsys.readouterr().out == f"1,{BAD}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show(iter(["1,\x1b[2J\x9b\u202e\n"]))
    assert capsys.readouterr().out == "1,\\x1b[2J\\x9b\\u202e\n"


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


def test_the_lines_of_an_error_are_told_apart():
    error = ValueError("x is 3\n  expected\t 4\n\n  in  Dense\n")
    assert one_line(error) == "x is 3; expected 4; in Dense"
    assert one_line(error, 6) == "x is 3"
    assert one_line(ValueError()) == ""


def test_the_beginning_of_an_error_is_told():
    error = ValueError("x" * 999)
    assert (len(one_line(error)), len(one_line(error, None))) == (300, 999)
