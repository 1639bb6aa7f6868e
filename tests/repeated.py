"""Repetitions of one rule, of which make test runs a few."""

import pytest


def first_alone(values, count=1):
    """The values of a parameter, of which make test runs the first ones alone.

    A value is a tuple where there are several parameters. make test-all runs all of them.
    """
    values = list(values)
    return values[:count] + [as_slow(value) for value in values[count:]]


def as_slow(value):
    """A value of a parameter that make test leaves out."""
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.slow)
