"""Files and folders that appear whole, or not at all."""

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from layers import _atomic
from layers._atomic import remove_folder, remove_unfinished, replacing, write
from train import Refused
from train.program import write_whole


def make(path, content, is_folder):
    if is_folder:
        path.mkdir()
        path = path / "file"
    path.write_text(content)


def content_of(folder):
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


@pytest.mark.parametrize("is_folder", [False, True])
def test_it_takes_the_place_of_what_is_there(tmp_path, is_folder):
    name = "it/file" if is_folder else "it"
    for content in ("first", "second"):
        with replacing(tmp_path / "it") as new:
            make(new, content, is_folder)
        assert content_of(tmp_path) == {name: content}
    with pytest.raises(ZeroDivisionError), replacing(tmp_path / "it") as new:
        make(new, "third", is_folder)
        raise ZeroDivisionError
    assert content_of(tmp_path) == {name: "second"}
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


@pytest.mark.parametrize("is_folder", [False, True])
def test_it_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch, is_folder):
    done = []
    replace = Path.replace
    monkeypatch.setattr(_atomic, "_sync", lambda path: done.append(path.name))
    monkeypatch.setattr(Path, "replace", lambda *paths: done.append("rename") or replace(*paths))
    with replacing(tmp_path / "it") as new:
        make(new, "", is_folder)
    assert done == [*["file"][: int(is_folder)], "it", "rename", tmp_path.name]


def test_a_file_does_not_take_the_place_of_a_folder(tmp_path):
    make(tmp_path / "it", "first", True)
    with pytest.raises(OSError), replacing(tmp_path / "it") as new:
        new.write_text("second")
    assert content_of(tmp_path) == {"it/file": "first"}


def test_what_a_killed_process_has_left_is_removed(tmp_path):
    for name in (".new-it-0a1b2c_d", ".new-it", ".old-it", ".new-its", ".new-it-more", "it"):
        make(tmp_path / name, "first", True)
    remove_unfinished(tmp_path, "it|that")
    found = {".new-its/file": "first", ".new-it-more/file": "first", "it/file": "first"}
    assert content_of(tmp_path) == found
    with replacing(tmp_path / "it") as new:
        make(new, "second", True)
    assert content_of(tmp_path) == found | {"it/file": "second"}


@pytest.mark.parametrize("is_folder", [False, True])
def test_no_other_user_can_write_where_it_is_made(tmp_path, is_folder):
    tmp_path.chmod(0o777)
    names = set()
    for _ in range(2):
        with replacing(tmp_path / "it") as new:
            assert not new.exists() and stat.S_IMODE(new.parent.stat().st_mode) == 0o700
            names.add(new.parent.name)
            make(new, "", is_folder)
    assert len(names) == 2 and os.listdir(tmp_path) == ["it"]


def test_a_link_at_the_name_of_an_unfinished_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("first")
    for name in (".new-it", ".old-it"):
        (tmp_path / name).symlink_to(victim)
    with replacing(tmp_path / "it") as new:
        assert new != tmp_path / ".new-it"
        make(new, "second", False)
    write({tmp_path / "it": [b"third"]})
    assert victim.read_text() == "first" and not (tmp_path / "it").is_symlink()


def test_what_a_link_leads_to_stays(tmp_path):
    make(tmp_path / "there", "first", True)
    for change in (remove_folder, replace_by_a_folder):
        (tmp_path / "it").symlink_to(tmp_path / "there")
        change(tmp_path / "it")
        assert content_of(tmp_path)["there/file"] == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it", "there"]
    assert content_of(tmp_path / "it") == {"file": "second"}


def replace_by_a_folder(path):
    with replacing(path) as new:
        make(new, "second", True)


def test_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=f"^--out {tmp_path}/file/out: Not a directory$"):
        write_whole(tmp_path / "file" / "out", iter(["a line"]))
    with pytest.raises(Refused, match=f"^--out {tmp_path}: it is a folder$"):
        write_whole(tmp_path, iter(["a line"]))
    write_whole(tmp_path / "out", iter(["a line\n", "\udc80\n"]))
    assert (tmp_path / "out").read_bytes() == b"a line\n\\udc80\n"
    assert os.listdir(tmp_path) in (["out", "file"], ["file", "out"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="not on Windows")
def test_a_pipe_and_a_link_stay_what_they_are(tmp_path):
    pipe, link, file = tmp_path / "pipe", tmp_path / "link", tmp_path / "file"
    os.mkfifo(pipe)
    link.symlink_to(file)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, iter(["a\n", "b\n"]))
    reader.join()
    write_whole(link, iter(["c\n"]))
    assert read == ["a\nb\n"] and pipe.is_fifo()
    assert link.is_symlink() and file.read_text() == "c\n"
