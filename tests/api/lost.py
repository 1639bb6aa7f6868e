"""MXNet's own unit tests that pass on MXNet and cannot pass here: by file, the reason for each."""

from __future__ import annotations

from collections.abc import Iterator

NUMPY = "arrays of `mx.np`, which is absent"
INTEGERS = "gradients of integers: here only floating-point arrays have them"
LATE = "an error that is expected at `wait_to_read`, `waitall` or `asnumpy`, and not at the call"

LOST = {
    "test_exc_handling.py": dict.fromkeys(
        ["test_exc_gluon", "test_exc_imperative", "test_exc_post_fail"], LATE
    ),
    "test_gluon.py": {
        "test_hybrid_block_none_args": (
            "one structure of a hybridized block's inputs for ever: here each has a graph"
        ),
        "test_split_data_np": NUMPY,
    },
    "test_gluon_utils.py": {"all": "files from the network"},
    "test_higher_order_grad.py": {
        "test_arcsinh": "the second derivative of `arcsinh` with MXNet's sign, which is wrong",
    },
    "test_ndarray.py": {
        "test_ndarray_indexing": INTEGERS,
        "test_ndarray_nan_comparison": (
            "NaN as the gradient of `relu` at NaN: here 1, and to look for NaN would cost every net"
        ),
    },
    "test_operator.py": {
        "test_cast": INTEGERS,
        "test_custom_op_exc": (
            "MXNetError for what an own operator raises: here it is that very exception"
        ),
        "test_dropout": "NaN from `Dropout` with p=1: here it is 0",
        "test_layer_norm": (
            "four digits of sums over 4,096 rows in float32, which PyTorch's kernel misses by a bit"
        ),
        "test_take": LATE,
    },
    "test_symbol.py": {
        "test_zero_prop2": "that a gradient through `batch_take` is refused: here it has one",
    },
    "test_thread_local.py": {"test_np_global_shape": NUMPY},
}


def rows() -> Iterator[str]:
    """The rows of a table: a file, its tests of one reason, and the reason."""
    for file, tests in sorted(LOST.items()):
        for why in dict.fromkeys(tests.values()):
            shown = [name for name in tests if tests[name] == why]
            names = ", ".join(name if name == "all" else f"`{name}`" for name in shown)
            yield f"| `{file}` | {names} | {why} |\n"
