"""Words as vectors, from files that are there: nothing is downloaded."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ... import ndarray as nd
from ... import registry
from ..._old import missing
from ...base import ArgumentError, MXNetError, ShapeError, data_folder, printable, quoted
from ...context import current_context
from ...ndarray import NDArray
from . import vocab

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]


class EmbeddingFileError(MXNetError, ValueError):
    """A file is no file of vectors."""


class _TokenEmbedding(vocab.Vocabulary):
    """The base of vectors of words: a Vocabulary with a vector for each word.

    A class that loads a file of its own calls `_load_embedding`, and then
    `_build_embedding_for_vocabulary`, in its constructor.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._vec_len, self._idx_to_vec = 0, None

    @property
    def vec_len(self) -> int:
        """The size of a vector."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> NDArray | None:
        """The vectors (words, vec_len), in the order of the words' numbers."""
        return self._idx_to_vec

    def _load_embedding(
        self, pretrained_file_path, elem_delim: str, init_unknown_vec: Callable, encoding="utf8"
    ) -> None:
        """Add the words of a file, with their vectors; `init_unknown_vec` makes the others."""
        path = os.path.expanduser(pretrained_file_path)
        if not os.path.isfile(path):
            raise ArgumentError(f"embedding: {path} is no file\n  expected a file of vectors")
        before, given = len(self._idx_to_token), set()
        rows = array("f")  # of all words behind each other, which is the one place where they are

        def is_given(word: str) -> bool:
            number = self._token_to_idx.get(word, -1)
            return number >= before or number in given

        for word, vector in _read(path, elem_delim, encoding, is_given):
            if not rows:
                self._vec_len = size = len(vector)
                rows.extend([0.0] * (before * size))
            number = self._token_to_idx.get(word)
            if number is None:
                self._token_to_idx[word] = len(self._idx_to_token)
                self._idx_to_token.append(word)
                rows.extend(vector)
            else:
                rows[number * size : (number + 1) * size] = vector
                given.add(number)
        if not rows:
            raise EmbeddingFileError(
                f"{path}: there is no vector\n  expected lines such as: hello 0.1 0.2"
            )
        found = np.frombuffer(rows, np.float32).reshape(-1, size)
        if 0 not in given:  # the unknown word
            found[0] = init_unknown_vec(shape=size).asnumpy()
        found[[number for number in range(before) if number not in given]] = found[0]
        self._idx_to_vec = nd.from_numpy(found).as_in_context(current_context())

    def _take(self, embeddings: Sequence[_TokenEmbedding], vocabulary: vocab.Vocabulary) -> None:
        """Take the words of a vocabulary, and for each the vectors of embeddings, concatenated."""
        words = vocabulary.idx_to_token
        size = sum(each.vec_len for each in embeddings)
        found, end = nd.empty((len(words), size)), 0
        for each in embeddings:
            begin, end = end, end + each.vec_len
            found[0, begin:end] = each._idx_to_vec[0]
            if len(words) > 1:
                found[1:, begin:end] = each.get_vecs_by_tokens(list(words[1:]))
        self._idx_to_vec, self._vec_len = found, size
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)
        self._idx_to_token, self._token_to_idx = list(words), dict(vocabulary.token_to_idx)

    def _build_embedding_for_vocabulary(self, vocabulary: vocab.Vocabulary | None) -> None:
        """Keep only the words of a vocabulary, if one is given."""
        if vocabulary is not None:
            _expect_vocabulary(vocabulary)
            self._take([self], vocabulary)

    def get_vecs_by_tokens(self, tokens, lower_case_backup: bool = False) -> NDArray:
        """The vector of a word (vec_len,), or those of a list of words (n, vec_len).

        Parameters
        ----------
        tokens : str or list of str
        lower_case_backup : bool
            Whether for an unknown word its lower case is looked up.
        """
        words = tokens if isinstance(tokens, list) else [tokens]
        known = self._token_to_idx
        if lower_case_backup:
            words = [word if word in known else word.lower() for word in words]
        rows = nd.array([known.get(word, 0) for word in words], dtype="int32")
        found = nd.take(self._idx_to_vec, rows)
        return found if isinstance(tokens, list) else found[0]

    def update_token_vectors(self, tokens, new_vectors: NDArray) -> None:
        """Set the vectors of words.

        Parameters
        ----------
        tokens : str or list of str
        new_vectors : NDArray (n, vec_len), or (vec_len,) for one word

        Raises
        ------
        ShapeError
            The vectors have another shape.
        ArgumentError
            A word is unknown, and not `unknown_token`; or the vectors are no NDArray.
        """
        words = tokens if isinstance(tokens, list) else [tokens]
        if not isinstance(new_vectors, NDArray):
            raise ArgumentError(
                f"update_token_vectors: new_vectors is of type {type(new_vectors).__name__}\n"
                "  expected NDArray"
            )
        expected = len(words), self._vec_len
        if new_vectors.shape != expected and (len(words) > 1 or new_vectors.shape != expected[1:]):
            raise ShapeError(
                f"update_token_vectors: new_vectors is {new_vectors.shape}\n  expected {expected}"
            )
        unknown = [word for word in words if word not in self._token_to_idx]
        if unknown:
            raise ArgumentError(
                f"update_token_vectors: {unknown[0]!r} is unknown\n"
                f"  expected a word with a vector; {self.unknown_token!r} is that of all others"
            )
        rows = nd.array([self._token_to_idx[word] for word in words], dtype="int32")
        self._idx_to_vec[rows] = new_vectors.reshape(expected)


def _read(
    path: str, delimiter: str, encoding: str, is_given: Callable[[str], bool]
) -> Iterator[tuple[str, array]]:
    """Each word of a file with its vector; the lines are a word and numbers.

    A word that `is_given` already is left out.
    """
    size = None
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(_lines(file, path, encoding), 1):
            word, *texts = line.rstrip().split(delimiter)
            place = f"{printable(str(path))}, line {number}"
            if not texts:
                raise EmbeddingFileError(f"{place}: there is no number\n  expected a word and some")
            if is_given(word):
                warnings.warn(
                    f"{place}: {quoted(word)} is there again; it is left out", stacklevel=4
                )
                continue
            if len(texts) == 1:
                warnings.warn(f"{place}: a heading, which is left out", stacklevel=4)
                continue
            if size is not None and len(texts) != size:
                raise EmbeddingFileError(
                    f"{place}: {quoted(word)} has {len(texts)} numbers\n"
                    f"  expected {size}, as before"
                )
            try:
                vector = array("f", map(float, texts))
            except ValueError as error:
                raise EmbeddingFileError(f"{place}: {error}\n  expected a number") from None
            size = len(texts)
            yield word, vector


def _lines(file, path: str, encoding: str):
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise EmbeddingFileError(
            f"{path}: {error}\n  expected text in the encoding {encoding}"
        ) from None


def _expect_vocabulary(given) -> None:
    if not isinstance(given, vocab.Vocabulary):
        raise ArgumentError(
            f"embedding: vocabulary is of type {type(given).__name__}\n  expected Vocabulary"
        )


_register = registry.get_register_func(_TokenEmbedding, "token embedding")
_create = registry.get_create_func(_TokenEmbedding, "token embedding")


def register(embedding_cls: type) -> type:
    """Have `create` know a class, a subclass of `_TokenEmbedding`, by its name."""
    return _register(embedding_cls)


def create(embedding_name: str, **kwargs) -> _TokenEmbedding:
    """The vectors of a class by its name, such as 'glove'; keywords are those of the class."""
    return _create(embedding_name, **kwargs)


def _folder(name: str, root: str | None = None) -> Path:
    return data_folder(root, "embeddings") / name


def get_pretrained_file_names(embedding_name: str | None = None):
    """The files of vectors that are there.

    Parameters
    ----------
    embedding_name : str, optional
        'glove' or 'fasttext'.

    Returns
    -------
    list of str, or dict of list
        The names of the files in its folder; without a name those of both, by name.

    Raises
    ------
    KeyError
        The name is another.
    """
    found = {
        name: sorted(path.name for path in _folder(name).glob("*") if path.is_file())
        for name in ("glove", "fasttext")
    }
    return found if embedding_name is None else found[embedding_name.lower()]


class _Pretrained(_TokenEmbedding):
    """Vectors of a file in a folder of its own."""

    def __init__(self, name, embedding_root, init_unknown_vec, vocabulary, **kwargs):
        super().__init__(**kwargs)
        path = _folder(type(self).__name__.lower(), embedding_root) / name
        if not path.is_file():
            raise ArgumentError(
                f"{type(self).__name__}: {path} is no file\n"
                "  expected the file, which you download and unpack yourself"
            )
        self._load_embedding(path, " ", init_unknown_vec)
        self._build_embedding_for_vocabulary(vocabulary)


@register
class GloVe(_Pretrained):
    """The vectors of GloVe (Pennington, Socher and Manning 2014), from a file that is there.

    Parameters
    ----------
    pretrained_file_name : str
        A file in the folder ``glove`` of `embedding_root`.
    embedding_root : path, optional
        By default ``embeddings`` in MXNET_HOME, ``~/.mxnet``.
    init_unknown_vec : callable
        Makes the vector of unknown words, given its shape.
    vocabulary : Vocabulary, optional
        The words to have; by default those of the file.
    **kwargs
        As for `Vocabulary`.

    Raises
    ------
    ArgumentError
        The file is not there.
    """

    def __init__(
        self,
        pretrained_file_name="glove.840B.300d.txt",
        embedding_root=None,
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        super().__init__(
            pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, **kwargs
        )


@register
class FastText(_Pretrained):
    """The vectors of fastText (Bojanowski et al., arXiv:1607.04606), from a file that is there.

    Parameters
    ----------
    pretrained_file_name : str
        A file in the folder ``fasttext`` of `embedding_root`.
    embedding_root, init_unknown_vec, vocabulary, **kwargs
        As for `GloVe`.

    Raises
    ------
    ArgumentError
        The file is not there.
    """

    def __init__(
        self,
        pretrained_file_name="wiki.simple.vec",
        embedding_root=None,
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        super().__init__(
            pretrained_file_name, embedding_root, init_unknown_vec, vocabulary, **kwargs
        )


class CustomEmbedding(_TokenEmbedding):
    """Vectors from a file of one's own: on each line a word and the numbers of its vector.

    Of a word that is there twice the first vector is taken; a line with one number is a heading.

    Parameters
    ----------
    pretrained_file_path : path
    elem_delim : str
        What is between the word and the numbers.
    encoding : str
    init_unknown_vec : callable
        Makes the vector of unknown words, given its shape, where the file has none.
    vocabulary : Vocabulary, optional
        The words to have; by default those of the file.
    **kwargs
        As for `Vocabulary`.

    Raises
    ------
    ArgumentError
        The file is not there.
    EmbeddingFileError
        A line is not a word and numbers, as many as before.
    """

    def __init__(
        self,
        pretrained_file_path,
        elem_delim=" ",
        encoding="utf8",
        init_unknown_vec=nd.zeros,
        vocabulary=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._build_embedding_for_vocabulary(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """Vectors for the words of a vocabulary: those of several embeddings behind each other.

    Parameters
    ----------
    vocabulary : Vocabulary
    token_embeddings : CustomEmbedding, GloVe, ..., or list of them

    Raises
    ------
    ArgumentError
        An argument is something else.
    """

    def __init__(self, vocabulary: vocab.Vocabulary, token_embeddings):
        _expect_vocabulary(vocabulary)
        many = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        for each in many:
            if not isinstance(each, _TokenEmbedding):
                raise ArgumentError(
                    f"CompositeEmbedding: token_embeddings has a {type(each).__name__}\n"
                    "  expected embeddings, such as CustomEmbedding"
                )
        super().__init__()
        self._take(many, vocabulary)


missing.watch(globals())
