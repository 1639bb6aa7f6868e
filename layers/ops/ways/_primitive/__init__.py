"""Parts of `layers.ops.ways.primitive`: the code of an operator, and its declared outputs."""
