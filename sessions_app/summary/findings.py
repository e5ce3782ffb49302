"""Findings of a run: what rules mark in a session by themselves, each with the events that it stands on.

Pure, and told of one event after the other by ``state.Summary``, with which it is stored. A rule that is wrong once in
five times is not read any more: each leaves out what is usual and harmless rather than mark it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from sessions_app.phrases import Phrase
from sessions_app.phrases import gettext as _
from sessions_app.rendering import masking
from sessions_app.rendering.arguments import secrets
from sessions_app.rendering.toolline import describe_call

from .calls import CallKind
from .commands import meant, runner
from .destructive import SAID, destroyed
from .lines import cut
from .places_outside import written_outside


class Rule(NamedTuple):
    """A rule as a person reads it."""

    name: str
    label: str
    about: str


RULES = (
    Rule("error_left", _("Error not recovered"),
         _("a call failed, or the run did, and nothing of its kind succeeded later")),
    Rule("outside_directory", _("File outside the working directory"),
         _("a file that is not below the directory in which the session began was written; not temporary files")),
    Rule("destructive_command", _("Command that destroys"),
         _("files outside of the work, a branch, uncommitted changes, a table or a system were deleted")),
    Rule("secret_in_text", _("Secret in the text"),
         _("a key or password that is one beyond doubt stands in a message, a call or a result")),
    Rule("tests_failing", _("Tests left failing"),
         _("the last test run of the session said that tests failed")),
)  # fmt: skip
NAMES = tuple(rule.name for rule in RULES)
BY_NAME = {rule.name: rule for rule in RULES}
IN_TEXTS: dict[str, Callable[[str], Phrase]] = {
    "in a prompt": lambda secret: _("%(secret)s in a prompt", secret=secret),
    "in a message": lambda secret: _("%(secret)s in a message", secret=secret),
    "in a call": lambda secret: _("%(secret)s in a call", secret=secret),
    "in a result": lambda secret: _("%(secret)s in a result", secret=secret),
}
"""Where a secret stands, behind its name in the words that are stored."""
_SAID = {str(words): words for words in SAID}
PLACES = 3
"""Events of a rule that are kept: the first ones; all are counted."""
WORDS, QUOTE = 60, 100
"""Bytes."""
LEFT = 12
"""Errors that wait for a success of their kind; of more it is known that there were some."""
RUN = "run"
"""Key of an error that no call had: the run goes on, or not."""
_DOES = frozenset({
    "npm", "npx", "yarn", "pnpm", "bun", "pip", "pip3", "uv", "poetry", "pipenv", "cargo", "go", "make", "cmake",
    "ninja", "gradle", "gradlew", "mvn", "mvnw", "bazel", "dotnet", "swift", "xcodebuild", "rake", "bundle", "mix",
    "tsc", "vite", "webpack", "eslint", "ruff", "mypy", "black", "prettier", "gcc", "g++", "clang", "javac", "rustc",
    "docker", "podman", "docker-compose", "kubectl", "helm", "terraform", "tofu", "pulumi", "ansible-playbook",
    "alembic", "flask", "django", "psql", "mysql", "apt", "apt-get", "brew", "dnf", "apk", "twine", "aws", "gcloud",
    "az", "fly", "vercel", "netlify", "systemctl", "rsync", "scp", "apply_patch", "pre-commit", "sbt", "meson",
    "flutter", "deno", "composer",
})  # fmt: skip
"""Commands that build, install, check or deploy: of others (``grep``, ``ls``) a failure is often the answer."""
_LOOKS = re.compile(
    r"(?:^|_)(?:read|get|list|view|search|find|glob|grep|fetch|query|lookup|open|show|describe|check|todo\w*|plan)(?:_|$)",
    re.IGNORECASE,
)
_GIT = frozenset({"push", "commit", "merge", "rebase", "clone", "apply", "am", "cherry-pick", "tag"})
"""What of Git does something."""
_NO_ERROR = re.compile(
    r"user (?:doesn't want|does not want|rejected|declined|denied|cancell?ed|interrupted|aborted)"
    r"|(?:interrupted|rejected) by (?:the )?user|tool use was rejected|request interrupted|operation was aborted"
    r"|permission (?:to use|for this|request)|no changes (?:were |are )?(?:necessary|needed|required)",
    re.IGNORECASE,
)
"""Results that say that a person stopped the call, or that there was nothing to do."""


class Place(NamedTuple):
    """An event that a finding stands on."""

    seq: int
    words: str
    """The desk's own."""
    quoted: str
    """Of the transcript, without what looks like a secret."""


@dataclass(slots=True)
class Finding:
    """What a rule found. ``places``: the first few of ``count``."""

    rule: str
    count: int
    places: list[Place]

    @property
    def label(self) -> str:
        return BY_NAME[self.rule].label


Mark = tuple[str, str, str]
"""Rule, words and quote of what is found if the call comes to pass."""


def worded(words: str) -> str:
    """Words of a place as a page can say them in its language; those that are a name stay as they are."""
    if words in _SAID:
        return _SAID[words]
    secret, _in, where = words.rpartition(" in a ")
    said = IN_TEXTS.get(f"in a {where}") if secret else None
    return said(secret) if said else words


class Findings:
    """What the rules have found until now; ``tests_failing`` is told by the last test run, see ``found``."""

    __slots__ = ("_found", "left", "left_beyond")

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        kept = stored or {}
        self._found: dict[str, list[Any]] = kept.get("found", {})
        """``[count, [[seq, words, quote], ...]]`` of each rule that counts events."""
        self.left: dict[str, list[Any]] = kept.get("left", {})
        """``[seq, quote]`` of the last error of each kind of which nothing has succeeded since."""
        self.left_beyond: int = kept.get("beyond", 0)

    def add(self, rule: str, seq: int, words: str, quoted: str = "") -> None:
        """Count an event. ``quoted`` is from the transcript."""
        found = self._found.setdefault(rule, [0, []])
        if found[1] and found[1][-1][0] == seq:
            return
        found[0] += 1
        if len(found[1]) < PLACES:
            found[1].append([seq, cut(words, WORDS), quote(quoted)])

    def fail(self, key: str, seq: int, line: str) -> None:
        """A call of a kind failed."""
        if key in self.left or len(self.left) < LEFT:
            self.left.pop(key, None)
            self.left[key] = [seq, quote(line)]
        else:
            self.left_beyond += 1

    def come_to_pass(self, seq: int, marks: Sequence[Mark]) -> None:
        """A call was executed, as far as anybody knows."""
        for rule, words, quoted in marks:
            self.add(rule, seq, words, quoted)

    def failed(self, seq: int, marks: Sequence[Mark], key: str, text: str, line: str) -> None:
        """A call failed: what it was to write it has not written; what it was to destroy may be gone all the same."""
        if _NO_ERROR.search(text[:2_000]):
            return
        self.come_to_pass(seq, [mark for mark in marks if mark[0] == "destructive_command"])
        if key:
            self.fail(key, seq, line)

    def succeed(self, key: str) -> None:
        """A call of a kind succeeded: what failed of it before is recovered."""
        self.left.pop(key, None)

    def found(self, tests: dict[str, Any] | None) -> list[Finding]:
        """Findings in the order of the rules. ``tests``: the last test run, as the summary has it."""
        found = {
            name: Finding(name, count, [Place(*place) for place in places])
            for name, (count, places) in self._found.items()
        }
        if self.left:
            errors = sorted(self.left.values())
            places = [Place(seq, "", said) for seq, said in errors[-PLACES:]]
            found["error_left"] = Finding("error_left", len(errors) + self.left_beyond, places)
        if tests and tests["outcome"] == "failed" and tests["line"]:
            found["tests_failing"] = Finding(
                "tests_failing", 1, [Place(tests["seq"], tests["with"], quote(tests["line"]))]
            )
        return [found[name] for name in NAMES if name in found]

    def stored(self) -> dict[str, Any]:
        kept = {"found": self._found, "left": self.left, "beyond": self.left_beyond}
        return {name: value for name, value in kept.items() if value}


def quote(text: str) -> str:
    """Words of a transcript in one line, without what looks like a secret."""
    return cut(masking.mask(secrets.in_text(text[: 8 * QUOTE])[0])[0], QUOTE)


def kind_key(tool: str, kind: CallKind, command: str, files: list[str]) -> str:
    """What has to succeed after a call failed so that the error is recovered; empty: nothing waits for it.

    A command by its program, an edit by its file, any other call by its tool. Whoever looks for what is not there has
    their answer; test runs have a rule of their own.
    """
    if kind == "command":
        first, _, rest = meant(command).partition(" ")
        name = first.rpartition("/")[2]
        if name == "git":
            verb = rest.partition(" ")[0]
            return f"$ git {verb}" if verb in _GIT else ""
        return f"$ {name}" if name in _DOES and not runner(command) else ""
    if kind == "edit":
        return f"edit {files[0]}" if files else "edit"
    return "" if kind in ("page", "search") else _key_of_tool(tool)


@lru_cache(maxsize=512)
def _key_of_tool(tool: str) -> str:
    """The same of a tool that is known by its name alone."""
    if describe_call(tool, None).icon in ("file", "search", "list"):
        return ""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool.rpartition("__")[2]).replace("-", "_")
    return "" if _LOOKS.search(name) else cut(tool, 48)


def marks_of(tool: str, arguments: Any, command: str, paths: Sequence[str], cwd: str) -> Iterator[Mark]:
    """What is found of a call if it comes to pass. ``paths``: the files that it edits, as it says."""
    if found := destroyed(tool, arguments, command, cwd):
        yield "destructive_command", found[0], quote(found[1])
    elif path := written_outside(paths, command, cwd):
        yield "outside_directory", "", quote(path)
