"""Places that no other user can change."""

import grp
import os
import pwd
from types import SimpleNamespace

import pytest

from layers._private import changeable_part, make_private_folder

ROOTS = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
ME, OTHER = 12345, 54321


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder of a user who is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: ME)
    os.chown(tmp_path, ME, ME)
    return tmp_path


def made(path, owner=ME, mode=0o755):
    path.mkdir()
    os.chown(path, owner, owner)
    path.chmod(mode)
    return path


def test_a_new_folder_is_private(tmp_path):
    assert make_private_folder(tmp_path / "a/b") == ""
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    (tmp_path / "a/b/file").touch(0o644)
    assert changeable_part(tmp_path / "a/b/file") == ""
    with pytest.raises(FileNotFoundError):
        changeable_part(tmp_path / "a/c")
    with pytest.raises(OSError):
        make_private_folder(tmp_path / "a/b/file")


@ROOTS
@pytest.mark.parametrize("owner", [ME, 0])
@pytest.mark.parametrize("mode, is_private", [(0o755, True), (0o775, False), (0o757, False)])
def test_the_place_itself(home, owner, mode, is_private):
    path = made(home / "it", owner, mode)
    if owner == 0 and mode == 0o775:
        os.chown(path, 0, OTHER)
    assert (changeable_part(path) == "") == is_private


@ROOTS
def test_a_place_of_another_user(home):
    path = made(home / "it", OTHER, 0o700)
    assert changeable_part(path) == f"{path} is user {OTHER}'s, drwx------"
    inner = made(path / "inner")
    assert changeable_part(inner) == f"{path} is user {OTHER}'s, drwx------"


@ROOTS
def test_a_folder_above_that_all_can_write(home):
    path = made(made(home / "all", 0, 0o777) / "it")
    assert changeable_part(path) == f"{home}/all is user 0's, drwxrwxrwx"
    (home / "all").chmod(0o1777)
    assert changeable_part(path) == ""
    assert changeable_part(home / "all") == f"{home}/all is user 0's, drwxrwxrwt"
    (path / "file").touch()
    os.chown(path / "file", OTHER, OTHER)
    assert changeable_part(path / "file").startswith(f"{path}/file is user {OTHER}'s")


@ROOTS
def test_links(home):
    path = made(home / "there")
    (home / "link").symlink_to("there")
    (home / "around").symlink_to(home / "there/../link")
    assert changeable_part(home / "around") == "" == changeable_part(path)
    os.lchown(home / "link", OTHER, OTHER)
    for name in ("link", "around"):
        assert changeable_part(home / name) == f"{home}/link is a link of user {OTHER}"
    (home / "loop").symlink_to("loop")
    assert "more than 40 links" in changeable_part(home / "loop")
    made(home / "open", ME, 0o777)
    made(home / "open/it")
    (home / "to").symlink_to("open/it")
    assert changeable_part(home / "to").startswith(f"{home}/open is user")


@ROOTS
def test_the_private_group_of_a_user(home, monkeypatch):
    """Many systems let a user's own group write to what the user makes."""
    path, members = made(home / "it", ME, 0o775), []
    user = SimpleNamespace(pw_name="me", pw_gid=ME)
    group = SimpleNamespace(gr_name="me", gr_gid=ME, gr_mem=members)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)
    assert changeable_part(path) == ""
    members.append("other")
    assert changeable_part(path) == f"{path} is user {ME}'s, drwxrwxr-x"


@ROOTS
def test_root_in_a_folder_of_another_user(tmp_path):
    """As the home of root in a container can be; nobody else may write to it."""
    path = made(made(tmp_path / "home", OTHER) / "it", 0)
    assert changeable_part(path) == ""
    path.parent.chmod(0o777)
    assert changeable_part(path) == f"{tmp_path}/home is user {OTHER}'s, drwxrwxrwx"
