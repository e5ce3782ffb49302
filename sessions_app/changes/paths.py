"""Paths as tool calls name them, made comparable: relative to the working directory where they lie in it."""

from __future__ import annotations

import hashlib
import posixpath
import re

MOST = 4_000
"""Characters of a path; PATH_MAX of Linux is 4,096 bytes. What is longer is cut: nothing has such a path."""
STORED = 300
"""Characters of a path by which its rows are found: an entry of an index holds 2,704 bytes."""
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_UNSTORED = re.compile("[\0\ud800-\udfff]")


def normal(path: str, cwd: str = "") -> str:
    """A path without ``.`` and ``..`` where they lead nowhere, relative to ``cwd`` where it lies in it; "" for none.

    ``..`` is taken out by name, as nobody knows the links of that machine.
    """
    path = _slashes(_UNSTORED.sub("\ufffd", path[:MOST].strip().removeprefix("file://")))
    if not path:
        return ""
    found, home = posixpath.normpath(path), posixpath.normpath(_slashes(cwd[:MOST])) if cwd else ""
    found = found[1:] if found.startswith("//") else found
    if home not in ("", "/", ".") and found.startswith(f"{home}/"):
        found = found[len(home) + 1 :]
    return "" if found == "." else found


def stored(path: str) -> str:
    """The name of a file in the database: its path, of a very long one the beginning and a hash that tells it apart."""
    if len(path) <= STORED:
        return path
    return f"{path[: STORED - 18]}… {hashlib.sha256(path.encode()).hexdigest()[:16]}"


def is_outside(path: str) -> bool:
    """Whether a normal path leads out of the working directory."""
    return path.startswith(("/", "../", "~")) or path == ".." or bool(_DRIVE.match(path))


def join(base: str, path: str) -> str:
    """A path as it stands in a command that runs in ``base``."""
    return path if is_outside(path) and not path.startswith("..") else posixpath.join(base, path)


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) or path.startswith("\\\\") else path
