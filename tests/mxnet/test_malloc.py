"""What the C library keeps of the memory that a training step has freed."""

import os
import platform
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library"),
]
PAGES_A_STEP = """
import resource
import layers.mxnet as mx
{tune}

def step():
    arrays = [mx.nd.ones((512, 1024)) for _ in range(8)]  # 16 MB
    large = mx.nd.ones((4096, 4096)), mx.nd.ones((4096, 4096))  # 128 MB

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 10)
"""


def pages_a_step(tune="mx.tune()", **environment):
    """How many pages of memory the system gives a step anew."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", PAGES_A_STEP.format(tune=tune)]
    done = subprocess.run(
        command, env=ours | environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def test_a_step_finds_the_memory_of_the_one_before():
    assert pages_a_step() < 5000  # of 36864; now and then one step takes an array anew


def test_importing_leaves_the_c_library_alone():
    assert pages_a_step(tune="") > 10000  # the two large arrays alone have 32768


@pytest.mark.slow
def test_the_environment_of_the_user_decides():
    assert pages_a_step(MALLOC_MMAP_THRESHOLD_="131072") > 30000
