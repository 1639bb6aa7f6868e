"""How often each word occurs in a text."""

from __future__ import annotations

import re
from collections import Counter

from ..._old import missing

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter | None = None,
) -> Counter:
    """How often each word is in a text.

    Parameters
    ----------
    source_str : str
    token_delim, seq_delim : str
        What is between words, and between sentences.
    to_lower : bool
        Whether the text is converted to lower case first.
    counter_to_update : Counter, optional
        It is counted on, and returned; by default a new one.
    """
    text = source_str.lower() if to_lower else source_str
    words = re.split(f"{re.escape(token_delim)}|{re.escape(seq_delim)}", text)
    found = Counter() if counter_to_update is None else counter_to_update
    found.update(filter(None, words))
    return found


missing.watch(globals())
