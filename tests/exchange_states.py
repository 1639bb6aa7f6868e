"""States of optimizers that two processes pass to each other; `mx` is MXNet or layers.mxnet."""

from pathlib import Path

import numpy as np

SCHEDULERS = {
    "factor": lambda mx: mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.1),
    "multi": lambda mx: mx.lr_scheduler.MultiFactorScheduler([1, 3], 0.5, base_lr=0.1),
    "poly": lambda mx: mx.lr_scheduler.PolyScheduler(9, 0.1),
    "cosine": lambda mx: mx.lr_scheduler.CosineScheduler(9, 0.1, warmup_steps=2),
}
TRAINERS = {
    "sgd": ("sgd", {}),
    "momentum": ("sgd", {"momentum": 0.9, "wd": 0.1, "clip_gradient": 0.5}),
    "float16": ("sgd", {"momentum": 0.9, "multi_precision": True}),
    "float32 number": ("sgd", {"momentum": np.float32(0.5), "learning_rate": np.float64(0.5)}),
    **{kind: ("adam", {"lr_scheduler": kind}) for kind in SCHEDULERS},
    "adam16": ("adam", {"multi_precision": True}),
    "signum16": ("signum", {"multi_precision": True}),
    "dcasgd": ("dcasgd", {}),
    "centered": ("rmsprop", {"centered": True}),
    "lars": ("lars", {"momentum": 0.9}),
    **{
        name: (name, {})
        for name in (
            "nag", "signum", "adam", "adamax", "nadam", "adagrad", "adadelta", "rmsprop", "ftrl",
            "ftml", "lamb", "lbsgd", "groupadagrad", "ccsgd",
        )
    },
}  # fmt: skip
SPARSE = {"sgd": {"momentum": 0.9}, "adam": {}, "adagrad": {}}  # with row_sparse weights
MODULES = {"one": ("local", 1), "two": ("device", 2)}


def _trainer(mx, name, values):
    """A Trainer of two parameters, on one context or two, and what makes a step."""
    optimizer, settings = TRAINERS[name]
    settings = dict(settings)
    if "lr_scheduler" in settings:
        settings["lr_scheduler"] = SCHEDULERS[settings["lr_scheduler"]](mx)
    contexts = [mx.cpu(k) for k in range(2 if name in ("momentum", "adam") else 1)]
    dtype = "float16" if "multi_precision" in settings else "float32"
    parameters = []
    for k in range(2):
        parameter = mx.gluon.Parameter(f"{k}_weight", shape=(2, 3), dtype=dtype)
        value = 0.5 + k if values is None else mx.nd.array(values[k], dtype=dtype)
        parameter.initialize(mx.init.Constant(value), ctx=contexts)
        parameters.append(parameter)
    on_store = False if name == "momentum" else None
    trainer = mx.gluon.Trainer(parameters, optimizer, settings, update_on_kvstore=on_store)

    def step(t):
        rows = np.random.RandomState(t).normal(size=(2, 2, 3))
        with mx.autograd.record():
            losses = [
                (w * mx.nd.array(row, ctx=w.context, dtype=dtype)).sum()
                for p, row in zip(parameters, rows)
                for w in p.list_data()
            ]
        mx.autograd.backward(losses)
        trainer.step(2)
        return [p.data(contexts[0]).asnumpy() for p in parameters]

    return trainer, step


def _module(mx, name, values):
    """A Module, and what makes a step."""
    store, count = MODULES[name]
    y = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    y = mx.sym.SoftmaxOutput(y, name="softmax")
    module = mx.mod.Module(y, context=[mx.cpu(k) for k in range(count)])
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    given = {} if values is None else dict(zip(("fc_weight", "fc_bias"), map(mx.nd.array, values)))
    module.init_params(mx.init.One(), arg_params=given, allow_missing=True)
    settings = {"learning_rate": 0.1}
    module.init_optimizer(store, "rmsprop", settings)

    def step(t):
        x = mx.nd.array(np.random.RandomState(t).normal(size=(4, 3)))
        module.forward(mx.io.DataBatch([x], [mx.nd.array([0, 1, 0, 0])]))
        module.backward()
        module.update()
        found = module.get_params()[0]
        return [found[name].asnumpy() for name in ("fc_weight", "fc_bias")]

    return module, step


def _updater(mx, name, values):
    """An Updater of a row_sparse weight, what makes a step, and what saves and loads."""
    optimizer = mx.optimizer.create(name, learning_rate=0.1, **SPARSE[name])
    updater = mx.optimizer.get_updater(optimizer)
    given = np.ones((5, 3)) if values is None else values[0]
    weight = mx.nd.array(given).tostype("row_sparse")

    def step(t):
        values = np.random.RandomState(t).normal(size=(2, 3)).astype("float32")
        gradient = mx.nd.sparse.row_sparse_array((values, [t, 3]), shape=(5, 3))
        updater(0, gradient, weight)
        return [weight.asnumpy()]

    def save(path):
        Path(path).write_bytes(updater.get_states(dump_optimizer=True))

    return step, save, lambda path: updater.set_states(Path(path).read_bytes())


def _all(mx, values):
    """Each with the weights that it begins with: its name, and functions to step, save and load."""
    for name in TRAINERS:
        trainer, step = _trainer(mx, name, values.get(f"trainer {name}"))
        yield f"trainer {name}", step, trainer.save_states, trainer.load_states
    for name in MODULES:
        module, step = _module(mx, name, values.get(f"module {name}"))
        yield f"module {name}", step, module.save_optimizer_states, module.load_optimizer_states
    for name in SPARSE:
        yield f"sparse {name}", *_updater(mx, name, values.get(f"sparse {name}"))


def _file(folder, name):
    return str(Path(folder) / f"{name.replace(' ', '-')}.states")


def written(mx, folder):
    """Write the states after two steps; returns the weights then, and after a third step."""
    then, after = {}, {}
    for name, step, save, _ in _all(mx, {}):
        step(0)
        then[name] = step(1)
        save(_file(folder, name))
        after[name] = step(2)
    return then, after


def read(mx, folder, values):
    """The weights after a step from these weights, and the states of the other side."""
    after = {}
    for name, step, _, load in _all(mx, values):
        load(_file(folder, name))
        after[name] = step(2)
    return after


def keep(path, values):
    """Write lists of arrays by name."""
    rows = {f"{name}|{k}": x for name, xs in values.items() for k, x in enumerate(xs)}
    np.savez(path, **rows)


def kept(path):
    """What `keep` wrote."""
    found = {}
    with np.load(path) as rows:
        for key in rows.files:
            found.setdefault(key.split("|")[0], []).append(rows[key])
    return found
