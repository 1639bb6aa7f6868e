"""Ctrl-C at any moment: what `record` and operators have switched is switched back."""

import random
import signal
import threading

import pytest

from layers.engine import autograd, nd

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here"),
]


def nothing():
    with autograd.record():
        pass


def operator():
    with autograd.record():
        return nd.ones(2) * 2


def nested():
    with autograd.record(), autograd.pause(), autograd.train_mode():
        return nd.ones(2)


@pytest.fixture
def interrupts():
    """Makes a function that is run again and again until it is interrupted, at a random time."""
    times = random.Random(0)

    def interrupt(_, frame):
        raise KeyboardInterrupt

    def interrupted(function):
        try:
            signal.setitimer(signal.ITIMER_REAL, times.uniform(0.0002, 0.0007))
            while True:
                function()
        except KeyboardInterrupt:
            pass

    before = signal.signal(signal.SIGALRM, interrupt)
    yield interrupted
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("function", [nothing, operator, nested])
def test_no_interrupt_leaves_recording_on(interrupts, function):
    """Of 2,000 interrupts of `nothing` 800 once left it on."""
    import torch

    from layers.mxnet._state import this_thread

    was = torch.is_grad_enabled()
    left = 0
    for _ in range(2000):
        interrupts(function)
        left += autograd.is_recording() or autograd.is_training()
        left += torch.is_grad_enabled() != was
        autograd.set_recording(False)
        autograd.set_training(False)
    assert left == 0
    assert not this_thread.state.entered


def leave_open(scope):
    """Enter a scope and never leave it, as where Ctrl-C comes first in its `__exit__`."""
    scope.__enter__()


def test_a_scope_that_is_gone_is_undone():
    leave_open(autograd.record())
    assert not autograd.is_recording() and not autograd.is_training()


def test_scopes_inside_one_that_goes_later():
    kept = autograd.record()
    leave_open(kept)
    with autograd.predict_mode():
        del kept
        assert autograd.is_recording() and not autograd.is_training()
    assert not autograd.is_recording() and not autograd.is_training()


def test_a_scope_around_undoes_those_inside():
    with autograd.pause(train_mode=True):
        kept = autograd.record(train_mode=False)
        leave_open(kept)
        assert autograd.is_recording()
    assert not autograd.is_recording() and not autograd.is_training()
    with autograd.record():
        del kept
        assert autograd.is_recording()
    assert not autograd.is_recording()


def test_one_scope_may_be_entered_again_inside_itself():
    scope = autograd.record()
    with scope:
        with autograd.pause():
            with scope:
                assert autograd.is_recording()
            assert not autograd.is_recording()
        assert autograd.is_recording()
    assert not autograd.is_recording()


def test_a_scope_that_another_thread_leaves():
    scope = autograd.record()
    scope.__enter__()
    thread = threading.Thread(target=scope.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert autograd.is_recording()
    scope.__exit__(None, None, None)
    assert not autograd.is_recording()
