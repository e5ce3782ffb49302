"""The summary of a session while its events come in, one after the other."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from zlib import crc32

from sessions_app.drafts import EventDraft, ToolDraft

from . import commands, outcomes
from .calls import CallKind, command_of, edited, kind_of, subject_of
from .failures import LINE, TOOL, Failures
from .findings import RUN, Finding, Findings, Mark, kind_key, marks_of
from .lines import cut, ends, first_lines, first_sentence, reason
from .secret_shapes import SHORTEST, may_hold_secret, named_in, scanned, texts_in

VERSION = 4
PROMPTS = 5
"""Prompts of which the first sentence is kept, and the last one besides."""
PROMPT, MESSAGE = 200, 400
"""Bytes."""
OPEN = 12
"""Calls without a result that are remembered."""
FILES = 256
"""Edited files that are told apart."""
ID = 24
"""Characters at the end of a call's id, by which its result is known."""
PATHS = 8
"""Edited files of one call."""
SCANNED_AT_ONCE = 32 * 1024
"""Characters in which secrets are looked for together: what is asked of RE2 costs more than what it does with 200 of
them."""
SAYS_NOTHING = frozenset({"", "error", "failed", "failure"})
"""Reasons of a failure beside which its object is told."""
RECORDED = ("recording", "recording-set", "video", "audio")
"""Types of artifacts that are a recording: of the types of a vCon's dialogs (draft-ietf-vcon-vcon-core) the first two,
and what files in the wild have in their place. No set: a type may be anything that JSON has, a list, too."""
PUBLIC = frozenset({"page", "search"})
"""Kinds of calls in whose results keys are what anybody can read on the web."""


@dataclass(slots=True)
class OpenCall:
    """A call that has no result yet. ``subject``: None as long as nobody asked for it, and ``arguments`` are there."""

    seq: int
    call_id: str
    tool: str
    kind: CallKind
    depth: int
    subject: str | None
    files: list[str]
    piped: bool = False
    marks: list[Mark] = field(default_factory=list)
    """What is found of it if it comes to pass."""
    retry: str = ""
    """What has to succeed if it fails, see ``findings.kind_key``."""
    arguments: Any = None

    def named(self) -> str:
        if self.subject is None:
            self.subject = subject_of(self.tool, self.arguments, self.kind)
        return self.subject

    def stored(self) -> list[Any]:
        return [
            self.seq,
            self.call_id,
            cut(self.tool, TOOL),
            self.kind,
            self.depth,
            self.named(),
            self.files,
            self.piped,
            self.marks,
            self.retry,
        ]


class Summary:
    """What happened until now. ``take`` is told of each event in the order of the log."""

    def __init__(self, stored: dict[str, Any] | None = None, cwd: str = "") -> None:
        found = stored or {}
        self._cwd = cwd
        self.prompts: list[list[Any]] = found.get("prompts", [])
        """``[seq, first sentence]`` of the first ``PROMPTS``."""
        self.last_prompt: list[Any] | None = found.get("last_prompt")
        self.asked: int = found.get("asked", 0)
        self.counts: dict[str, list[int]] = found.get("counts", {})
        """``[how many, the first event]`` of each kind of call."""
        self.artifacts: dict[str, list[Any]] = found.get("artifacts", {})
        """``[how many, the first event, how that is called]`` of recordings and of other artifacts."""
        self.edits: int = found.get("edits", 0)
        files = found.get("files", "")
        self.files: dict[str, None] = dict.fromkeys(files[at : at + 6] for at in range(0, len(files), 6))
        """Checksums of the paths of edited files."""
        self.files_beyond: bool = found.get("files_beyond", False)
        self._said: list[Any] | None = found.get("said")
        self._message: tuple[int, str] | None = None
        """A later one, whole: which of them is the last is known when somebody asks."""
        self.broken: list[Any] | None = found.get("broken")
        """``[seq, line]`` of an error after which nothing came."""
        self.tests: dict[str, Any] | None = found.get("tests")
        self.results: int = found.get("results", 0)
        self.last: int = found.get("last", 0)
        """The last event in which anything was said or done."""
        self.failures = Failures.read(found.get("failures", []))
        self._findings = Findings(found.get("findings"))
        self._unscanned: list[tuple[int, str, str]] = []
        """Texts in which secrets have not been looked for yet, each with its event and what it is."""
        self._unscanned_size = 0
        self._open: OrderedDict[int, OpenCall] = OrderedDict()
        self._by_id: dict[str, int] = {}
        for row in found.get("open", []):
            self._remember(OpenCall(*row))

    @property
    def open(self) -> list[OpenCall]:
        """Calls without a result, the latest last."""
        return list(self._open.values())

    @property
    def said(self) -> list[Any] | None:
        """``[seq, first two lines]`` of the last message of the main agent."""
        if self._message:
            seq, text = self._message
            self._said, self._message = [seq, first_lines(text, 2, MESSAGE)], None
        return self._said

    def take(self, seq: int, parent_seq: int | None, event: EventDraft) -> None:
        """The next event of the log."""
        kind = event.kind
        if kind == "tool_call":
            self._call(seq, event)
        elif kind == "tool_result":
            self._result(seq, parent_seq, event)
        elif kind == "agent_message":
            self._answer(seq, event)
        elif kind == "user_message":
            self._prompt(seq, event)
        elif kind == "error":
            self._error(seq, event)
        elif kind == "artifact":
            self._artifact(seq, event.data)

    @property
    def findings(self) -> list[Finding]:
        """What the rules found until now."""
        self._scan()
        return self._findings.found(self.tests)

    def _look_for_secrets(self, seq: int, where: str, *texts: str) -> None:
        for text in texts:
            if len(text) >= SHORTEST:
                self._unscanned.append((seq, where, scanned(text)))
                self._unscanned_size += len(text)
        if self._unscanned_size > SCANNED_AT_ONCE:
            self._scan()

    def _scan(self) -> None:
        """Look for secrets in the texts that came since the last time; nearly always there is none in all of them."""
        texts, self._unscanned, self._unscanned_size = self._unscanned, [], 0
        if not may_hold_secret("\n".join(text for _, _, text in texts)):
            return
        for seq, where, text in texts:
            for name in named_in(text):
                self._findings.add("secret_in_text", seq, f"{name} {where}")

    def _prompt(self, seq: int, event: EventDraft) -> None:
        self._look_for_secrets(seq, "in a prompt", event.text)
        if event.depth:
            return
        self.asked += 1
        self.last = seq
        said = [seq, first_sentence(event.text, PROMPT)]
        if len(self.prompts) < PROMPTS:
            self.prompts.append(said)
        self.last_prompt = said

    def _answer(self, seq: int, event: EventDraft) -> None:
        self._goes_on(seq)
        self._look_for_secrets(seq, "in a message", event.text)
        if not event.depth and event.text.strip():
            self._message = seq, event.text

    def _error(self, seq: int, event: EventDraft) -> None:
        line = reason(event.text, event.data, LINE)
        self.failures.add(seq, "", line or "error", "")
        self.last, self.broken = seq, [seq, line]
        self._findings.fail(RUN, seq, line or "error")

    def _artifact(self, seq: int, data: dict[str, Any]) -> None:
        kind = "recording" if data.get("type") in RECORDED else "other"
        name = data.get("name")
        counted = self.artifacts.setdefault(kind, [0, seq, cut(name, TOOL) if isinstance(name, str) else ""])
        counted[0] += 1

    def _goes_on(self, seq: int) -> None:
        """Something was said or done: earlier errors have not ended the run."""
        self.last, self.broken = seq, None
        self._findings.succeed(RUN)
        if self.failures.may_recover(""):
            self.failures.succeed("", "")

    def _call(self, seq: int, event: EventDraft) -> None:
        self.last = seq
        tool = event.tool or ToolDraft()
        name = tool.name or ""
        kind, short = _known(name)
        counted = self.counts.setdefault("other" if _looks(kind, tool.arguments) else kind, [0, seq])
        counted[0] += 1
        command = command_of(name, tool.arguments) if kind == "command" else ""
        self._look_for_secrets(seq, "in a call", *texts_in(tool.arguments))
        if tool.status == "error":
            self.failures.add(
                seq, cut(name, TOOL), reason(event.text, None, LINE), subject_of(name, tool.arguments, kind)
            )
            return
        paths = edited(name, tool.arguments, kind, command)[:PATHS]
        files = [_checksum(path) for path in paths]
        piped = False
        if command and (runner := commands.runner(command)):
            piped = commands.is_piped(command)
            runs = self.tests["runs"] if self.tests else 0
            self.tests = {"seq": seq, "with": runner, "command": cut(command, 160), "runs": runs + 1,
                          "result": None, "outcome": "no result", "line": ""}  # fmt: skip
        marks = list(marks_of(name, tool.arguments, command, paths, self._cwd))
        retry = "" if event.depth else kind_key(short, kind, command, files)
        call_id = (tool.call_id or "")[-ID:]
        self._remember(
            OpenCall(seq, call_id, short, kind, event.depth, None, files, piped, marks, retry, tool.arguments)
        )

    def _remember(self, call: OpenCall) -> None:
        self._open[call.seq] = call
        if call.call_id:
            self._by_id[call.call_id] = call.seq
        while len(self._open) > OPEN:
            _, forgotten = self._open.popitem(last=False)
            self._edited(forgotten)
            self._findings.come_to_pass(forgotten.seq, forgotten.marks)
            if self._by_id.get(forgotten.call_id) == forgotten.seq:
                del self._by_id[forgotten.call_id]

    def _result(self, seq: int, parent_seq: int | None, event: EventDraft) -> None:
        tool = event.tool or ToolDraft()
        found = parent_seq if parent_seq in self._open else self._by_id.get((tool.call_id or "")[-ID:])
        call = self._open.pop(found, None) if found is not None else None
        if call is None or call.kind not in PUBLIC:
            self._look_for_secrets(seq, "in a result", event.text or _output(tool.result))
        if call is None:
            return
        if self._by_id.get(call.call_id) == call.seq:
            del self._by_id[call.call_id]
        self.results += 1
        if self.tests and self.tests["seq"] == call.seq:
            text = event.text or _output(tool.result)
            outcome, line = outcomes.outcome(text, tool.status, exit_code_is_its_own=not call.piped)
            self.tests |= {"result": seq, "outcome": outcome, "line": line}
        if tool.status == "error":
            self.last = seq
            line = reason(event.text, tool.result, LINE)
            if line.strip(".: ").casefold() in SAYS_NOTHING:
                line = cut(f"{call.named()}: {line}" if line else call.named(), LINE)
            self.failures.add(call.seq, call.tool, line, call.named())
            self._findings.failed(call.seq, call.marks, call.retry, event.text, line)
            return
        self._goes_on(seq)
        if tool.status in ("denied", "cancelled"):
            return
        self._findings.come_to_pass(call.seq, call.marks)
        self._findings.succeed(call.retry)
        self._edited(call)
        if self.failures.may_recover(call.tool):
            self.failures.succeed(call.tool, call.named())

    def edited(self) -> tuple[int, int]:
        """Edits, and files that they are of, with those of calls that have no result."""
        files = set(self.files).union(*(call.files for call in self.open))
        return self.edits + sum(bool(call.files) for call in self.open), len(files)

    def _edited(self, call: OpenCall) -> None:
        self.edits += bool(call.files)
        for file in call.files:
            if file in self.files or len(self.files) < FILES:
                self.files[file] = None
            else:
                self.files_beyond = True

    def stored(self) -> dict[str, Any]:
        """Everything as JSON, of at most 16 KB; nothing of what is empty: each append writes it."""
        self._scan()
        everything = {
            "version": VERSION, "prompts": self.prompts, "last_prompt": self.last_prompt, "asked": self.asked,
            "counts": self.counts, "artifacts": self.artifacts,
            "edits": self.edits, "files": "".join(self.files), "files_beyond": self.files_beyond,
            "said": self.said, "broken": self.broken, "tests": self.tests, "results": self.results, "last": self.last,
            "failures": self.failures.stored(), "findings": self._findings.stored(),
            "open": [call.stored() for call in self._open.values()],
        }  # fmt: skip
        return {name: value for name, value in everything.items() if value}


@lru_cache(maxsize=512)
def _known(name: str) -> tuple[CallKind, str]:
    """What calls of a tool are, and its name as it is kept."""
    return kind_of(name), cut(name, TOOL)


def _looks(kind: CallKind, arguments: Any) -> bool:
    """Whether a call of a tool that edits files only shows one, as that of Anthropic's text editor may."""
    return kind == "edit" and isinstance(arguments, dict) and arguments.get("command") == "view"


def _checksum(path: str) -> str:
    return f"{crc32(path.encode('utf-8', 'surrogatepass')) & 0xFFFFFF:06x}"


def _output(result: Any) -> str:
    """What a command printed, where its result is a structure."""
    if isinstance(result, str):
        return ends(result)
    found = (result.get(key) for key in ("output", "stdout", "content")) if isinstance(result, dict) else ()
    return ends(next((text for text in found if isinstance(text, str) and text.strip()), ""))
