"""Signals that end a training."""

import signal

import pytest

from train.callbacks import SIGNALS, Stop


@pytest.fixture(autouse=True)
def handlers():
    """Whoever started the tests may have some ignored."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_is_noted(number):
    with Stop() as stop:
        assert stop.signal is None
        signal.raise_signal(number)
        assert stop.signal == number
    assert signal.getsignal(number) is signal.SIG_DFL


def test_a_second_ctrl_c_does_not_wait():
    with Stop() as stop:
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            signal.raise_signal(number)
        assert stop.signal == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Stop() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert stop.signal is None
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
