"""The row of the timeline for an event: ``row_of`` picks one of ``row_kinds`` and fills it.

``html_of`` alone marks text of the transcript as safe, after the sanitised renderer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from sessions_app.models import Approval, Session, ToolCall
from sessions_app.phrases import gettext as _
from sessions_app.queries.log.timeline import Entry, Window
from sessions_app.rendering import markdown, text, toolbody, toolline
from sessions_app.rendering.unescape import unescaped
from sessions_app.summary.lines import first_lines, reason

from . import answers
from .row_kinds import (
    INLINE,
    ApprovalRow,
    Attachment,
    Call,
    Compaction,
    Message,
    Notable,
    Quiet,
    Reasoning,
    Reported,
    Row,
    UnknownEvent,
)
from .said import Said, teller_of
from .subjects import subject_of

FOLDED, FOLDED_LINES = 2_000, 60
"""Characters and lines of a folded text that its row carries."""
FACTS, FACT = 12, 200
"""Facts of the recorder that a row carries, and characters of each."""
PROMPT, PROMPT_LINES = 2_400, 12
"""Characters and lines of a prompt that stand in the timeline; long ones are pasted files, rarely read twice."""


def row_of(entry: Entry, window: Window, mark: Said | None = None) -> Row:
    """The row of an entry, with all that the window holds about it, and the mark of how it came in."""
    approval = window.approvals.get(entry.seq)
    common = {
        "entry": entry,
        "actor": _actor(entry),
        "label": _label(entry),
        "request": window.requests.get(entry.seq),
        "nested": window.nested.get(entry.seq),
        "mark": mark,
    }
    if teller := teller_of(entry, window):
        return _reported(entry, teller, approval, common)
    if approval:
        return ApprovalRow(approval=approval, **common)
    if entry.kind in ("tool_call", "tool_result"):
        return _call(entry, window, common)
    if entry.kind in ("user_message", "agent_message"):
        return _message(entry, window, common)
    if entry.kind == "reasoning":
        return _reasoning(entry, common)
    return _aside(entry, window, common)


ACTORS = ("person", "trigger", "agent", "subagent", "tool", "system")


def _actor(entry: Entry) -> str:
    """Whose edge the row has. A call of the agent has that of the tool: what it says is one line above."""
    if entry.kind in ("tool_call", "tool_result") and entry.actor_kind != "subagent":
        return "tool"
    return entry.actor_kind if entry.actor_kind in ACTORS else "system"


TOOL, SUB_AGENT = _("Tool"), _("Sub-agent")
KINDS = {
    "user_message": _("User"), "agent_message": _("Agent"), "tool_call": TOOL, "tool_result": TOOL,
    "person": _("User"), "trigger": _("Trigger"), "agent": _("Agent"), "subagent": SUB_AGENT, "tool": TOOL,
    "system": _("System"),
}  # fmt: skip
"""Of events whose actor has no name: by the kind of actor, by that of the event where nobody knows it."""
LABELS = {
    "reasoning": _("Reasoning"), "system": _("System"), "injected_context": _("Context"), "unknown": _("Unknown"),
    "model_request": _("Request"), "approval": _("Approval"),
}  # fmt: skip
"""Of rows that nobody in particular says."""


def _label(entry: Entry) -> str:
    """Label of the actor, in a word or two."""
    if entry.kind in ("tool_call", "tool_result"):
        return SUB_AGENT if entry.actor_kind == "subagent" else TOOL
    if entry.kind in LABELS:
        return LABELS[entry.kind]
    return entry.actor_name or KINDS.get(entry.kind if entry.actor_kind == "unknown" else entry.actor_kind, "")


def html_of(value: str) -> SafeString:
    """Markdown of a stranger as HTML of the sanitised renderer."""
    rendered = markdown.render(value, coloured=True)
    return mark_safe(rendered)  # noqa: S308 - rendered without raw HTML and sanitised by an allow-list


def _message(entry: Entry, window: Window, common: dict[str, Any]) -> Message:
    meant = unescaped(entry.head)
    shown, cut = entry.head if meant is None else meant, entry.cut
    if entry.kind == "user_message":
        clamped = text.clamp(shown, characters=PROMPT, lines=PROMPT_LINES)
        shown, cut = clamped.text, cut or clamped.cut
    stopped = text.first_line(str(entry.data.get("stop_reason") or ""), 60)
    is_answer = window.targets is not None and answers.is_answer(entry.kind, window.origins.get(entry.seq))
    html = answers.html_of_answer(shown, window.targets or {}) if is_answer else html_of(shown)
    return Message(
        html=html, cut=cut, is_unescaped=meant is not None, attachments=_attachments(entry.data),
        stopped=stopped, **common,
    )  # fmt: skip


def _reasoning(entry: Entry, common: dict[str, Any]) -> Reasoning:
    """Reasoning as Markdown: models write headings and lists there, too."""
    folded = _folded(entry)
    absence = _absence(entry)
    html = None if absence else html_of(folded["text"])
    peek = text.first_line(first_lines(entry.head, 1, PEEK), PEEK)
    return Reasoning(words=len(entry.head.split()), peek=peek, absence=absence, html=html, **folded, **common)


def _attachments(data: dict[str, Any]) -> list[Attachment]:
    """The first 20 attachments of a message, each called by what the recorder says of it."""
    listed = data.get("attachments")
    found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    return [_attachment(item) for item in found[:20]]


def _attachment(item: dict[str, Any]) -> Attachment:
    words = (item.get(key) for key in ("title", "filename", "type", "media_type", "mediatype"))
    name = " · ".join(dict.fromkeys(text.first_line(word, 80) for word in words if isinstance(word, str) and word))
    size = item.get("bytes")
    return Attachment(name or _("attachment"), size if isinstance(size, int) and not isinstance(size, bool) else None)


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
        tool_cost=call.tool_cost if call else None,
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
    return toolline.glance(
        result.head, result.light_result, name=entry.tool_name, arguments=asked, lines=result.lines,
        size=result.text_size if result.lines is None else None,
    )  # fmt: skip


_EXIT = re.compile(r"\s*(?:(?:Error: )?Exit code (\d{1,5})\s+|<returncode>(\d{1,5})</returncode>\s*)", re.IGNORECASE)
FAULT, PEEK = 140, 110
"""Characters of the line that says why a call failed, and of the first one of a thought."""


def _fault(said: str) -> str:
    """Why a call failed, in a line, as the summary of the run says it; behind the exit code where there is one."""
    match = _EXIT.match(said)
    output = said[match.end() :] if match else said
    told = text.first_line(reason(output, None, 4 * FAULT) or output, FAULT)
    if not match:
        return told
    return _("exit %(code)s: %(said)s", code=match[1] or match[2], said=told)


def _bodies(entry: Entry, result: Entry | None) -> dict[str, list[toolbody.Part] | None]:
    sizes = (entry.arguments_size, result.text_size if result else 0, result.result_size if result else 0)
    if sum(filter(None, sizes)) > INLINE:
        return {"arguments": None, "results": None}
    return body_of(
        entry.tool_name, entry.light_arguments, result.head if result else "", result.light_result if result else None,
        failed=result is not None and result.tool_status not in (None, "ok"),
    )  # fmt: skip


def body_of(
    name: str | None, arguments: Any, said: str, result: Any, *, failed: bool, most: int = toolbody.VALUE
) -> dict[str, list[toolbody.Part] | None]:
    """The inside of a card: parts of its arguments and of its result. ``failed``: the result is no success."""
    return {
        "arguments": toolbody.parts_of_arguments(name, arguments, result, most=most),
        "results": toolbody.parts_of_result(name, said, result, arguments, failed=failed),
    }


def _absence(entry: Entry) -> str:
    if entry.head.strip():
        return ""
    if entry.data.get("redacted"):
        return "redacted"
    return "encrypted" if entry.data.get("encrypted") else "not recorded"


NOTABLE = {
    "error": ("wrong", "wrong", _("Error")),
    "handoff": ("handoff", "quiet", _("Handoff")),
    "artifact": ("file", "quiet", _("Artifact")),
    "file_change": ("pencil", "quiet", _("File changed")),
    "escalation": ("waits", "waits", _("Escalation")),
    "status": ("note", "quiet", _("Status")),
    "note": ("note", "note", _("Note")),
}
"""Icon, meaning and words of the kinds that stand beside the conversation."""
PLUMBING = frozenset({"type", "raw", "attachments"})


def _aside(entry: Entry, window: Window, common: dict[str, Any]) -> Row:
    """What stands beside the conversation. The recorder's own word for it is in one of three places."""
    word = next(
        (str(entry.data[key]) for key in ("attachment_type", "progress_type", "type") if entry.data.get(key)), ""
    )
    aside = common | _folded(entry)
    aside |= {"what": text.first_line(re.sub("[_-]", " ", word), 40), "line": text.first_line(entry.head, 160)}
    if entry.kind == "approval" or (entry.kind == "escalation" and entry.data.get("approval")):
        return Quiet(**aside | {"what": "", "facts": []})
    if entry.kind == "compaction":
        before, after = _compacted(entry.data)
        return Compaction(before=before, after=after, facts=_facts(entry.data), **aside)
    if entry.kind in NOTABLE:
        icon, meaning, words = NOTABLE[entry.kind]
        html = html_of(aside["text"]) if _is_prose(entry) else None
        subject = subject_of(entry.kind, entry.data, entry.actor_kind, entry.actor_name)
        aside |= {"what": words, "facts": _facts(entry.data, _hidden(entry)), "subject": subject}
        if _is_said_next(entry, window):
            aside |= {"what": _("%(words)s: the message below", words=words), "text": "", "cut": False}
        return Notable(icon=icon, meaning=meaning, html=html, **aside)
    if entry.kind == "unknown":
        raw = entry.data.get("raw")
        return UnknownEvent(facts=_facts(raw if isinstance(raw, dict) else entry.data, hidden=()), **aside)
    return Quiet(facts=_facts(entry.data), **aside)


def _hidden(entry: Entry) -> Collection[str]:
    """Members that are no fact: the bytes of an image or of sound are shown as what they are."""
    is_media = str(entry.data.get("mediatype")).startswith(("image/", "audio/", "video/"))
    return PLUMBING | {"body"} if is_media else PLUMBING


def _is_said_next(entry: Entry, window: Window) -> bool:
    """Whether an output is the message behind it, too, which shows it: of an llmfeed it comes as both."""
    if entry.kind != "artifact" or not entry.head:
        return False
    behind = next((one for one in window.entries if one.seq == entry.seq + 1), None)
    return behind is not None and behind.kind == "agent_message" and behind.head == entry.head


def _reported(entry: Entry, teller: str, approval: Approval | None, common: dict[str, Any]) -> Reported:
    stated = (value for name in ("decision", "status") if isinstance(value := entry.data.get(name), str))
    line = text.first_line(entry.head or next(stated, ""), 160)
    aside = common | _folded(entry) | {"what": entry.kind, "line": line}
    facts = [] if approval else _facts(entry.data)
    return Reported(teller=teller, approval=approval, facts=facts, **aside)


def _is_prose(entry: Entry) -> bool:
    """Whether a text is somebody's words: notes are, files are when they say that they are Markdown."""
    return entry.kind in ("note", "handoff", "escalation") or "markdown" in str(entry.data.get("mediatype"))


def _folded(entry: Entry) -> dict[str, Any]:
    """The text of a row that is folded."""
    clamped = text.clamp(entry.head, characters=FOLDED, lines=FOLDED_LINES)
    return {"text": clamped.text, "cut": entry.cut or clamped.cut}


def _facts(data: dict[str, Any], hidden: Collection[str] = PLUMBING) -> list[toolbody.Pair]:
    shown = {key: value for key, value in data.items() if key not in hidden and value not in (None, "", [], {})}
    return toolbody.facts(shown, FACT, FACTS)


def _compacted(data: dict[str, Any]) -> tuple[int | None, int | None]:
    """Tokens before and after a compaction; None where the recorder left the number out."""
    nested = data.get("compact_metadata")
    facts = nested if isinstance(nested, dict) else data
    before, after = (next((facts[key] for key in keys if isinstance(facts.get(key), int)), None) for keys in COMPACTED)
    return before, after


COMPACTED = (("preTokens", "tokens_before", "pre_tokens"), ("postTokens", "tokens_after", "post_tokens"))
