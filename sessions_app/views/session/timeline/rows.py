"""One row of the timeline for each event, as a small class for each form that a row can have.

``row_of`` picks the class. Text of the transcript leaves here as HTML of the sanitised renderer, or as plain text
that the template escapes; nothing else is marked safe.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.safestring import SafeString, mark_safe

from sessions_app.models import Approval, ModelRequest, Session, ToolCall
from sessions_app.queries.log.timeline import Entry, Nested, Window
from sessions_app.rendering import markdown, marks, text, toolbody, toolline
from sessions_app.views.approvals import cards

INLINE = 600
"""Bytes of arguments and result together up to which a card carries its body instead of fetching it when opened."""
FOLDED, FOLDED_LINES = 2_000, 60
"""Characters and lines of a folded text that its row carries."""
FACTS, FACT = 12, 200
"""Facts of the recorder that a row carries, and characters of each."""
PROMPT, PROMPT_LINES = 2_400, 32
"""Characters and lines of a prompt that stand in the timeline; long ones are pasted files, rarely read twice."""
RESULT_ALONE = marks.Mark("result without its call")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What every row has. ``actor`` is its kind (person, agent, subagent, tool, system), ``label`` its name."""

    template: ClassVar[str]
    folds: ClassVar[bool] = False
    """Whether a run of such rows may be folded into one line."""
    frame: ClassVar[int] = 1_000
    """Bytes of HTML around what a row says."""
    entry: Entry
    actor: str
    label: str
    request: ModelRequest | None
    nested: Nested | None
    text: str = ""
    html: SafeString | None = None
    """What the row carries, as text or as Markdown rendered; ``cut`` says that the event has more of it."""
    cut: bool = False

    @property
    def size(self) -> int:
        """Bytes of HTML the row takes: hostile text grows twelvefold on its way there."""
        return self.base_size()

    def base_size(self) -> int:
        """The part of ``size`` that rows of every form have."""
        said = len(self.html.encode()) if self.html else _weight(self.text)
        return self.frame + said + _weight(self.label) + (600 if self.nested else 0)


@dataclass(frozen=True, slots=True)
class Attachment:
    """Something sent along with a message; its payload stays in the source document."""

    name: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Row):
    """A message of a person or an agent."""

    template = "sessions/rows/_said.html"
    attachments: list[Attachment]
    stopped: str
    """Why the model stopped, where that is worth saying."""

    @property
    def size(self) -> int:
        return self.base_size() + sum(300 + _weight(one.name) for one in self.attachments)

    @property
    def short(self) -> bool:
        """Whether the head of the turn says all of it."""
        said = self.entry.head.strip()
        return len(said) <= 90 and "\n" not in said and not self.attachments


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Row):
    """A tool call with its result, on one line; the body comes when it is opened."""

    template = "sessions/rows/_call.html"
    frame = 1_500
    line: toolline.ToolLine
    glance: str
    status: str
    """ok, error, denied, cancelled, unstated (a result without an outcome) or none (no result)."""
    milliseconds: float | None
    result: Entry | None
    child: Session | None
    arguments: list[toolbody.Part] | None
    results: list[toolbody.Part] | None

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return self.nested is None and self.child is None

    @property
    def size(self) -> int:
        inline = 12 * INLINE if self.arguments is not None else 0
        return self.base_size() + _weight(self.line.verb, self.line.subject, self.glance) + inline

    @property
    def failed(self) -> bool:
        return self.status == "error"

    @property
    def outcome(self) -> marks.Mark | None:
        """What became of the call, where that is not that it went well."""
        is_stray = self.status not in marks.OUTCOMES and self.entry.kind == "tool_result"
        return RESULT_ALONE if is_stray else marks.OUTCOMES.get(self.status)

    @property
    def shows_glance(self) -> bool:
        """Whether the glance stands on the line: that of an error has a line of its own."""
        return bool(self.glance) and self.status not in ("error", "denied", "cancelled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thought(Row):
    """Reasoning: folded, with its number of words, or what became of it."""

    template = "sessions/rows/_thought.html"
    frame = 1_600
    words: int
    absence: str
    """"not recorded", "encrypted" or "redacted" when there is no text to read."""

    @property
    def folds(self) -> bool:  # type: ignore[override]
        return bool(self.absence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet(Row):
    """What is no part of the conversation: system notes, injected context, bookkeeping of the recorder."""

    template = "sessions/rows/_quiet.html"
    folds = True
    what: str
    line: str
    facts: list[toolbody.Pair]

    @property
    def size(self) -> int:
        facts = sum(250 + _weight(pair.key, pair.value.text) for pair in self.facts)
        return self.base_size() + _weight(self.what, self.line) + facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Notable(Quiet):
    """Something that happened beside the conversation and matters: an error, a file, a hand-over, a note."""

    template = "sessions/rows/_notable.html"
    folds = False
    icon: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Quiet):
    """The place where the recorder replaced what came before by a summary."""

    template = "sessions/rows/_compaction.html"
    folds = False
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Strange(Quiet):
    """What no reader knows: a badge and the raw payload."""

    template = "sessions/rows/_strange.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Row):
    """The place where an agent asked: the card while it waits, one line afterwards."""

    template = "sessions/rows/_asked.html"
    approval: Approval

    @property
    def size(self) -> int:
        return self.base_size() + cards.weight(self.approval)


def _weight(*texts: str) -> int:
    """Bytes of texts as HTML."""
    return sum(len(text.escape(one).encode()) for one in texts)


def row_of(entry: Entry, window: Window) -> Row:
    """The row of an entry, with all that the window holds about it."""
    approval = window.approvals.get(entry.seq)
    common = {
        "entry": entry,
        "actor": _actor(entry),
        "label": _label(entry),
        "request": window.requests.get(entry.seq),
        "nested": window.nested.get(entry.seq),
    }
    if approval:
        return Asked(approval=approval, **common)
    if entry.kind in ("tool_call", "tool_result"):
        return _call(entry, window, common)
    if entry.kind in ("user_message", "agent_message"):
        return _said(entry, common)
    if entry.kind == "reasoning":
        return Thought(words=len(entry.head.split()), absence=_absence(entry), **_folded(entry), **common)
    return _aside(entry, common)


ACTORS = ("person", "trigger", "agent", "subagent", "tool", "system")


def _actor(entry: Entry) -> str:
    """Whose edge the row has. A call of the agent has that of the tool: what it says is one line above."""
    if entry.kind in ("tool_call", "tool_result") and entry.actor_kind != "subagent":
        return "tool"
    return entry.actor_kind if entry.actor_kind in ACTORS else "system"


KINDS = {"user_message": "person", "agent_message": "agent", "tool_call": "tool", "tool_result": "tool"}


def _label(entry: Entry) -> str:
    """Who it is, in a word or two."""
    if entry.kind in ("tool_call", "tool_result"):
        return "sub-agent" if entry.actor_kind == "subagent" else "tool"
    if entry.kind in ("reasoning", "system", "injected_context", "model_request", "unknown", "approval"):
        return {"injected_context": "context", "model_request": "request"}.get(entry.kind, entry.kind)
    return entry.actor_name or {"unknown": KINDS.get(entry.kind, ""), "subagent": "sub-agent"}.get(
        entry.actor_kind, entry.actor_kind
    )


def html_of(value: str) -> SafeString:
    """Markdown of a stranger as HTML of the sanitised renderer."""
    return mark_safe(markdown.render(value))  # noqa: S308 - rendered without raw HTML and sanitised by an allow-list


def _said(entry: Entry, common: dict[str, Any]) -> Said:
    shown, cut = entry.head, entry.cut
    if entry.kind == "user_message":
        clamped = text.clamp(entry.head, characters=PROMPT, lines=PROMPT_LINES)
        shown, cut = clamped.text, cut or clamped.cut
    stopped = text.first_line(str(entry.data.get("stop_reason") or ""), 60)
    return Said(html=html_of(shown), cut=cut, attachments=_attachments(entry.data), stopped=stopped, **common)


def _attachments(data: dict[str, Any]) -> list[Attachment]:
    """The first 20 attachments of a message, each called by what the recorder says of it."""
    told = data.get("attachments")
    found = [item for item in told if isinstance(item, dict)] if isinstance(told, list) else []
    return [_attachment(item) for item in found[:20]]


def _attachment(item: dict[str, Any]) -> Attachment:
    words = (item.get(key) for key in ("title", "filename", "type", "media_type", "mediatype"))
    name = " · ".join(dict.fromkeys(text.first_line(word, 80) for word in words if isinstance(word, str) and word))
    size = item.get("bytes")
    return Attachment(name or "attachment", size if isinstance(size, int) and not isinstance(size, bool) else None)


def _call(entry: Entry, window: Window, common: dict[str, Any]) -> Call:
    orphan = entry.kind == "tool_result"
    call = window.calls.get(entry.seq)
    result = entry if orphan else window.results.get(entry.seq)
    status = _status(call, result)
    return Call(
        line=toolline.describe_call(entry.tool_name, entry.light_arguments, entry.tool_server),
        glance=_glance(entry, result, status),
        status=status,
        milliseconds=_milliseconds(call),
        result=result,
        child=_child(entry, result, window),
        **_bodies(entry, result),
        **common,
    )


def _child(entry: Entry, result: Entry | None, window: Window) -> Session | None:
    """The session of the sub-agent that a call started: the call's own, else the one that its result names."""
    named = window.children.get(str(result.data.get("child_session"))) if result else None
    return window.children.get(entry.call_id or "") or window.children.get(f"#{entry.seq}") or named


def _status(call: ToolCall | None, result: Entry | None) -> str:
    stated = call.status if call else result.tool_status if result else None
    return stated or ("unstated" if result else "none")


def _milliseconds(call: ToolCall | None) -> float | None:
    if call is None or call.started_at is None or call.ended_at is None or call.ended_at < call.started_at:
        return None
    return (call.ended_at - call.started_at).total_seconds() * 1000


def _glance(entry: Entry, result: Entry | None, status: str) -> str:
    """What came of it. The status has a place of its own, so only what is more than that is said here."""
    if result is None:
        return ""
    if status in ("error", "denied", "cancelled"):
        return _fault(result.head)
    asked = (
        entry.light_arguments if (entry.arguments_size or 0) <= 4_000 else None
    )  # a diff of more costs too much here
    return toolline.glance(result.head, result.light_result, name=entry.tool_name, arguments=asked, lines=result.lines)


_EXIT = re.compile(r"\s*(?:Error: )?Exit code (\d{1,5})\s+", re.IGNORECASE)
_TELLS = re.compile(
    r"^.*(?:error|fail|exception|denied|not found|no such|cannot|invalid).*$", re.IGNORECASE | re.MULTILINE
)


def _fault(said: str) -> str:
    """What went wrong, in a line: behind an exit code the first line of the output that says it."""
    match = _EXIT.match(said)
    if not match:
        return text.first_line(said, 140)
    output = said[match.end() : match.end() + 2_000]
    telling = _TELLS.search(output)
    return f"exit {match[1]}: {text.first_line(telling[0] if telling else output, 140)}"


def _bodies(entry: Entry, result: Entry | None) -> dict[str, list[toolbody.Part] | None]:
    sizes = (entry.arguments_size, result.text_size if result else 0, result.result_size if result else 0)
    if sum(filter(None, sizes)) > INLINE:
        return {"arguments": None, "results": None}
    return body_of(
        entry.tool_name, entry.light_arguments, result.head if result else "", result.light_result if result else None
    )


def body_of(name: str | None, arguments: Any, said: str, result: Any) -> dict[str, list[toolbody.Part] | None]:
    """The inside of a card: parts of its arguments and of its result."""
    return {
        "arguments": toolbody.parts_of_arguments(name, arguments, result),
        "results": toolbody.parts_of_result(name, said, result),
    }


def _absence(entry: Entry) -> str:
    if entry.head.strip():
        return ""
    if entry.data.get("redacted"):
        return "redacted"
    return "encrypted" if entry.data.get("encrypted") else "not recorded"


NOTABLE = {
    "error": ("wrong", "wrong", "error"),
    "handoff": ("handoff", "quiet", "handed over"),
    "artifact": ("file", "quiet", "artifact"),
    "file_change": ("pencil", "quiet", "file changed"),
    "escalation": ("waits", "waits", "escalation"),
    "status": ("note", "quiet", "status"),
    "note": ("note", "note", "note"),
}
"""Icon, meaning and words of the kinds that stand beside the conversation."""
PLUMBING = frozenset({"type", "raw", "attachments"})


def _aside(entry: Entry, common: dict[str, Any]) -> Row:
    """What stands beside the conversation. The recorder's own word for it is in one of three places."""
    word = next(
        (str(entry.data[key]) for key in ("attachment_type", "progress_type", "type") if entry.data.get(key)), ""
    )
    aside = common | _folded(entry)
    aside |= {"what": text.first_line(re.sub("[_-]", " ", word), 40), "line": text.first_line(entry.head, 160)}
    if entry.kind == "approval":
        return Quiet(**aside | {"what": "", "facts": []})
    if entry.kind == "compaction":
        before, after = _compacted(entry.data)
        return Compaction(before=before, after=after, facts=_facts(entry.data), **aside)
    if entry.kind in NOTABLE:
        icon, meaning, words = NOTABLE[entry.kind]
        html = html_of(aside["text"]) if _is_prose(entry) else None
        return Notable(icon=icon, meaning=meaning, html=html, facts=_facts(entry.data), **aside | {"what": words})
    if entry.kind == "unknown":
        raw = entry.data.get("raw")
        return Strange(facts=_facts(raw if isinstance(raw, dict) else entry.data, hidden=()), **aside)
    return Quiet(facts=_facts(entry.data), **aside)


def _is_prose(entry: Entry) -> bool:
    """Whether a text is somebody's words: notes are, files are when they say that they are Markdown."""
    return entry.kind in ("note", "handoff", "escalation") or "markdown" in str(entry.data.get("mediatype"))


def _folded(entry: Entry) -> dict[str, Any]:
    """The text of a row that is folded."""
    clamped = text.clamp(entry.head, characters=FOLDED, lines=FOLDED_LINES)
    return {"text": clamped.text, "cut": entry.cut or clamped.cut}


def _facts(data: dict[str, Any], hidden: Collection[str] = PLUMBING) -> list[toolbody.Pair]:
    told = {key: value for key, value in data.items() if key not in hidden and value not in (None, "", [], {})}
    return toolbody.facts(told, FACT, FACTS)


def _compacted(data: dict[str, Any]) -> tuple[int | None, int | None]:
    """Tokens before and after, where the recorder tells them."""
    told = data.get("compact_metadata")
    told = told if isinstance(told, dict) else data
    before, after = (next((told[key] for key in keys if isinstance(told.get(key), int)), None) for keys in COMPACTED)
    return before, after


COMPACTED = (("preTokens", "tokens_before", "pre_tokens"), ("postTokens", "tokens_after", "post_tokens"))
