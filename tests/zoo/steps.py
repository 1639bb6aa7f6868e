"""The steps that each model goes through, and what each says."""

import json
import re
import time
import traceback
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from .losses import flat, step
from .models import model

TOLERANCE = 1e-4  # of the greatest value of an output
DETECTORS = ("ssd", "yolo", "center_net", "rcnn")


def inputs_of(mx, shapes):
    """The same on both engines."""
    draw = np.random.default_rng(7)
    return [mx.nd.array(draw.uniform(-1, 1, shape).astype("float32")) for shape in shapes]


@contextmanager
def without_network(mx, gluoncv, folder):
    """Give a file of random parameters for each that would be downloaded.

    Some models pass on neither pretrained=False nor pretrained_base=False to what they are made of.
    """
    store = gluoncv.model_zoo.model_store
    download = store.get_model_file

    def random_parameters(name, **_):
        if name == "vgg16_atrous":  # no model of the list
            net = gluoncv.model_zoo.vgg16_atrous_300(pretrained=False)
        else:
            net = gluoncv.model_zoo.get_model(name, pretrained=False)
        net.initialize(mx.init.Xavier(), force_reinit=True)
        net(*inputs_of(mx, model(name, small=True).shapes))  # tells the shapes not known yet
        kept = {k: p.data() for k, p in net._collect_params_with_prefix().items()}
        path = str(Path(folder, f"base-{name}.params"))
        mx.nd.save(path, {k: v for k, v in kept.items() if not k.startswith("extras.")})
        return path

    store.get_model_file = random_parameters
    try:
        yield
    finally:
        store.get_model_file = download


def made(mx, gluoncv, found, folder):
    """A model with random parameters."""
    make = partial(gluoncv.model_zoo.get_model, found.name)
    with without_network(mx, gluoncv, folder):
        try:
            net = make(**found.arguments)
        except (TypeError, ValueError, Warning, mx.base.MXNetError):  # of pretrained_base=False
            net = make(**{k: v for k, v in found.arguments.items() if k != "pretrained_base"})
    if found.small and found.kind == "rcnn":  # by the boxes that are proposed, and that get a mask
        net._rpn_test_post_nms = net.rpn._test_post_nms = net._rcnn_max_dets = 16
    mx.random.seed(3)
    np.random.seed(3)
    net.initialize(drawn(mx), force_reinit=True)
    return net


def drawn(mx):
    """An initializer for all parameters: graphs in nets say nothing of theirs."""

    class Drawn(mx.init.Xavier):
        def _init_weight(self, name, array):
            if array.ndim > 1:
                super()._init_weight(name, array)
            else:
                array[:] = name.endswith(("gamma", "running_var", "moving_var"))

    return Drawn(magnitude=2)


def calibrate(mx, net, inputs, folder):
    """Weights with which what a quantized net computes fills the ranges that its file has.

    Its file has the ranges that its trained weights had; with others most integers would be 0.
    """
    net(*inputs)  # tells the shapes that are not known yet
    net.export(str(Path(folder, "int8")))
    nodes = json.loads(Path(folder, "int8-symbol.json").read_text())["nodes"]
    parameters, ranges = net.collect_params(), {}
    for i, node in enumerate(nodes):
        attrs, sources = node.get("attrs", {}), [at[0] for at in node["inputs"]]
        ends = [float(attrs.get(f"{end}_calib_range", 0)) for end in ("min", "max")]
        before = [ranges[at] for at in sources if at in ranges]
        ranges[i] = max(map(abs, ends)) or max(before, default=1.0)
        if node["op"] != "_sg_mkldnn_conv":
            continue
        weight = parameters[nodes[sources[1]]["name"]]
        spread = 1.5 * ranges[i] / ranges[sources[0]] / np.prod(weight.shape[1:]) ** 0.5
        weight.set_data(mx.nd.array(np.random.normal(0, spread, weight.shape)))


def settle(mx, net, inputs):
    """Set the moving statistics by one pass, else values vanish or explode in the layers."""
    norms = []
    net.apply(lambda block: norms.append(block) if hasattr(block, "running_var") else None)
    before = [norm._kwargs["momentum"] for norm in norms]
    for norm in norms:
        norm._kwargs["momentum"] = 0.01
    with mx.autograd.train_mode():
        y = flat(getattr(net, "features", net)(*inputs) if hasattr(net, "rpn") else net(*inputs))
    mx.nd.waitall()
    if hasattr(net, "class_predictors"):  # scores that are all 1 have no order
        scores = y[0].asnumpy()
        most = min(3 / scores.std(), 8 / np.abs(scores).max())
        for weight in net.class_predictors.collect_params(".*weight").values():
            weight.set_data(weight.data() * min(1.0, float(most)))
    for norm, momentum in zip(norms, before):
        norm._kwargs["momentum"] = momentum


def difference(ours, theirs):
    """The greatest difference, relative to the greatest value; by arrays, in their order."""
    if [y.shape for y in ours] != [y.shape for y in theirs]:
        shapes = [y.shape for y in ours], [y.shape for y in theirs]
        raise ValueError(f"the shapes are {shapes[0]}, and MXNet's {shapes[1]}")
    worst = 0.0
    for one, other in zip(ours, theirs):
        scale = np.abs(other).max(initial=0)
        if not np.isfinite(other).all():
            raise ValueError("MXNet's output is not finite")
        apart = np.abs(one - other).max(initial=0)
        worst = max(worst, float(apart / scale) if scale else float(apart))
    return worst


def paired(ours, theirs):
    """Our boxes in the order of MXNet's, and how many moved: where scores are equal, any will do.

    The outputs are of boxes on axis 1, their scores the second; scores are equal within
    `TOLERANCE`. A box of MXNet's takes the one of ours that is nearest in all outputs.
    """
    scales = [max(np.abs(y).max(initial=0), 1e-9) for y in theirs]
    rows = [
        np.concatenate([(y / s).reshape(y.shape[1], -1) for y, s in zip(outputs, scales)], 1)
        for outputs in (ours, theirs)
    ]
    scores = [outputs[1].reshape(-1) / scales[1] for outputs in (ours, theirs)]
    if np.abs(scores[0] - scores[1]).max(initial=0) > TOLERANCE:
        return ours, 0
    order, free = [], np.ones(len(rows[0]), bool)
    for row, score in zip(rows[1], scores[1]):
        may = np.flatnonzero(free & (np.abs(scores[0] - score) <= TOLERANCE))
        if not len(may):
            return ours, 0
        order.append(may[np.abs(rows[0][may] - row).max(1).argmin()])
        free[order[-1]] = False
    moved = sum(i != at for at, i in enumerate(order))
    return [y[:, order] for y in ours], moved


def alike(ours, theirs, kind):
    """Text about arrays that must be equal within `TOLERANCE`; ValueError where they are not."""
    apart, moved = difference(ours, theirs), 0
    if apart > TOLERANCE and kind in DETECTORS:
        ours, moved = paired(ours, theirs)
        apart = difference(ours, theirs)
    if not apart <= TOLERANCE:
        pairs = [(np.abs(a - b), np.abs(b).max()) for a, b in zip(ours, theirs)]
        count = sum(int((d > TOLERANCE * most).sum()) for d, most in pairs)
        numbers = sum(y.size for y in theirs)
        raise ValueError(f"apart by {apart:.1e}, {count} of {numbers} numbers")
    return f"{apart:.0e}" + f", {moved} boxes of equal scores in another order" * bool(moved)


class Run:
    """One model on one engine, with a folder where MXNet leaves its parameters and outputs."""

    def __init__(self, mx, gluoncv, name, folder, small, writes, outputs_only=False):
        self.mx, self.gluoncv, self.writes = mx, gluoncv, writes
        self.outputs_only = outputs_only
        self.found = model(name, small)
        self.folder, self.alike = folder, partial(alike, kind=self.found.kind)
        self.stem = str(Path(folder, re.sub(r"\W", "_", name)))

    def outputs(self, net):
        with self.mx.autograd.predict_mode():
            return [y.asnumpy() for y in flat(net(*self.inputs))]

    def make(self):
        self.net = made(self.mx, self.gluoncv, self.found, self.folder)
        self.inputs = inputs_of(self.mx, self.found.shapes)
        if self.found.kind == "int8":
            calibrate(self.mx, self.net, self.inputs, self.folder)
        elif self.writes:
            settle(self.mx, self.net, self.inputs)

    def forward(self):
        self.first = self.outputs(self.net)
        for y in self.first:
            if not np.isfinite(y).all():
                raise ValueError("an output is not finite")

    def as_mxnet(self):
        """MXNet writes what it has; the other engine reads that and does the same."""
        if self.writes:
            self.net.save_parameters(f"{self.stem}.params")
            np.savez(f"{self.stem}.npz", *self.first)
            return "written"
        if not Path(f"{self.stem}.npz").exists():
            return ""
        self.net.load_parameters(f"{self.stem}.params")
        self.first = self.outputs(self.net)
        with np.load(f"{self.stem}.npz") as theirs:
            return self.alike(self.first, [theirs[k] for k in theirs.files])

    def hybridize(self):
        self.net.hybridize()
        return self.alike(self.outputs(self.net), self.first)

    def export(self):
        """The graph and its parameters as files, and the net that they make."""
        self.net.export(f"{self.stem}-export")
        paths = f"{self.stem}-export-symbol.json", f"{self.stem}-export-0000.params"
        names = ["data"] if len(self.inputs) == 1 else ["data0", "data1"]
        again = self.mx.gluon.SymbolBlock.imports(paths[0], names, paths[1])
        for path in paths:
            Path(path).unlink()
        return self.alike(self.outputs(again), self.first)

    def train(self):
        if self.found.kind == "int8":
            return "not trained"
        self.net.hybridize(active=False)
        value, reached = step(self.mx, self.gluoncv, self.found.kind, self.net, self.inputs)
        return f"{value:.4g}, {reached}"

    def __call__(self):
        """What came of each step: text, or the error in it."""
        steps = (self.make, self.forward, self.as_mxnet, self.hybridize, self.export, self.train)
        told = {"name": self.found.name, "kind": self.found.kind}
        start = time.time()
        for each in steps:
            name = each.__name__
            if self.outputs_only and name in ("hybridize", "export", "train"):
                told[name] = "not run"
                continue
            try:
                told[name] = each() or "yes"
            except Exception as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}:{last.lineno}"
                told[name] = f"no: {type(error).__name__}: {str(error)[:300]} ({place})"
                if name in ("make", "forward"):
                    break
        return told | {"seconds": round(time.time() - start, 1)}
