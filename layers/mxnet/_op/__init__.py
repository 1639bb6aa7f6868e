"""Users' operators: the `op` of their nodes, and their calls.

`registered.find` returns the `UserOp` of an `op_type`: a `PropOp` for a `CustomOpProp` with its
attributes, an `OperatorOp` for an `Operator` of `layers.ops`. `nd.Custom` (`custom`), graphs and
files ask it for names, shapes and types, as they ask the rows of the table. Its `prepare` gives a
`CustomCall`, which `call.call` runs on PyTorch's autograd, as it does an `autograd.Function`
(`function`).
"""
