"""Words: counted, numbered, and as vectors from files."""

from ..._old import missing
from . import embedding, utils, vocab

missing.watch(globals())
