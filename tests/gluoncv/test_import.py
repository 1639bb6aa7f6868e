"""`layers.engine.gluoncv`, by which this library's own programs have the package."""

import importlib.util
import subprocess
import sys

import pytest
from repeated import first_alone

spec = importlib.util.find_spec("gluoncv")  # a folder of the name has no origin
pytestmark = pytest.mark.skipif(not (spec and spec.origin), reason="GluonCV is not installed here")


@pytest.mark.parametrize("first", first_alone(["", "import torch; "]), ids=["absent", "imported"])
@pytest.mark.engine("mxnet")
def test_mxnet_beside_pytorch_2(first, tmp_path):
    """GluonCV itself cannot be imported there."""
    (tmp_path / "torch.py").write_text("__version__ = '2.13.0'\n")
    program = f"{first}from layers import engine; zoo = engine.gluoncv().model_zoo; import torch; "
    program += "print(zoo.get_model('cifar_resnet20_v1').output, torch.__version__)"
    command = [sys.executable, "-W", "ignore", "-c", program]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert found.stdout == "Dense(64 -> 10, linear) 2.13.0\n", found.stderr
