"""The number of each word of a text, and the word of each number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from numbers import Integral

from ..._old import missing
from ...base import ArgumentError

__all__ = ["Vocabulary"]


class Vocabulary:
    """The numbers of words: first of what stands for unknown ones, then by frequency.

    Words that are equally frequent are in the order of the alphabet.

    Parameters
    ----------
    counter : collections.Counter, optional
        How often each word occurs.
    most_freq_count : int, optional
        The greatest number of words from `counter`; by default all.
    min_freq : int
        How often a word occurs at least.
    unknown_token : hashable
        Stands for all other words; its number is 0.
    reserved_tokens : list of hashable, optional
        Words with the numbers after it.

    Raises
    ------
    ArgumentError
        `min_freq` is not positive, `counter` is no Counter, or a reserved word is there twice.
    """

    def __init__(
        self,
        counter: Counter | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Sequence[Hashable] | None = None,
    ):
        if min_freq < 1:
            raise ArgumentError(f"Vocabulary: min_freq is {min_freq}\n  expected 1 or more")
        if counter is not None and not isinstance(counter, Counter):
            raise ArgumentError(
                f"Vocabulary: counter is of type {type(counter).__name__}\n"
                "  expected collections.Counter"
            )
        first = [unknown_token, *(reserved_tokens or ())]
        if len({*first}) < len(first):
            raise ArgumentError(
                f"Vocabulary: reserved_tokens is {reserved_tokens!r}\n"
                f"  expected different words, without unknown_token, {unknown_token!r}"
            )
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        self._idx_to_token = first
        if counter is not None:
            rest = sorted((word, n) for word, n in counter.items() if word not in first)
            rest.sort(key=lambda pair: pair[1], reverse=True)
            frequent = [word for word, n in rest if n >= min_freq]
            self._idx_to_token = first + frequent[:most_freq_count]
        self._token_to_idx = {word: i for i, word in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict:
        """The number of each word."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list:
        """The words in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Hashable:
        """What stands for words that have no number."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list | None:
        """The words that were given a number without being counted."""
        return self._reserved_tokens

    def to_indices(self, tokens):
        """The number of a word, or a list of those of a list; 0 for unknown words."""
        if not isinstance(tokens, list):
            return self._token_to_idx.get(tokens, 0)
        return [self._token_to_idx.get(word, 0) for word in tokens]

    def to_tokens(self, indices):
        """The word of a number, or a list of those of a list.

        Raises
        ------
        ArgumentError
            There is no such number.
        """
        numbers = indices if isinstance(indices, list) else [indices]
        for i in numbers:
            if not isinstance(i, Integral) or not 0 <= i < len(self):
                raise ArgumentError(
                    f"Vocabulary.to_tokens: {i!r} is the number of no word\n"
                    f"  expected 0 to {len(self) - 1}"
                )
        words = [self._idx_to_token[i] for i in numbers]
        return words if isinstance(indices, list) else words[0]


missing.watch(globals())
