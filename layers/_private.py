"""Folders that no other user can change: compiled code is loaded only from them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

if os.name == "posix":
    import grp
    import pwd

__all__ = ["changeable_part", "make_private_folder"]

MOST_LINKS = 40  # Linux's own limit


def make_private_folder(folder: Path) -> str:
    """Make a folder if it is missing; return the result of `changeable_part` for it.

    Raises OSError if it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return changeable_part(folder)


def changeable_part(path: Path) -> str:
    """Return the part of a path that another user could change, and why; "" if there is none.

    Checks the file or folder itself, all folders above it, and the links on the way. Each must
    belong to this user or root, and nobody else may write to it. A folder above may be writable for
    all if it is sticky, such as /tmp: entries of a sticky folder can be replaced only by their
    owners.

    Raises OSError if there is no such path.
    """
    if os.name != "posix":
        return ""
    here, rest = Path("/"), [*path.absolute().parts[1:]]
    links = 0
    while True:
        status = here.lstat()
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > MOST_LINKS:
                return f"{here} is one of more than {MOST_LINKS} links"
            if not _is_own(status.st_uid):
                return f"{here} is a link of user {status.st_uid}"
            target = Path(os.readlink(here))
            here = Path("/") if target.is_absolute() else here.parent
            rest = [*(part for part in target.parts if part != "/"), *rest]
        elif not _is_private(status, is_last=not rest):
            return f"{here} is user {status.st_uid}'s, {stat.filemode(status.st_mode)}"
        if not rest:
            return ""
        part = rest.pop(0)
        here = here.parent if part == ".." else here / part


def _is_own(user: int) -> bool:
    return user in (os.geteuid(), 0)


def _is_private(status: os.stat_result, is_last: bool) -> bool:
    # In a container, root's home may lie in a folder that belongs to a user outside of it.
    if not _is_own(status.st_uid) and (is_last or os.geteuid() != 0):
        return False
    if status.st_mode & stat.S_ISVTX and stat.S_ISDIR(status.st_mode) and not is_last:
        return True
    if status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _is_private_group(status.st_gid)


def _is_private_group(group: int) -> bool:
    """True if a group is the user's private group, which many systems make for each user."""
    if group == 0:  # members of root's group can do what root can
        return True
    try:
        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    same = (found.gr_gid, found.gr_name) == (user.pw_gid, user.pw_name)
    return same and {*found.gr_mem} <= {user.pw_name}
