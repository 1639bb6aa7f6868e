"""Models of GluonCV of different kinds, with small inputs; their outputs and losses are MXNet's.

``make gluoncv`` runs all of them, and with parameters that MXNet wrote.
"""

import numpy as np
import pytest
from recorded import Recorded
from zoo.steps import Run, alike

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # GluonCV's own, of Python and NumPy
    pytest.mark.slow_on("mxnet"),
]
NAMES = [
    "cifar_resnet20_v1",
    "mobilenetv3_small",
    "squeezenet1.1",
    "se_resnet18_v1",
    "ssd_300_mobilenet0.25_voc",
    "yolo3_mobilenet0.25_voc",
    "center_net_mobilenetv3_small_duc_voc",
    "fastscnn_citys",
    "shufflenet_v1",
    "simple_pose_resnet18_v1b",
    "mobile_pose_mobilenet1.0",
    "monodepth2_resnet18_kitti_mono_640x192",
]


@pytest.fixture(scope="module")
def golden(request):
    found = Recorded("gluoncv", request.config.getoption("--record"))
    yield found
    found.write()


class Drawn(Run):
    """A model whose parameters are drawn by NumPy, the same on both engines, without Dropout."""

    def make(self):
        super().make()
        self.net(*self.inputs)  # tells the shapes that are not known yet
        draw = np.random.default_rng(5)
        for name, parameter in self.net.collect_params().items():
            if parameter.grad_req == "null":
                continue  # constants, and statistics that are 0 and 1
            values = draw.normal(size=parameter.shape) * (1 / np.prod(parameter.shape[1:])) ** 0.5
            if name.endswith("gamma"):
                values = 1 + 0.1 * values
            parameter.set_data(self.mx.nd.array(values))
        self.net.apply(without_dropout)


def without_dropout(block):
    if type(block).__name__ == "Dropout":
        block._rate = 0


def sample(values):
    """Some numbers of an output, of the size of its greatest value, and that."""
    greatest = np.abs(values).max(initial=1e-9)
    return np.append(values.ravel()[:: max(1, values.size // 16)][:16] / greatest, greatest)


@pytest.mark.parametrize("name", NAMES)
def test_a_model(mx, gluoncv, golden, name, tmp_path):
    run = Drawn(mx, gluoncv, name, str(tmp_path), small=True, writes=False)
    told = run()
    assert not {s: text for s, text in told.items() if str(text).startswith("no:")}
    golden.check(name, [sample(y) for y in run.first], 1e-4, 1e-4)
    loss, reached = told["train"].split(", ")
    golden.check(f"{name}, loss", [float(loss), int(reached)], 1e-3)


def test_boxes_of_equal_scores_may_come_in_another_order():
    kinds, scores = np.arange(4.0).reshape(1, 4, 1), np.float64([[[0.9], [0.5], [0.5], [0.1]]])
    boxes = np.arange(16.0).reshape(1, 4, 4)
    outputs = [kinds, scores, boxes]
    swapped = [y[:, [0, 2, 1, 3]] for y in outputs]
    assert alike(swapped, outputs, "ssd") == "0e+00, 2 boxes of equal scores in another order"
    with pytest.raises(ValueError, match="apart by"):
        alike(swapped, outputs, "classifier")
    moved = [kinds, scores, boxes + [[[0], [0], [1], [0]]]]
    with pytest.raises(ValueError, match=r"apart by 6.7e-02, 4 of 24 numbers"):
        alike(moved, outputs, "ssd")
    unequal = [y[:, [1, 0, 2, 3]] for y in outputs]
    with pytest.raises(ValueError, match="apart by"):
        alike(unequal, outputs, "ssd")
