"""Classifiers of GluonCV's model zoo as networks to train: ``--net gluoncv:NAME``."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from layers import DenseBlock, LinearCrossEntropyLoss, engine
from layers._errors import did_you_mean
from layers.engine import gluon, mx, nd
from layers.ops import dense
from layers.surgery import replace

from . import Refused
from .config import Config
from .gluoncv_package import gluoncv, quiet
from .screen import one_line, say
from .tensors import read_tensors

__all__ = ["Features", "FusedLossAndAccuracy", "Head", "head_of", "made_by_gluoncv", "wanted"]

# The names of the zoo that are no classifiers of images.
OTHERS = (
    r"siamrpn|monodepth2|_pose_|ssd_|yolo|center_net|rcnn|fastscnn|^(fcn|psp|deeplab|danet|icnet)_|"
    r"hrnet.*_s$|_int8$|kinetics|ucf101|hmdb51|sthsthv2|_custom$|^(c3d|p3d|r2plus1d|i3d|slowfast)_"
)
LISTED = 5  # names in a message
# What a run's file has besides those of the net: the scaling, and the blocks around the net.
SCALING = r"[02]\.(mean|std)|.*(standardize|rescale)\d+_(mean|std)"
AROUND = r"1\.1\.[01]\."  # in the scaling, after `Images`, and after `InColours` if there


class Head(DenseBlock):
    """The last layer; with `skipped` it gives its inputs, of which the loss computes the scores."""

    skipped = False

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Inside the `with` statement it gives its inputs."""
        self.skipped = True
        try:
            yield
        finally:
            self.skipped = False

    def hybrid_forward(self, F, x, weight, bias=None, weight_scale=None, input_scale=None):
        if self.skipped:
            return F.flatten(x)
        return super().hybrid_forward(F, x, weight, bias, weight_scale, input_scale)


class Features(gluon.HybridBlock):
    """A network without its last layer: what `FusedLossAndAccuracy` takes.

    Inputs:
        - **x**: (n, features)
    Outputs:
        - **y**: (n, units) of the last layer's inputs
    """

    def __init__(self, net, head: Head, **kwargs):
        super().__init__(**kwargs)
        self.net, self.skipping = net, head.skipping  # the head is a part of the net already
        self.unused = {*head.collect_params()}

    def collect_params(self, select=None):
        """Without the last layer's, which a graph of this block does not have."""
        every = super().collect_params(select)
        found = gluon.ParameterDict(every.prefix)
        found.update({name: p for name, p in every.items() if name not in self.unused})
        return found

    def hybrid_forward(self, F, x):
        with self.skipping():
            return self.net(x)


class FusedLossAndAccuracy(gluon.HybridBlock):
    """The last layer and the loss in one, and 1 where the highest score is the label's: (n, 2).

    The loss is `layers.ops.linear_cross_entropy`; the scores that the metric is of have no
    gradient, and are not kept.
    """

    def __init__(self, head: Head, **kwargs):
        super().__init__(**kwargs)
        channels, in_channels = head.weight.shape
        initial: Any = head.bias.init if hasattr(head, "bias") else "zeros"
        with self.name_scope():
            self.loss = LinearCrossEntropyLoss(
                in_channels,
                channels,
                bias=hasattr(head, "bias"),
                weight_initializer=head.weight.init,
                bias_initializer=initial,
                params=head.params,
            )
            self.scores = Scores(head)

    def hybrid_forward(self, F, x, label):
        right = F.BlockGrad(F.argmax(self.scores(F.BlockGrad(x)), axis=1) == label)
        return F.stack(self.loss(x, label), right, axis=1)


class Scores(gluon.HybridBlock):
    """x wᵀ + b with the Parameters of a last layer, which get no gradient by it."""

    def __init__(self, head: Head, **kwargs):
        super().__init__(params=head.params, **kwargs)
        self.weight = head.weight
        if hasattr(head, "bias"):
            self.bias = head.bias

    def hybrid_forward(self, F, x, weight, bias=None):
        return dense(x, F.BlockGrad(weight), None if bias is None else F.BlockGrad(bias))


def head_of(net) -> Head | None:
    """Return the last layer of a network that was made here."""
    if isinstance(net, Head):
        return net
    found = (head_of(child) for child in net._children.values())
    return next(filter(None, found), None)


def wanted(name: str) -> int:
    """Height and width of the images that a net of this name was made for."""
    if name.startswith("cifar"):
        return 32
    if re.search("inceptionv3|xception", name):
        return 299
    return 331 if re.search("nasnet_[567]", name) else 224


def made_by_gluoncv(options: Config, image: tuple[int, ...] | None, outputs: int):
    """Return the net of a name, with this number of outputs and a `Head` as its last layer.

    Returns
    -------
    HybridBlock
        (n, 3, height, width) to (n, outputs); gray images are taken in three equal colours. Its
        parameters await their first call, or are those of ``--pretrained``.

    Raises
    ------
    Refused
        GluonCV is absent or has no such classifier, samples are no images, or a file of parameters
        does not fit.
    """
    option, name = f"--net {options.net}", options.net.partition(":")[2]
    if image is None:
        raise Refused(f"{option}: it takes images; for tables there is --net mlp")
    zoo = gluoncv(option).model_zoo
    check_name(option, name, zoo.get_model_list())
    try:
        with quiet():
            net = zoo.get_model(name, pretrained=False, classes=outputs)
    except Exception as error:
        raise Refused(f"{option}: {type(error).__name__}: {one_line(error)}") from error
    if not isinstance(net, gluon.HybridBlock):
        raise Refused(f"{option}: it is a {type(net).__name__}; expected a HybridBlock")
    net.initialize(mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2))
    last = last_layer(net)
    is_dense = type(last) is gluon.nn.Dense and last.weight.shape[0] == outputs
    if options.pretrained:
        load(net, Path(os.path.expanduser(options.pretrained)), options, last)
    if not is_dense:
        if options.head == "fused":
            raise Refused(f"--head fused: the last layer of {name} is no Dense; expected dense")
        say(f"{options.net}: its last layer is no Dense, and stays as it is", sys.stdout)
    else:
        replace(net, gluon.nn.Dense, lambda old: Head.of(old) if old is last else None)
    found = gluon.nn.HybridSequential()
    with found.name_scope():
        if image[0] == 1:
            found.add(InColours())
        found.add(net)
    return found


class InColours(gluon.HybridBlock):
    """Gray images in three colours that are equal: (n, 1, h, w) to (n, 3, h, w)."""

    def hybrid_forward(self, F, x):
        return F.concat(x, x, x, dim=1)


def check_name(option: str, name: str, names: list[str]) -> None:
    """Refuse what the zoo does not have, and what does not classify images.

    Raises
    ------
    Refused
        The message has names that are like it.
    """
    known = [each for each in names if not re.search(OTHERS, each)]
    if name.lower() in known:
        return
    if name.lower() in names:
        raise Refused(f"{option}: it does not classify images; expected a classifier of the zoo")
    near = did_you_mean(name.lower(), known).strip()
    start = re.sub("[^a-z].*", "", name.lower())
    alike = [each for each in known if start and each.startswith(start)][:LISTED]
    listed = f"expected one of {len(known)}, such as {', '.join(alike or known[:LISTED])}"
    raise Refused(f"{option}: GluonCV has no such model; {near + '; ' if near else ''}{listed}")


def blocks(net) -> Iterator:
    """Return all blocks inside a net."""
    for child in net._children.values():
        yield child
        yield from blocks(child)


def last_layer(net):
    """Return the last block inside a net that has parameters of its own."""
    return [block for block in blocks(net) if block._reg_params][-1]


def load(net, path: Path, options: Config, last) -> None:
    """Give a net the parameters of a file; the layer `last` keeps its own if its size differs.

    Raises
    ------
    Refused
        The file cannot be read, or is of another net; the message has what does not fit.
    """
    option = f"--pretrained {options.pretrained}"
    if not path.is_file():
        raise Refused(f"{option}: there is no such file")
    try:
        if path.suffix == ".safetensors":  # which MXNet does not read
            arrays = {name: nd.array(a, dtype=a.dtype) for name, a in read_tensors(path).items()}
        elif path.suffix in (".pt", ".pth", ".bin") and (files := engine.exchange()):
            arrays = files.read_state_dict(path)
        else:
            arrays = nd.load(str(path))
    except Exception as error:
        raise Refused(f"{option}: it is no file of parameters: {one_line(error)}") from error
    if not isinstance(arrays, dict) or not arrays:
        raise Refused(f"{option}: its arrays have no names; expected those of save_parameters")
    arrays = {name.removeprefix("arg:").removeprefix("aux:"): a for name, a in arrays.items()}
    arrays = with_names_of_gluon(of_the_net(arrays))
    parameters = net._collect_params_with_prefix()
    if not any("." in name for name in arrays):  # the names of an exported graph
        parameters = {p.name.removeprefix(net.prefix): p for p in parameters.values()}
        common = os.path.commonprefix(list(arrays))
        common = common[: common.rfind("_") + 1]
        arrays = {name.removeprefix(common): array for name, array in arrays.items()}
    missing, extra = sorted({*parameters} - {*arrays}), sorted({*arrays} - {*parameters})
    if missing or extra:
        said = [f"it has no {first_two(missing)}"] * bool(missing)
        said += [f"{options.net} has no {first_two(extra)}"] * bool(extra)
        raise Refused(f"{option}: it is of another net: {'; '.join(said)}")
    for name, parameter in parameters.items():
        shape, given = parameter.shape, arrays[name].shape
        fits = len(shape) == len(given) and all(s in (0, g) for s, g in zip(shape, given))
        if fits:
            parameter.shape = given
            parameter.set_data(arrays[name].astype(parameter.dtype))
        elif not any(parameter is own for own in last._reg_params.values()):
            raise Refused(f"{option}: {name} is {given}; expected {shape} of {options.net}")


def of_the_net(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of a run by the names of its net; those of other files as they are."""
    rest = {name: a for name, a in arrays.items() if not re.fullmatch(SCALING, name)}
    if len(rest) == len(arrays):
        return arrays
    return {re.sub(f"^{AROUND}", "", name): array for name, array in rest.items()}


def with_names_of_gluon(arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays with PyTorch's names of batch norms renamed; they are all that differ in ResNets.

    A batch norm is what has a `running_mean`. Its count of batches is left out.
    """
    names = {}
    for name in arrays:
        if name.endswith("running_mean"):
            norm = name.removesuffix("running_mean")
            names |= {f"{norm}weight": f"{norm}gamma", f"{norm}bias": f"{norm}beta"}
    kept = (name for name in arrays if not name.endswith("num_batches_tracked"))
    return {names.get(name, name): arrays[name] for name in kept}


def first_two(names: list[str]) -> str:
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(names[:2]) + more
