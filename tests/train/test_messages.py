"""What an error says, in a line."""

from train.messages import one_line


def test_lines_are_told_apart():
    error = ValueError("x is 3\n  expected\t 4\n\n  in  Dense\n")
    assert one_line(error) == "x is 3; expected 4; in Dense"
    assert one_line(error, 6) == "x is 3"
    assert one_line(ValueError()) == ""


def test_the_beginning_is_told():
    error = ValueError("x" * 999)
    assert (len(one_line(error)), len(one_line(error, None))) == (300, 999)
