"""The words of a text, numbered."""

from __future__ import annotations

from collections import Counter


class Vocabulary:
    """Words by their numbers: the unknown one, the reserved ones, then the others by frequency.

    Words that are as frequent are in the order of the alphabet.

    Attributes
    ----------
    idx_to_token : list of str
    token_to_idx : dict of str to int
    unknown_token : str
    reserved_tokens : list of str
    """

    def __init__(
        self,
        counter: Counter,
        unknown_token: str = "<unk>",
        reserved_tokens: tuple[str, ...] = (),
    ):
        self.unknown_token, self.reserved_tokens = unknown_token, list(reserved_tokens)
        first = [unknown_token, *reserved_tokens]
        rest = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        self.idx_to_token = first + [token for token, _ in rest if token not in first]
        self.token_to_idx = {token: i for i, token in enumerate(self.idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def to_indices(self, tokens):
        """The number of a word, or of each of a list; unknown ones have that of `unknown_token`."""
        if isinstance(tokens, str):
            return self.token_to_idx.get(tokens, 0)
        return [self.token_to_idx.get(token, 0) for token in tokens]

    def to_tokens(self, indices):
        """The word of a number, or of each of a list."""
        if isinstance(indices, int):
            return self.idx_to_token[indices]
        return [self.idx_to_token[i] for i in indices]
