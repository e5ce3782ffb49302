"""Calls that destroy what nobody gets back: files outside of the work, work of others, databases, systems.

Stricter than what a card warns of before a call (``rendering.arguments``): there a wrong warning costs a second look,
here it marks a session. ``rm -r build`` is housekeeping, ``rm -r ~/photos`` is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sessions_app.changes import shell
from sessions_app.changes.paths import is_outside, join, normal
from sessions_app.changes.shell import Word
from sessions_app.phrases import gettext as _
from sessions_app.rendering.arguments import sql

from .places_outside import is_scratch

BY_NAME = _("a tool that deletes, by its name")
DISK = _("overwrites a disk")
RUNS = _("takes down what runs or is stored")
DATA = _("deletes data")
EVERYTHING = _("deletes everything there")
FOLDER = _("deletes a folder outside of the working directory")
BRANCH = _("rewrites or deletes a branch for everybody")
CHANGES = _("throws changes away")
FILES = _("deletes files outside of the working directory")
SAID = (BY_NAME, DISK, RUNS, DATA, EVERYTHING, FOLDER, BRANCH, CHANGES, FILES)
"""What a call does, as a finding says it."""
_MAY = re.compile(
    r"\brm\b|\bgit\b.{0,200}(?:push|reset|clean|checkout|restore|stash|filter-)|\bfind\b.{0,400}(?:-delete|\brm\b)|\bdd\b"
    r"|\bmkfs|\bwipefs|\bshred\b|\bdropdb\b|\b(?:drop|truncate|delete)\s|\bdestroy|\bkubectl\b|\bhelm\b|\bdocker\b"
    r"|\baws\b|\bgcloud\b|\bgh\b|\bflush(?:all|db)\b",
    re.IGNORECASE | re.DOTALL,
)
_TOOL = re.compile(
    r"(?:^|_)(?:drop|destroy|purge|wipe|erase|truncate|terminate)(?:_|$)"
    r"|(?:^|_)delete_(?!(?:file|cell|line|todo|task|memor|comment|message|note|block|text|row|draft|label|tag)s?)\w",
    re.IGNORECASE,
)
_CLIENTS = frozenset({
    "psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "duckdb", "cockroach", "snowsql", "bq",
})  # fmt: skip
_GONE = {
    "terraform": ("destroy",), "tofu": ("destroy",), "pulumi": ("destroy",), "kubectl": ("delete",),
    "helm": ("uninstall", "delete"), "dropdb": ("",), "wipefs": ("",), "shred": ("",),
}  # fmt: skip
"""Commands that take systems or disks away by their first word; "" is any."""
_SEVERAL = (
    ("docker", ("system", "prune")), ("docker", ("volume", "rm")), ("docker", ("volume", "prune")),
    ("gh", ("repo", "delete")), ("aws", ("s3", "rb")), ("aws", ("ec2", "terminate-instances")),
    ("aws", ("rds", "delete-db-instance")),
)  # fmt: skip
_HERE = frozenset({".", "./", "*", "./*", ".git", "./.git"})
"""Everything where a command runs; behind a ``cd`` that is some folder below."""
_EVERYTHING = _HERE | {"/", "/*", "~", "~/", "~/*", "..", "../", "$HOME", "${HOME}"}


@dataclass(slots=True)
class _Place:
    """Where a command runs: the working directory, empty where nobody says it, and where ``cd`` has led from there."""

    cwd: str
    base: str = ""
    has_moved: bool = False

    def go(self, word: Word) -> None:
        self.base = join(self.base, word.text) if word.is_literal and self.base != "\0" else "\0"
        self.has_moved = True

    def is_beyond(self, path: str) -> bool:
        """Whether a path is known to lead out of the working directory, and not to scratch files."""
        if self.base == "\0" and not path.startswith(("/", "~")):
            return False
        found = normal(path if self.base == "\0" else join(self.base, path), self.cwd)
        return is_outside(found) and not is_scratch(found) and (bool(self.cwd) or found.startswith("~"))


def destroyed(tool: str, arguments: Any, command: str, cwd: str) -> tuple[str, str] | None:
    """What a call destroys, in the desk's words, and the words of the call that say so; None: nothing that one sees."""
    if command:
        head = command[: shell.MOST]
        return _by_command(head, _Place(cwd), 0) if _MAY.search(head) else None
    if _is_deleting(tool):
        return BY_NAME, tool
    key = sql.key_of(arguments) if isinstance(arguments, dict) else None
    return _by_sql(arguments[key]) if key else None


@lru_cache(maxsize=512)
def _is_deleting(tool: str) -> bool:
    """Whether a tool deletes, by its name."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.rpartition("__")[2]).replace("-", "_")
    return bool(_TOOL.search(name))


def _by_command(command: str, place: _Place, depth: int) -> tuple[str, str] | None:
    for each in shell.commands_in(command):
        words = shell.bare(each.words)
        if not words:
            continue
        name, rest = words[0].text.rpartition("/")[2], words[1:]
        if name in ("cd", "pushd") and rest:
            place.go(rest[0])
        elif name in shell.SHELLS and depth < 2 and len(rest) > 1 and re.fullmatch(r"-\w*c", rest[0].text):
            if found := _by_command(rest[1].text, place, depth + 1):
                return found
        elif what := _simple(name, rest, place):
            return what, " ".join(word.text for word in words)
    return None


def _simple(name: str, rest: Sequence[Word], place: _Place) -> str:
    """What a simple command destroys; empty for nothing that one sees."""
    texts = [word.text for word in rest]
    plain = [text for text in texts if not text.startswith("-")]
    if name == "rm":
        return _removed(rest, place)
    if name == "git":
        return _by_git(plain, texts)
    if name == "find":
        return _by_find(rest, place)
    if name == "dd":
        return DISK if any(re.match(r"of=/dev/(?!null|stdout|zero)", text) for text in texts) else ""
    if name.startswith("mkfs"):
        return DISK
    if name in _CLIENTS:
        return next((found[0] for text in texts if sql.is_sql(text) and (found := _by_sql(text))), "")
    if name in _GONE and ("--help" not in texts) and (_GONE[name] == ("",) or plain[:1] and plain[0] in _GONE[name]):
        is_dry = any(text.startswith("--dry-run") for text in texts)
        return "" if is_dry else RUNS
    if name == "aws" and plain[:2] == ["s3", "rm"] and "--recursive" in texts and "--dryrun" not in texts:
        return RUNS
    if any(name == known and tuple(plain[: len(first)]) == first for known, first in _SEVERAL):
        return RUNS
    if name == "redis-cli" and any(text.lower() in ("flushall", "flushdb") for text in plain):
        return DATA
    return ""


def _removed(rest: Sequence[Word], place: _Place) -> str:
    options = "".join(word.text for word in rest if re.match(r"-\w", word.text))
    if not re.search(r"[rR]", options) and not any(word.text == "--recursive" for word in rest):
        return ""
    for word in rest:
        if word.text in _EVERYTHING and not (place.has_moved and word.text in _HERE):
            return EVERYTHING
        if word.is_literal and not word.text.startswith("-") and place.is_beyond(word.text):
            return FOLDER
    return ""


def _by_git(plain: Sequence[str], texts: Sequence[str]) -> str:
    verb = plain[0] if plain else ""
    if verb == "push":
        is_forced = any(text in ("--force", "-f", "--delete", "--mirror") for text in texts)
        return BRANCH if is_forced or any(p[:1] == "+" for p in plain[1:]) else ""
    loses = (
        verb == "reset" and "--hard" in texts
        or verb == "clean" and any(re.match(r"-\w*f", text) for text in texts) and not _is_dry(texts)
        or verb in ("checkout", "restore") and plain[1:] in (["."], ["./"], ["HEAD", "."]) and "--staged" not in texts
        or verb == "stash" and plain[1:2] in (["drop"], ["clear"])
        or verb in ("filter-branch", "filter-repo")
    )  # fmt: skip
    return CHANGES if loses else ""


def _is_dry(texts: Sequence[str]) -> bool:
    return any(text == "--dry-run" or re.fullmatch(r"-\w*n\w*", text) for text in texts)


def _by_find(rest: Sequence[Word], place: _Place) -> str:
    texts = [word.text for word in rest]
    if "-delete" not in texts and not any(
        one == "-exec" and two == "rm" for one, two in zip(texts, texts[1:], strict=False)
    ):
        return ""
    roots = list(_before_options(rest))
    is_beyond = any(word.is_literal and place.is_beyond(word.text) for word in roots)
    return FILES if is_beyond else ""


def _before_options(words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        if word.text.startswith(("-", "(", "!")):
            return
        yield word


def _by_sql(query: str) -> tuple[str, str] | None:
    """Tables that are dropped or emptied."""
    for write in sql.writes(query):
        if write.verb in ("DROP", "TRUNCATE") or write.verb == "DELETE" and not re.search(r"\bwhere\b", query, re.I):
            return DATA, str(write)
    return None
