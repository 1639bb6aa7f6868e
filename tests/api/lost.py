"""MXNet's own unit tests that pass on MXNet and cannot pass here: by file, the reason for each."""

from __future__ import annotations

from collections.abc import Iterator

SPARSE = "sparse arrays, which are not here yet"
NUMPY = "arrays of `mx.np`, which is absent"
LATE = "an error that is expected at `wait_to_read`, `waitall` or `asnumpy`, and not at the call"

LOST = {
    "test_autograd.py": dict.fromkeys(
        ["test_attach_grad", "test_sparse_dot_grad", "test_unary_func"], SPARSE
    ),
    "test_exc_handling.py": dict.fromkeys(
        ["test_exc_gluon", "test_exc_imperative", "test_exc_post_fail"], LATE
    ),
    "test_gluon.py": {
        "test_hybrid_block_none_args": (
            "one structure of a hybridized block's inputs for ever: here each has a graph"
        ),
        "test_sparse_parameter": SPARSE,
        "test_parameter_dict": SPARSE,
        "test_sparse_hybrid_block": SPARSE,
        "test_split_and_load": SPARSE,
        "test_split_data_np": NUMPY,
    },
    "test_gluon_trainer.py": dict.fromkeys(
        [
            "test_trainer_with_sparse_grad_on_single_context",
            "test_trainer_sparse_save_load",
            "test_trainer_multi_layer_init",
            "test_trainer_sparse_kv",
        ],
        SPARSE,
    ),
    "test_gluon_utils.py": {"all": "files from the network"},
    "test_init.py": {"test_rsp_const_init": SPARSE},
    "test_module.py": dict.fromkeys(
        ["test_executor_group", "test_factorization_machine_module", "test_module_initializer"],
        SPARSE,
    ),
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
