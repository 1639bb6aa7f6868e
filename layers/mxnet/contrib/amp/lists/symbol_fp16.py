"""The operators that compute in float16, in float32, in either, or in the widest dtype."""

from ...._old import missing
from ._lists import CONDITIONAL_FP32_FUNCS as CONDITIONAL_FP32_FUNCS
from ._lists import read

_lists = read("symbol_fp16")
FP16_FUNCS = _lists["FP16_FUNCS"]
FP16_FP32_FUNCS = _lists["FP16_FP32_FUNCS"]
FP32_FUNCS = _lists["FP32_FUNCS"]
WIDEST_TYPE_CASTS = _lists["WIDEST_TYPE_CASTS"]
LOSS_OUTPUT_FUNCTIONS = _lists["LOSS_OUTPUT_FUNCTIONS"]

missing.watch(globals())
