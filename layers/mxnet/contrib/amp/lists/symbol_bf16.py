"""The operators that compute in bfloat16, in float32, in either, or in the widest dtype."""

from ...._old import missing
from ._lists import CONDITIONAL_FP32_FUNCS as CONDITIONAL_FP32_FUNCS
from ._lists import read

_lists = read("symbol_bf16")
BF16_FUNCS = _lists["BF16_FUNCS"]
BF16_FP32_FUNCS = _lists["BF16_FP32_FUNCS"]
FP32_FUNCS = _lists["FP32_FUNCS"]
WIDEST_TYPE_CASTS = _lists["WIDEST_TYPE_CASTS"]
LOSS_OUTPUT_FUNCTIONS = _lists["LOSS_OUTPUT_FUNCTIONS"]
# Inputs that stay in float32 where the operator is told to compute in bfloat16.
BF16_USE_FP32_PARAMS = {
    name: ["", "gamma", "beta", "moving_mean", "moving_var"]
    for name in ("BatchNormWithReLU", "BatchNorm")
}

missing.watch(globals())
