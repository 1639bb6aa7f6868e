"""Networks for images, of ImageNet's 1000 classes; `get_model` makes one by its name.

Each function of this module takes

pretrained : bool
    Load trained weights, which have to be in `root`; see `model_store.get_model_file`.
ctx : Context or list of Context
    Where to load them, cpu() by default.
root : path
    The folder of weights.
**kwargs
    What its class takes, such as ``classes``.

Their networks have `features`, all but the last layer, and `output`.

Inputs: images (n, 3, 224, 224), (n, 3, 299, 299) for `inception_v3`. Outputs: (n, classes).
"""

from __future__ import annotations

from ....base import ArgumentError
from .alexnet import *
from .alexnet import __all__ as _alexnet
from .densenet import *
from .densenet import __all__ as _densenet
from .inception import *
from .inception import __all__ as _inception
from .mobilenet import *
from .mobilenet import __all__ as _mobilenet
from .resnet import *
from .resnet import __all__ as _resnet
from .squeezenet import *
from .squeezenet import __all__ as _squeezenet
from .vgg import *
from .vgg import __all__ as _vgg

__all__ = [
    "get_model",
    *_alexnet,
    *_densenet,
    *_inception,
    *_mobilenet,
    *_resnet,
    *_squeezenet,
    *_vgg,
]

_NAMES = {
    **{
        f"resnet{depth}_v{version}": f"resnet{depth}_v{version}"
        for version in (1, 2)
        for depth in (18, 34, 50, 101, 152)
    },
    **{f"vgg{depth}{bn}": f"vgg{depth}{bn}" for depth in (11, 13, 16, 19) for bn in ("", "_bn")},
    "alexnet": "alexnet",
    **{f"densenet{depth}": f"densenet{depth}" for depth in (121, 161, 169, 201)},
    "squeezenet1.0": "squeezenet1_0",
    "squeezenet1.1": "squeezenet1_1",
    "inceptionv3": "inception_v3",
    **{f"mobilenet{m}": f"mobilenet{m.replace('.', '_')}" for m in ("1.0", "0.75", "0.5", "0.25")},
    **{
        f"mobilenetv2_{m}": f"mobilenet_v2_{m.replace('.', '_')}"
        for m in ("1.0", "0.75", "0.5", "0.25")
    },
}


def get_model(name: str, **kwargs):
    """A network by its name.

    Parameters
    ----------
    name : str
        Such as 'resnet18_v1', 'squeezenet1.0' or 'mobilenetv2_0.25'.
    **kwargs
        As for the function of that name.

    Raises
    ------
    ArgumentError
        There is no such network; the message lists them.
    """
    key = name.lower()
    if key not in _NAMES:
        listed = "\n\t".join(sorted(_NAMES))
        raise ArgumentError(f"Model {name} is not supported. Available options are\n\t{listed}")
    return globals()[_NAMES[key]](**kwargs)
