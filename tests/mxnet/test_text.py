"""mx.contrib.text: words counted, numbered, and as vectors from files."""

import tracemalloc
import warnings
from collections import Counter
from importlib import import_module

import numpy as np
import pytest

from layers.engine import mx, nd

torch_only = pytest.mark.engine("torch")


def text(part):
    return import_module(f"{mx.__name__}.contrib.text.{part}")


COUNTER = Counter(["a", "b", "b", "c", "c", "c", "some_word$"])


def test_counting():
    count = text("utils").count_tokens_from_str
    found = count(" Life is great ! \n life is good . \n", to_lower=True)
    assert found == Counter(["life", "is"] * 2 + ["great", "!", "good", "."])
    assert count("aXbYcXa", "X", "Y") == Counter("aabc")
    before = Counter(b=3)
    assert count("a b", counter_to_update=before) is before == Counter(a=1, b=4)


@torch_only
def test_delimiters_are_no_patterns():
    assert text("utils").count_tokens_from_str("a.b|c.a", ".", "|") == Counter("aabc")


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, ["<unk>", "c", "b", "a", "some_word$"]),
        ({"most_freq_count": 2}, ["<unk>", "c", "b"]),
        ({"most_freq_count": 0}, ["<unk>"]),
        ({"min_freq": 2}, ["<unk>", "c", "b"]),
        ({"unknown_token": "c"}, ["c", "b", "a", "some_word$"]),
        ({"reserved_tokens": ["b", "<pad>"]}, ["<unk>", "b", "<pad>", "c", "a", "some_word$"]),
        (
            {"most_freq_count": 4, "min_freq": 2, "unknown_token": "u", "reserved_tokens": ["b"]},
            ["u", "b", "c"],
        ),
    ],
)
def test_vocabulary(options, words):
    vocabulary = text("vocab").Vocabulary(COUNTER, **options)
    assert vocabulary.idx_to_token == words and len(vocabulary) == len(words)
    assert vocabulary.token_to_idx == {word: i for i, word in enumerate(words)}
    assert vocabulary.unknown_token == words[0]
    assert vocabulary.reserved_tokens == options.get("reserved_tokens")


def test_numbers_of_words():
    vocabulary = text("vocab").Vocabulary(COUNTER, reserved_tokens=["<pad>"])
    assert vocabulary.to_indices("c") == 2 and vocabulary.to_indices(["c", "?"]) == [2, 0]
    assert vocabulary.to_tokens(1) == "<pad>" and vocabulary.to_tokens([0, 2]) == ["<unk>", "c"]
    assert vocabulary.to_indices([]) == vocabulary.to_tokens([]) == []
    with pytest.raises(ValueError, match="100"):
        vocabulary.to_tokens([1, 100])


@pytest.mark.engine("torch")  # MXNet takes it for the last word
def test_no_word_has_a_number_below_0():
    with pytest.raises(ValueError, match="-1 is the number of no word"):
        text("vocab").Vocabulary(COUNTER).to_tokens(-1)


@pytest.mark.parametrize(
    "options",
    [
        {"min_freq": 0},
        {"counter": "abc"},
        {"reserved_tokens": ["<unk>"]},
        {"reserved_tokens": ["a", "a"]},
    ],
)
def test_no_vocabulary(options):
    with pytest.raises((AssertionError, ValueError)):
        text("vocab").Vocabulary(**options)


@pytest.fixture
def load(tmp_path):
    """Vectors from a text."""

    def load(content, **options):
        path = tmp_path / "vectors.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return text("embedding").CustomEmbedding(str(path), **options)

    return load


def told(embedding):
    return embedding.idx_to_token, embedding.idx_to_vec.asnumpy().tolist()


A, B = [1.0, 2.0], [3.0, 4.0]


@pytest.mark.parametrize(
    "content, options, words, vectors",
    [
        ("a 1 2\nb 3 4\n", {}, ["<unk>", "a", "b"], [[0, 0], A, B]),
        ("a 1 2\n<unk> 7 8\nb 3 4", {}, ["<unk>", "a", "b"], [[7, 8], A, B]),
        ("a 1 2 \nb 3 4\r\n", {}, ["<unk>", "a", "b"], [[0, 0], A, B]),
        (" 1 2\nb 3 4\n", {}, ["<unk>", "", "b"], [[0, 0], A, B]),
        ("a|1|2\n", {"elem_delim": "|", "unknown_token": "u"}, ["u", "a"], [[0, 0], A]),
        ("a 1 2\n", {"init_unknown_vec": nd.ones}, ["<unk>", "a"], [[1, 1], A]),
        ("é 1 2\n".encode("latin1"), {"encoding": "latin1"}, ["<unk>", "é"], [[0, 0], A]),
    ],
)
def test_files_of_vectors(load, content, options, words, vectors):
    embedding = load(content, **options)
    assert told(embedding) == (words, vectors) and embedding.vec_len == 2
    assert embedding.idx_to_vec.dtype == np.float32 and len(embedding) == len(words)


@pytest.mark.parametrize(
    "content", ["3 2\na 1 2\nb 3 4\n", "a 1 2\na 5 6\nb 3 4\n", "a 1 2\nc 3\nb 3 4\n"]
)
def test_lines_that_are_left_out(load, content):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert told(load(content)) == (["<unk>", "a", "b"], [[0, 0], A, B])
    assert any(each.category is UserWarning for each in warned)


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "there is no vector"),
        ("\n", "line 1: there is no number"),
        ("a 1 2\n\n", "line 2: there is no number"),
        ("a 1 2\nb 1 x\n", "line 2: could not convert string to float: 'x'"),
        ("a 1 2\nb 1 2 3\n", "line 2: 'b' has 3 numbers\n  expected 2, as before"),
        ("a  1 2\n", "line 1: could not convert string to float: ''"),
        (b"\xff 1 2\n", "expected text in the encoding utf8"),
        (b"\x00\x01\x02" * 9, "line 1: there is no number"),
    ],
)
def test_files_of_something_else(load, content, message):
    with pytest.raises((ValueError, AssertionError, TypeError)) as raised:
        load(content)
    if mx.__name__ != "mxnet":
        assert message in str(raised.value) and "vectors.txt" in str(raised.value)


@torch_only
def test_only_headings(load):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="there is no vector"):
        warnings.simplefilter("ignore")
        load("a 1\nb 2\n")


@torch_only  # in MXNet the vectors of words are moved by the reserved ones
def test_reserved_words(load):
    found = told(load("b 3 4\na 1 2\n", reserved_tokens=["<pad>", "a"], init_unknown_vec=nd.ones))
    assert found == (["<unk>", "<pad>", "a", "b"], [[1, 1], [1, 1], A, B])


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match="file"):
        text("embedding").CustomEmbedding(str(tmp_path / "none.txt"))


def test_looking_up(load):
    embedding = load("a 1 2\nHello 3 4\nhello 5 6\n")
    assert embedding.get_vecs_by_tokens("a").asnumpy().tolist() == A
    assert embedding.get_vecs_by_tokens(["a", "?"]).asnumpy().tolist() == [A, [0, 0]]
    assert embedding.get_vecs_by_tokens("HELLO").asnumpy().tolist() == [0, 0]
    look = embedding.get_vecs_by_tokens
    assert look("HELLO", lower_case_backup=True).asnumpy().tolist() == [5, 6]
    assert look("Hello", lower_case_backup=True).asnumpy().tolist() == B


def test_setting(load):
    embedding = load("a 1 2\nb 3 4\n")
    embedding.update_token_vectors("a", nd.array([9, 9]))
    embedding.update_token_vectors(["b", "<unk>"], nd.array([[7, 7], [8, 8]]))
    assert told(embedding)[1] == [[8, 8], [9, 9], [7, 7]]
    embedding.update_token_vectors(["a"], nd.array([5, 5]))
    assert told(embedding)[1][1] == [5, 5]
    for words, vectors in (
        ("?", nd.array(A)),
        ("a", nd.array([1, 2, 3])),
        (["a", "b"], nd.array(A)),
        ("a", A),
    ):
        with pytest.raises((ValueError, AssertionError)):
            embedding.update_token_vectors(words, vectors)


def test_words_of_a_vocabulary(load):
    vocabulary = text("vocab").Vocabulary(Counter(["a", "a", "z"]), reserved_tokens=["R"])
    embedding = load("a 1 2\nb 3 4\n", vocabulary=vocabulary)
    words = ["<unk>", "R", "a", "z"]
    assert told(embedding) == (words, [[0, 0], [0, 0], A, [0, 0]])
    one, other = load("a 1 2\n<unk> 9 9\n"), load("z 1 2 3\nb 4 5 6\n<unk> 8 8 8\n")
    both = text("embedding").CompositeEmbedding(vocabulary, [one, other])
    eight, nine = [8.0] * 3, [9.0] * 2
    expected = [nine + eight, nine + eight, A + eight, nine + [1, 2, 3]]
    assert told(both) == (words, expected) and both.vec_len == 5
    assert both.reserved_tokens == ["R"]
    assert text("embedding").CompositeEmbedding(vocabulary, one).vec_len == 2
    for wrong in ((vocabulary, [1]), (1, [one])):
        with pytest.raises((AssertionError, ValueError)):
            text("embedding").CompositeEmbedding(*wrong)


def test_a_class_of_ones_own(tmp_path):
    module = text("embedding")

    @module.register
    class Mine(module._TokenEmbedding):
        def __init__(self, path, vocabulary=None, **kwargs):
            super().__init__(**kwargs)
            self._load_embedding(path, " ", nd.zeros)
            self._build_embedding_for_vocabulary(vocabulary)

    (tmp_path / "mine.txt").write_text("a 1 2\n")
    assert told(module.create("mine", path=str(tmp_path / "mine.txt")))[1] == [[0, 0], A]


@torch_only
@pytest.mark.parametrize("name", ["glove", "fasttext"])
def test_files_that_are_there(tmp_path, name, monkeypatch):
    module = text("embedding")
    (tmp_path / "embeddings" / name).mkdir(parents=True)
    (tmp_path / "embeddings" / name / "tiny.txt").write_text("a 1 2\n")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    assert module.get_pretrained_file_names(name) == ["tiny.txt"]
    assert module.get_pretrained_file_names()[name] == ["tiny.txt"]
    options = {"pretrained_file_name": "tiny.txt"}
    assert told(module.create(name, **options))[1] == [[0, 0], A]
    root = tmp_path / "embeddings"
    assert told(module.create(name, embedding_root=root, **options))[1] == [[0, 0], A]
    with pytest.raises(ValueError, match="is no file\n  expected the file, which you download"):
        module.create(name)
    with pytest.raises(KeyError):
        module.get_pretrained_file_names("other")


@torch_only
def test_vectors_are_in_memory_once(load):
    words, size = 3000, 100
    numbers = " ".join(["0.25"] * size)
    content = "".join(f"w{i} {numbers}\n" for i in range(words))
    load("w 1 2\n")  # what is imported when it is first needed
    tracemalloc.start()
    found = load(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.idx_to_vec.shape == (words + 1, size) and found.idx_to_vec[1:].min() == 0.25
    words_alone = 300 * words
    assert peak < 1.5 * 4 * words * size + words_alone
