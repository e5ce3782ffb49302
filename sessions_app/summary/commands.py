"""Shell commands as a reader of a run knows them: is it a test run, and is it the same command as one before?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from .lines import cut

LOOKED_AT = 4_000
"""Characters of a command."""
MOST_PARTS, MOST_WORDS = 40, 24
_MAY_TEST = re.compile(r"test|spec|jest|mocha|tox|nox|check|behave|cucumber|bats|verify|phpunit|pest\b|\bava\b")
_BETWEEN = re.compile(r"[;\n()]|&&|\|\||\|")
_SET = re.compile(r"[A-Za-z_]\w*=")
_REDIRECTS = re.compile(r"\d?[<>]")
_BEFORE = frozenset({
    "sudo", "time", "nice", "env", "exec", "command", "nohup", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "rye",
    "bundle", "npx", "bunx", "run", "xvfb-run", "then", "do", "else", "!", "{", "dotenv", "cross-env", "bash", "sh",
})  # fmt: skip
"""Words that stand before the command that is meant."""
_RUNNERS = frozenset({
    "pytest", "py.test", "jest", "vitest", "mocha", "ava", "phpunit", "pest", "rspec", "ctest", "tox", "nox", "behave",
    "cucumber", "bats", "busted", "karma", "nose2", "nosetests", "ginkgo", "gotestsum", "unittest", "runtests.py",
})  # fmt: skip
_SCRIPTS = frozenset({"npm", "yarn", "pnpm", "bun", "deno"})
_WITH_TARGET = frozenset({
    "make", "gmake", "just", "task", "rake", "ninja", "cargo", "go", "mvn", "mvnw", "gradle", "gradlew", "sbt", "bazel",
    "dotnet", "swift", "flutter", "dart", "mix", "zig", "rails", "composer", "artisan", "stack", "cabal", "lein",
    "xcodebuild", "meson", "manage.py", "playwright", "cypress", "hardhat", "forge",
})  # fmt: skip
_TARGET = re.compile(r"(?:[\w:.-]*:)?(?:tests?|check|spec|verify|nextest|testing)(?:[-_:.][\w:.-]*)?", re.IGNORECASE)
_NOT_MEANT = frozenset({"cd", "export", "set", "source", ".", "echo", "pushd", "popd", "true", "sleep", "printf"})


def runner(command: str) -> str:
    """What a command runs tests with: ``pytest``, ``npm test``, ``make test``; empty for every other command."""
    if not _MAY_TEST.search(command[:LOOKED_AT]):
        return ""
    return next(filter(None, (_runner(words) for words in _parts(command))), "")


def is_piped(command: str) -> bool:
    """Whether the exit code of a command may be another one's: that of the last in a pipe, or of what follows it."""
    return bool(re.search(r"\||;|\n", command[:LOOKED_AT].strip().rstrip(";")))


def meant(command: str) -> str:
    """What a command is known by when it is run again: its words without options, and without ``cd`` and pipes."""
    return _meant(command[:LOOKED_AT])


@lru_cache(maxsize=16)
def _meant(command: str) -> str:
    """Remembered for a moment: of most calls it is asked twice, when they are made and when their result comes."""
    parts = _parts(command)
    telling = [words for words in parts if _runner(words)] or [w for w in parts if w[0] not in _NOT_MEANT] or parts
    words = telling[0] if telling else []
    return cut(" ".join(word for word in words if not word.startswith("-")) or command[:200], 120)


def _parts(command: str) -> list[list[str]]:
    """Words of each simple command, without what stands before its name, and without redirections."""
    found = []
    for part in _BETWEEN.split(command[:LOOKED_AT], maxsplit=MOST_PARTS):
        words = [word.strip("'\"`") for word in part.split(maxsplit=MOST_WORDS)[:MOST_WORDS]]
        if words := _bare([word for word in words if word and word != "&" and not _REDIRECTS.match(word)]):
            found.append(words)
    return found


def _bare(words: Sequence[str]) -> list[str]:
    start = 0
    while start < len(words):
        word = words[start]
        if word == "timeout" and start + 1 < len(words):
            start += 1
            while start < len(words) and words[start].startswith("-"):
                start += 1
        elif not (word in _BEFORE or _SET.match(word) or start and word.startswith("-") and words[start - 1] != "-m"):
            break
        start += 1
    return list(words[start:])


def _runner(words: Sequence[str]) -> str:
    if not words:
        return ""
    name = words[0].rpartition("/")[2]
    rest = [word for word in words[1:] if not word.startswith("-")]
    if name.startswith(("python", "pypy", "php", "node", "ruby")) and rest:
        return _runner([rest[0], *rest[1:]])
    if name in _RUNNERS:
        return name
    if name in _SCRIPTS:
        rest = rest[1:] if rest[:1] in (["run"], ["exec"], ["dlx"]) else rest
        if rest and (_TARGET.fullmatch(rest[0]) or rest[0] == "t"):
            return f"{name} test"
        return _runner(rest) if rest and rest[0] not in _SCRIPTS else ""
    if name in _WITH_TARGET and any(_TARGET.fullmatch(word) for word in rest[:6]):
        return f"{name} test"
    return ""
