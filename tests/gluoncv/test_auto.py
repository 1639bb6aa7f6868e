"""gluoncv.auto: its training programs on a few pictures, one step or two.

Their pictures are changed by MXNet's generator: that they run and predict is asked, and no values.
On Python 3.10 and later they cannot be imported on MXNet, for autocfg's sake.
"""

import importlib
import sys

import numpy as np
import pytest
from PIL import Image

pytestmark = [
    pytest.mark.engine("torch"),
    pytest.mark.filterwarnings("ignore"),  # GluonCV's own, of Python, NumPy and pandas
]


@pytest.fixture
def auto(gluoncv, tmp_path, monkeypatch):
    """The estimators and data sets, in a folder where they may write their logs."""
    for package in ("autocfg", "pandas"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    estimators = importlib.import_module("gluoncv.auto.estimators")
    return estimators, importlib.import_module("gluoncv.auto.data.dataset")


@pytest.mark.parametrize("mixed", [{"label_smoothing": True, "mode": "hybrid"}, {"no_wd": True}])
def test_classification(auto, draw, tmp_path, mixed):
    estimators, data = auto
    for split in ("train", "val"):
        for kind in range(2):
            folder = tmp_path / "data" / split / f"class{kind}"
            folder.mkdir(parents=True)
            for i in range(4):
                pixels = draw.rand(40, 40, 3) * 120 + 120 * kind
                Image.fromarray(pixels.astype("uint8")).save(folder / f"{i}.png")
    kind = data.ImageClassificationDataset
    train, check, _ = kind.from_folders(str(tmp_path / "data"))
    given = {"epochs": 2, "batch_size": 4, "num_workers": 0, "lr": 0.01, **mixed}
    options = {
        "img_cls": {"model": "cifar_resnet20_v1", "use_pretrained": False},
        "train": given,
        "valid": {"batch_size": 4, "num_workers": 0},
        "gpus": (),
    }
    estimator = estimators.ImageClassificationEstimator(options)
    found = estimator.fit(train, check)
    assert 0.5 <= found["valid_acc"] <= 1
    assert estimator.evaluate(check)[1] == 1
    predicted = estimator.predict(train)
    assert len(predicted) == 16 and np.isfinite(predicted["score"]).all()
    assert estimator.predict_feature(train.iloc[0]["image"])["image_feature"][0].shape == (64,)
    estimator.save("estimator.pkl")
    again = estimators.ImageClassificationEstimator.load("estimator.pkl")
    np.testing.assert_allclose(again.predict(train)["score"], predicted["score"], 1e-5)


def write_voc(draw, root):
    """Four noisy pictures with a bright box each."""
    for name in ("Annotations", "JPEGImages", "ImageSets/Main"):
        (root / name).mkdir(parents=True)
    for i in range(4):
        x, y = draw.randint(5, 60, 2)
        pixels = (draw.rand(160, 200, 3) * 100).astype("uint8")
        pixels[y : y + 60, x : x + 70] = 230
        Image.fromarray(pixels).save(root / "JPEGImages" / f"{i}.jpg", "png")
        (root / "Annotations" / f"{i}.xml").write_text(
            f"<annotation><filename>{i}.jpg</filename>"
            "<size><width>200</width><height>160</height></size>"
            f"<object><name>{'dog' if i % 2 else 'cat'}</name><difficult>0</difficult><bndbox>"
            f"<xmin>{x}</xmin><ymin>{y}</ymin><xmax>{x + 70}</xmax><ymax>{y + 60}</ymax>"
            "</bndbox></object></annotation>"
        )
    (root / "ImageSets" / "Main" / "trainval.txt").write_text("0\n1\n2\n3\n")


DETECTORS = {
    "SSD": ("ssd", "ssd_512_mobilenet1.0_voc", 512),
    "YOLOv3": ("yolo3", "yolo3_mobilenet1.0_voc", 320),
    "CenterNet": ("center_net", "center_net_resnet18_v1b_voc", 128),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTORS)
def test_detection(mx, gluoncv, auto, draw, tmp_path, monkeypatch, name):
    estimators, data = auto
    part, net, size = DETECTORS[name]
    kind = getattr(estimators, f"{name}Estimator")

    def untrained(net, **options):
        """In place of a net with parameters that are downloaded."""
        options |= {"pretrained": False, "pretrained_base": False}
        made = gluoncv.model_zoo.get_model(net, **options)
        made.initialize()
        made(mx.nd.zeros((1, 3, size, size)))
        return made

    monkeypatch.setattr(sys.modules[kind.__module__], "get_model", untrained)
    write_voc(draw, tmp_path / "voc")
    pictures = data.ObjectDetectionDataset.from_voc(str(tmp_path / "voc"), splits="trainval")
    options = {
        part: {"transfer": net, "data_shape": (size, size) if part == "center_net" else size},
        "train": {"epochs": 1, "batch_size": 2, "lr": 1e-4},
        "valid": {"batch_size": 2},
        "gpus": (),
    }
    if part == "center_net":
        options["train"]["num_workers"] = options["valid"]["num_workers"] = 0
    else:
        options["num_workers"] = 0
    estimator = kind(options)
    found = estimator.fit(pictures, pictures)
    assert 0 <= found["valid_map"] <= 1
    names, values = estimator.evaluate(pictures)
    assert set(names) == {"cat", "dog", "mAP"} and all(0 <= v <= 1 for v in values)
    predicted = estimator.predict(pictures.iloc[0]["image"])
    assert set(predicted["predict_class"]) <= {"cat", "dog"}
