"""Which operators compute in 16 bits, and which in float32."""

from ...._old import missing
from . import symbol_bf16, symbol_fp16

missing.watch(globals())
