"""Files that a shell command evidently writes: redirections, and commands that are known to write what they name.

A command can write anything besides; what it wrote is never known. Names with variables or patterns in them are left
out: which files those are, the command does not say.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sessions_app.rendering.arguments.shell import MOST, TOKEN

from .change import Change
from .patches import changes_in
from .paths import join

MOST_WRITES = 200
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "ash"})
NAMES = frozenset({
    "bash", "shell", "exec", "execcommand", "localshell", "localshellcall", "runshellcommand", "runterminalcmd",
    "runinterminal", "executebash", "terminal", "powershell", "runcommand", "shellcommand", "containerexec",
    "executecommand", "runterminalcommand", "bashtool", "unifiedexec", "cmd", "runbash",
})  # fmt: skip
"""Names of tools that run a command, without case, "_", "-" and "."."""
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([\w.!-]{1,80})\1")
_DYNAMIC = re.compile(r"[*?`$\[{]|^[&(]|^-$")
_BEFORE = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "then", "do", "else", "{", "("})
_SET = re.compile(r"[A-Za-z_]\w*=")
_IN_PLACE = re.compile(r"-[EnrsplwaF0]*i|--in-place")
_PATCH = re.compile(r"\*\*\* Begin Patch\n.*?(?:\n\*\*\* End Patch|\Z)", re.DOTALL)


@dataclass(slots=True)
class Word:
    """A word without its quotes; one that is not literal holds what the shell puts in."""

    text: str = ""
    is_literal: bool = True


@dataclass(slots=True)
class Command:
    """A simple command."""

    words: list[Word] = field(default_factory=list)
    targets: list[tuple[str, Word]] = field(default_factory=list)
    """Of redirections, with ``>``, ``>>`` or ``<``."""


def command_of(name: str | None, arguments: Any) -> str:
    """The command that a tool call runs; empty for calls of other tools."""
    if not _runs_commands(name or ""):
        return ""
    if not isinstance(arguments, dict):
        return arguments if isinstance(arguments, str) else ""
    found = next((arguments[key] for key in ("command", "cmd", "script", "code") if arguments.get(key)), "")
    if isinstance(found, list) and all(isinstance(word, str) for word in found):
        is_script = len(found) == 3 and found[0].rpartition("/")[2] in SHELLS and re.fullmatch(r"-\w*c", found[1])
        return found[2] if is_script else shlex.join(found[:1_000])
    return found if isinstance(found, str) else ""


@lru_cache(maxsize=512)
def _runs_commands(name: str) -> bool:
    """Whether a tool is a shell, by its name."""
    return re.sub(r"[_\-. ]", "", name.rpartition("__")[2]).lower().removeprefix("functions") in NAMES


def writes_of(command: str, base: str = "") -> list[Change]:
    """Changes by a command that runs in the directory ``base``: of its patches (``apply_patch <<EOF``), and by name."""
    if "apply_patch" in command[:MOST] and "*** Begin Patch" in command:
        found = [change for match in _PATCH.finditer(command) for change in changes_in(match[0], "apply_patch")]
        return found[:MOST_WRITES]
    changes: dict[tuple[str, str], Change] = {}
    for path, how, was in _written(command[:MOST], base, 0):
        changes.setdefault((path, how), Change(path, "shell", how, was=was))
        if len(changes) == MOST_WRITES:
            break
    return list(changes.values())


def _written(command: str, base: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Path, how, and the path before for what moves."""
    for each in commands_in(command):
        words = bare(each.words)
        if words and words[0].text == "[[":  # there > compares
            continue
        for how, word in each.targets:
            if how != "<" and _is_file(word):
                yield join(base, word.text), how, ""
        if not words:
            continue
        name = words[0].text.rpartition("/")[2]
        if name == "cd" and len(words) == 2:
            base = join(base, words[1].text) if words[1].is_literal else "\0"
        if base == "\0":  # in a directory that is not named
            return
        if name in SHELLS and depth < 2 and len(words) > 2 and re.fullmatch(r"-\w*c", words[1].text):
            yield from _written(words[2].text, base, depth + 1)
        for path, how, was in _by_name(name, words[1:]):
            yield join(base, path), how, join(base, was) if was else ""


def _by_name(name: str, words: Sequence[Word]) -> Iterator[tuple[str, str, str]]:
    """What a command writes that is known for it."""
    if name == "git" and words and words[0].text in ("mv", "rm"):
        name, words = f"git {words[0].text}", words[1:]
    options = [word.text for word in words if word.text.startswith("-")]
    named = [word for word in words if not word.text.startswith("-")]
    if name in ("sed", "gsed", "perl"):
        if any(map(_IN_PLACE.match, options)):
            yield from ((word.text, f"{name} -i", "") for word in _behind_script(words) if _is_file(word))
    elif name in ("tee", "touch", "rm", "unlink", "rmdir", "git rm", "truncate", "mkdir"):
        yield from ((f"{word.text}{'/' * (name == 'mkdir')}", name, "") for word in named if _is_file(word))
    elif name in ("mv", "git mv", "cp", "install", "ln") and len(named) > 1 and _is_file(named[-1]):
        into = named[-1].text
        for word in named[:-1]:
            many = len(named) > 2 or into.endswith("/") or into in (".", "..")
            if _is_file(word) or not many:
                path = f"{into.rstrip('/')}/{word.text.rstrip('/').rpartition('/')[2]}" if many else into
                is_moved = name.endswith("mv") and _is_file(word)
                if is_moved:
                    yield word.text, f"{name} away", ""
                yield path, name, word.text if is_moved else ""
    elif name in ("curl", "wget"):
        flags = ("-o", "--output") if name == "curl" else ("-O", "--output-document")
        for flag, word in zip(words, words[1:], strict=False):
            if flag.text in flags and _is_file(word):
                yield word.text, name, ""


def _behind_script(words: Sequence[Word]) -> list[Word]:
    """Files of ``sed`` and ``perl``: what is no option, and no script (the first one, or what follows ``-e``)."""
    scripts = [index for index, word in enumerate(words) if re.fullmatch(r"-\w*[ef]|--expression|--file", word.text)]
    is_taken = {index + 1 for index in scripts}
    named = [word for index, word in enumerate(words) if index not in is_taken and not word.text.startswith("-")]
    return named if scripts else named[1:]


def bare(words: list[Word]) -> list[Word]:
    """Words of a command without what stands before its name: variables that are set, ``sudo``."""
    start = 0
    while start < len(words) and (words[start].text in _BEFORE or _SET.match(words[start].text)):
        start += 1
    return words[start:]


def _is_file(word: Word) -> bool:
    return bool(word.text) and word.is_literal and not word.text.startswith(("/dev/", "/proc/", "&"))


def commands_in(command: str) -> Iterator[Command]:
    """Simple commands of a text, in their order; what a here-document holds is no command."""
    at, current, redirect = 0, Command(), ""
    word: Word | None = None
    heredocs: list[str] = []

    def close() -> None:
        nonlocal word, redirect
        if word is None:
            return
        if redirect:
            current.targets.append((redirect, word))
        else:
            current.words.append(word)
        word, redirect = None, ""

    while at < len(command):
        if heredoc := _HEREDOC.match(command, at):
            close()
            heredocs.append(heredoc[2])
            at = heredoc.end()
            continue
        token = TOKEN.match(command, at)
        if token is None:  # the pattern takes any character; said for the type
            break
        kind, text, at = token.lastgroup, token[0], token.end()
        if kind in ("word", "string", "variable", "other"):
            if kind == "other" and text == "&":  # &>
                continue
            word = word or Word()
            word.text += _unquoted(text) if kind in ("string", "word") else text
            word.is_literal &= kind not in ("variable", "other") and not _is_dynamic(kind, text)
        elif kind == "op" and text in (">", ">>", "<"):
            if word and word.text.isdigit():  # 2> x: the number is no word
                word = None
            close()
            redirect = text
        elif kind == "op" and not text.startswith("<"):
            is_duplicate = redirect and word is None  # >&2
            close()
            redirect = ""
            if is_duplicate and text == "&":
                continue
            yield current
            current = Command()
            if text == "\n" and heredocs:
                at = _behind(command, at, heredocs)
                heredocs = []
        else:
            close()
    close()
    yield current


def _behind(command: str, at: int, delimiters: list[str]) -> int:
    """Where the bodies of here-documents end."""
    for delimiter in delimiters:
        end = re.compile(rf"^\t*{re.escape(delimiter)}[ \t]*$", re.MULTILINE).search(command, at)
        if end is None:
            return len(command)
        at = end.end()
    return at


def _is_dynamic(kind: str | None, text: str) -> bool:
    if text.startswith("'"):
        return False
    return "$" in text or "`" in text if kind == "string" else bool(_DYNAMIC.search(text))


def _unquoted(text: str) -> str:
    if text[:1] == "'":
        return text.strip("'")
    if text[:1] == '"':
        text = text[1:-1] if len(text) > 1 and text.endswith('"') else text[1:]
    return re.sub(r"\\(.)", r"\1", text.replace("\\\n", ""), flags=re.DOTALL)
