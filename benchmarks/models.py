"""Suites of whole models: those of Gluon's model zoo, and of GluonCV; and of their updates."""

from __future__ import annotations

from .suite import MXNET, MXNET_1, OURS, Case, Contestant, Suite

TORCHVISION = [
    Contestant("torchvision, eager", OURS, "pytorch", "eager"),
    Contestant("torchvision, torch.compile", OURS, "pytorch", "compiled"),
]
EAGER, PLAIN = (
    Contestant(f"layers.mxnet, {run}", OURS, "gluon", run) for run in ("eager", "plain")
)
GRAPHS = [
    Contestant("layers.mxnet, recorded", OURS, "gluon", "recorded"),
    Contestant("layers.mxnet, compiled", OURS, "gluon", "compiled"),
    Contestant("MXNet, hybridized", MXNET, "gluon", "recorded"),
    Contestant("MXNet, hybridized, 1 thread", MXNET_1, "gluon", "recorded"),
]

ZOO_INFERENCE, ZOO_TRAINING = (
    Suite(
        f"zoo-{name}",
        "zoo",
        f"Nets of the model zoo, {name}",
        [*TORCHVISION, EAGER, PLAIN, *GRAPHS],
        [
            Case(
                f"{net}, 3 x 96 x 96, batch 8",
                {"net": net, "size": 96, "batch": 8, "training": training},
            )
            for net in ("resnet50_v1", "mobilenet_v2_1_0")
        ],
        2e-2,  # a GPU's convolutions are in TensorFloat-32
        compiles=True,
    )
    for name, training in (("inference", False), ("training", True))
)

OPTIMIZERS = Suite(
    "optimizers",
    "optimizers",
    "One update of 200 parameters",
    [
        Contestant("PyTorch, foreach", OURS, "pytorch", ""),
        Contestant("layers.mxnet", OURS, "gluon", ""),
        Contestant("MXNet", MXNET, "gluon", ""),
        Contestant("MXNet, 1 thread", MXNET_1, "gluon", ""),
    ],
    [
        Case(
            f"{title}, {shape[0]} x {shape[1]}",
            {"name": name, "options": options, "count": 200, "shape": shape},
        )
        for title, name, options in (
            ("SGD with momentum", "sgd", {"momentum": 0.9}),
            ("Adam", "adam", {}),
            ("RMSProp", "rmsprop", {}),
            ("AdaGrad", "adagrad", {}),
        )
        for shape in ((8, 8), (128, 128))
    ],
    1e-2,  # RMSProp's epsilon is inside of the root in MXNet
)

NO_BASE = {"pretrained_base": False}

GLUONCV = Suite(
    "gluoncv",
    "gluoncv",
    "Models of GluonCV",
    [EAGER, *GRAPHS, *TORCHVISION],
    [
        Case(
            f"{title}, 3 x {size} x {size}, {kind}, batch {batch}",
            {
                "net": net,
                "size": size,
                "batch": batch,
                "training": kind == "training",
                "options": options,
            },
        )
        for title, net, size, options in (
            ("ResNet-50 v1b", "resnet50_v1b", 96, {}),
            ("MobileNetV3", "mobilenetv3_large", 96, {}),
            ("SSD-512", "ssd_512_resnet50_v1_voc", 256, NO_BASE),
            ("DeepLab", "deeplab_resnet50_ade", 96, NO_BASE | {"crop_size": 96}),
        )
        for kind, batch in (
            ("inference", 1),
            ("inference", 8),
            ("training", 4),
        )
    ],
    2e-2,
    compiles=True,
    most_rounds=5,
)
