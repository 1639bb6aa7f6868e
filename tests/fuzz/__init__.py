"""A differential fuzzer: `layers.mxnet` beside MXNet 1.9.1, which runs in another process."""
