"""Custom operators: what runs them, eagerly and as nodes of a graph.

`custom` is `nd.Custom`, `node` is `sym.Custom`. Both ask `registered.define` for the `Definition`
of an `op_type` with its attributes: names, shapes and types, and `prepare`, which gives a `Call`.
There are two kinds: of a `CustomOpProp` (`prop`), and of an `Operator` of `layers.ops`
(`registered`). An `Operator` that is called by itself comes to the same `Call` by its `adapter`.
`call.call` runs it on PyTorch's autograd, as it does an `autograd.Function` (`function`).
"""
