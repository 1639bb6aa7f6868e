"""Custom operators: what runs them, eagerly and as nodes of a graph.

`custom` is `nd.Custom`, `node` is `sym.Custom`. Both ask `registered.define` for the `Definition`
of an `op_type` with its attributes: names, shapes and types, and `prepare`, which gives a
`CustomCall`. It is that of a `CustomOpProp` (`prop`), or of an `Operator` of `layers.ops`
(`registered`). An `Operator` that is called by itself comes to the same `CustomCall` by its
`adapter`. `call.call` runs it on PyTorch's autograd, as it does an `autograd.Function`
(`function`).
"""
