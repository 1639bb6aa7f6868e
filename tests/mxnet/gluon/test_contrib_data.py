"""IntervalSampler, and WikiText from local files."""

import hashlib
import zipfile
from importlib import import_module

import numpy as np
import pytest

from layers.engine import mx

contrib = import_module(f"{mx.__name__}.gluon.contrib.data")
TEXT = " \n = Title = \n\n the cat sat on the mat \n a dog <unk> the cat \n" * 3


def test_interval_sampler():
    sampler = contrib.IntervalSampler(8, 3)
    assert list(sampler) == [0, 3, 6, 1, 4, 7, 2, 5]
    assert len(sampler) == 8
    assert list(contrib.IntervalSampler(8, 3, rollover=False)) == [0, 3, 6]
    assert list(contrib.IntervalSampler(3, 3)) == [0, 1, 2]
    assert list(contrib.IntervalSampler(0, 0)) == []
    with pytest.raises(AssertionError, match="(?s)5.*3"):
        contrib.IntervalSampler(3, 5)


@pytest.mark.engine("torch")  # MXNet's is the length of the data set
def test_length_of_a_sampler_that_does_not_roll_over():
    assert len(contrib.IntervalSampler(8, 3, rollover=False)) == 3


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(contrib.text, "check_sha1", lambda path, digest: True)


@pytest.mark.parametrize("name", ["WikiText2", "WikiText103"])
def test_wikitext(tmp_path, known, name):
    made = getattr(contrib.text, name)
    (tmp_path / "wiki.train.tokens").write_text(TEXT)
    (tmp_path / "wiki.valid.tokens").write_text("the cow \n")
    data = made(str(tmp_path), seq_len=4)
    assert len(data) == 12
    assert [x.asnumpy().tolist() for x in data[0]] == [[3, 5, 3, 1], [5, 3, 1, 2]]
    assert [x.asnumpy().tolist() for x in data[1]] == [[2, 4, 10, 9], [4, 10, 9, 2]]
    assert data[0][0].dtype == np.int32
    words = ["<unk>", "<eos>", "the", "=", "cat", "Title", "a", "dog", "mat", "on", "sat"]
    assert data.vocabulary.idx_to_token == words
    assert data.vocabulary.to_indices(["cat", "cow"]) == [4, 0]
    assert data.vocabulary.to_tokens([2, 4]) == ["the", "cat"]
    assert data.frequencies["the"] == 9
    other = made(str(tmp_path), "validation", data.vocabulary, seq_len=1)
    assert [[x.asnumpy().tolist() for x in pair] for pair in other] == [[[2], [0]], [[0], [1]]]


@pytest.mark.engine("torch")
def test_wikitext_has_to_be_there(tmp_path, monkeypatch):
    made = contrib.text.WikiText2
    with pytest.raises(NotImplementedError, match="wikitext-2-v1.zip is not there"):
        made(tmp_path)
    with pytest.raises(ValueError, match="segment is 'x'"):
        made(tmp_path, "x")
    with zipfile.ZipFile(tmp_path / "wikitext-2-v1.zip", "w") as archive:
        archive.writestr("wikitext-2/wiki.train.tokens", TEXT)
    with pytest.raises(NotImplementedError, match="has another SHA-1"):
        made(tmp_path)
    digest = hashlib.sha1((tmp_path / "wikitext-2-v1.zip").read_bytes()).hexdigest()
    monkeypatch.setattr(made, "_archive_file", ("wikitext-2-v1.zip", digest))
    assert len(made(tmp_path, seq_len=4)) == 12
