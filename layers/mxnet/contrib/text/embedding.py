"""Words as vectors, from files that are there: nothing is downloaded."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import numpy as np

from ... import ndarray as nd
from ... import registry
from ..._old import missing
from ...base import ArgumentError, MXNetError, ShapeError, data_dir
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
        vectors = _read(path, elem_delim, encoding)
        unknown = vectors.pop(self.unknown_token, None)
        if not vectors and unknown is None:
            raise EmbeddingFileError(
                f"{path}: there is no vector\n  expected lines such as: hello 0.1 0.2"
            )
        self._vec_len = len(next(iter(vectors.values()), unknown))
        for word in vectors:
            if word not in self._token_to_idx:
                self._token_to_idx[word] = len(self._idx_to_token)
                self._idx_to_token.append(word)
        default = init_unknown_vec(shape=self._vec_len) if unknown is None else nd.array(unknown)
        default = default.asnumpy().astype("float32")
        rows = np.stack([np.asarray(vectors.get(w, default), "float32") for w in self.idx_to_token])
        self._idx_to_vec = nd.array(rows)

    def _take(self, embeddings: Sequence[_TokenEmbedding], vocabulary: vocab.Vocabulary) -> None:
        """Have the words of a vocabulary, and vectors from others behind each other."""
        words = vocabulary.idx_to_token
        parts = [each._idx_to_vec[0:1] for each in embeddings]
        rows = [nd.concat(*parts, dim=1)]
        if len(words) > 1:
            parts = [each.get_vecs_by_tokens(list(words[1:])) for each in embeddings]
            rows.append(nd.concat(*parts, dim=1))
        self._idx_to_vec = nd.concat(*rows, dim=0)
        self._vec_len = self._idx_to_vec.shape[1]
        self._unknown_token = vocabulary.unknown_token
        reserved = vocabulary.reserved_tokens
        self._reserved_tokens = None if reserved is None else list(reserved)
        self._idx_to_token, self._token_to_idx = list(words), dict(vocabulary.token_to_idx)

    def _build_embedding_for_vocabulary(self, vocabulary: vocab.Vocabulary | None) -> None:
        """Have only the words of a vocabulary, if there is one."""
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


def _read(path: str, delimiter: str, encoding: str) -> dict[Hashable, array]:
    """The vector of each word in a file, whose lines are a word and numbers."""
    found: dict[Hashable, array] = {}
    size = None
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(_lines(file, path, encoding), 1):
            word, *texts = line.rstrip().split(delimiter)
            place = f"{path}, line {number}"
            if not texts:
                raise EmbeddingFileError(f"{place}: there is no number\n  expected a word and some")
            if word in found:
                warnings.warn(f"{place}: {word!r} is there again; it is left out", stacklevel=4)
                continue
            if len(texts) == 1:
                warnings.warn(f"{place}: a heading, which is left out", stacklevel=4)
                continue
            if size is not None and len(texts) != size:
                raise EmbeddingFileError(
                    f"{place}: {word!r} has {len(texts)} numbers\n  expected {size}, as before"
                )
            try:
                found[word] = array("f", map(float, texts))
            except ValueError as error:
                raise EmbeddingFileError(f"{place}: {error}\n  expected a number") from None
            size = len(texts)
    return found


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
    root = os.path.join(data_dir(), "embeddings") if root is None else root
    return Path(root).expanduser() / name


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
