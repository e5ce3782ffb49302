"""Attachments: files changed, things made, the environment, and what else an agent session carries along."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....drafts import ActorKind, Json
from ...common import origins
from ...common.values import dict_of, text_or_none
from ..file import Container, Content, Elided, Notes, check_hash, mediatype, point, resolve
from ..trace import Clock, Parties, Step, extension, index_after, indices, kept_item, with_steps_before

EVIDENCE = ("scitt_receipt", "agent_trace_cose_sign1")
GRANTS = ("lawful_basis", "consent")
FILE_CHANGE_MEMBERS = ("path", "operation", "contributor", "line_range", "commit", "content_hash")
"""Members of an agent_file_change body (agent_session s7) that stand in the event's data under the same names."""


@dataclass(slots=True)
class Attachments:
    """Attachments of a vCon, sorted into events and facts of the session."""

    steps: list[tuple[int, Step]] = field(default_factory=list)
    """With the index of the dialog each belongs to, -1 when it says none."""
    kept: list[dict[str, Any]] = field(default_factory=list)
    """For the writer: those that are no event, with their index as ``i``."""
    grants: list[tuple[int, str, Content]] = field(default_factory=list)
    environments: list[dict[str, Any]] = field(default_factory=list)
    evidence: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)


def read_attachments(vcon: Container, parties: Parties, notes: Notes) -> Attachments:
    """Sort the attachments of a vCon."""
    found = Attachments()
    clock = Clock(notes)
    for index, item in enumerate(vcon.attachments):
        pointer = vcon.at("attachments", index)
        purpose = text_or_none(item.get("purpose")) or ""
        content = resolve(item, pointer, notes, purpose)
        check_hash(item, content, pointer, notes)
        if not item or purpose in GRANTS or purpose in EVIDENCE or purpose in ("agent_environment", "tool-definitions"):
            _keep_with_session(found, index, item, purpose, content)
            continue
        step = _change(content, item) if purpose == "agent_file_change" else _artifact(content, item, purpose)
        step.pointer = pointer
        stated = None if dict_of(item.get("meta")).get("start_source") == "created_at" else item.get("start")
        step.at = clock.date(stated, point(pointer, "start")).at
        step.actor = _actor(step, item, parties)
        step.for_writer = {"source": "attachment", "attachment": _kept(index, item, step)}
        extension.restore_attachment(step, dict_of(item.get("meta")))
        if told := origins.in_file(dict_of(item.get("meta")).get(extension.ORIGIN)):
            step.data[origins.REPORTED] = told
        found.steps.append((next(iter(indices(item.get("dialog"), len(vcon.dialog))), -1), step))
    return found


def _actor(step: Step, item: dict[str, Any], parties: Parties) -> tuple[ActorKind, str]:
    if step.kind == "injected_context":
        return "system", ""
    people = indices(item.get("party"), len(parties))
    return extension.actor_of(dict_of(item.get("meta")).get(extension.ACTOR)) or (
        parties[people[0]].actor if people else ("unknown", "")
    )


def _keep_with_session(found: Attachments, index: int, item: dict[str, Any], purpose: str, content: Content) -> None:
    """Keep an attachment as a fact of the session rather than as an event of it."""
    if purpose in GRANTS:
        found.grants.append((index, purpose, content))
    elif purpose in EVIDENCE:
        found.evidence.append(purpose)
    elif purpose == "agent_environment" and isinstance(content.value, dict):
        found.environments.append(content.value)
    elif purpose == "tool-definitions" and isinstance(content.value, list):
        found.tools += filter(None, map(_tool_name, content.value))
    found.kept.append({"i": index, "item": item})


def _tool_name(tool: Json) -> str | None:
    inner = tool.get("function", tool) if isinstance(tool, dict) else None
    return text_or_none(inner.get("name")) if isinstance(inner, dict) else None


def _change(content: Content, item: dict[str, Any]) -> Step:
    """A changed file: its diff, or (as on the conserver.io page) its new content, is the text."""
    body = content.value if isinstance(content.value, dict) and not isinstance(content.value, Elided) else {}
    step = Step("file_change", "", text=text_or_none(body.get("diff_text")) or content.text)
    step.data = {name: body[name] for name in FILE_CHANGE_MEMBERS if name in body}
    if "path" not in step.data and (name := text_or_none(item.get("filename"))):
        step.data["path"] = name
    _place_of_content(step, content, item)
    return step


def _artifact(content: Content, item: dict[str, Any], purpose: str) -> Step:
    """A system prompt is context; everything else that is attached is an artifact."""
    step = Step("injected_context" if purpose == "system-prompt" else "artifact", "", text=content.text)
    facts = {"purpose": purpose, "name": text_or_none(item.get("filename")), "mediatype": mediatype(item)}
    step.data = {name: value for name, value in facts.items() if value}
    _place_of_content(step, content, item)
    return step


def _place_of_content(step: Step, content: Content, item: dict[str, Any]) -> None:
    if content.kind == "url":
        step.data |= {name: item[name] for name in ("url", "content_hash") if name in item}
    elif content.kind == "absent":
        step.data["content"] = "removed or absent"
    elif content.kind == "elided":
        step.data["elided"] = dict(content.value)
    elif content.kind == "bytes":
        step.data["size"] = len(content.value)


def _kept(index: int, item: dict[str, Any], step: Step) -> dict[str, Any]:
    """Note for the writer, see ``trace.kept_item``; of a change without the members that are in the event's data."""
    body = item.get("body")
    if step.kind == "file_change" and isinstance(body, dict) and not isinstance(body, Elided):
        rest = {key: value for key, value in body.items() if key not in FILE_CHANGE_MEMBERS and key != "diff_text"}
        return {
            "i": index,
            "item": {**item, "body": rest},
            "change": [key for key in (*FILE_CHANGE_MEMBERS, "diff_text") if key in body],
        }
    return kept_item(index, item, step.text, step.pointer)


def insert_attachments(steps: list[Step], attachments: list[tuple[int, Step]]) -> list[Step]:
    """Each attachment behind the turn it belongs to, never before one that stands earlier in the array."""
    if not attachments:
        return steps
    anchors = {step.for_writer["dialog"]["i"]: index for index, step in enumerate(steps) if "dialog" in step.for_writer}
    entries = {step.id: index for index, step in enumerate(steps) if step.for_writer.get("id")}
    before: dict[int, list[Step]] = {}
    floor = 0
    for dialog, step in attachments:
        if step.kind == "injected_context":
            before.setdefault(floor, []).append(step)
            continue
        before_all, after = _entry_before(step)
        entry = entries.get(after)
        if before_all:
            pass
        elif entry is not None:
            floor = max(floor, entry + 1)
        else:
            floor = max(floor, _after_dialog(steps, anchors, dialog, is_dated=step.at is not None))
        before.setdefault(floor, []).append(step)
    return with_steps_before(steps, before)


def _after_dialog(steps: list[Step], anchors: dict[int, int], dialog: int, *, is_dated: bool) -> int:
    """The place behind a dialog; of what has no time, behind what the agent did in answer to it."""
    if dialog not in anchors:
        return len(steps)
    place = index_after(steps, anchors[dialog])
    if is_dated or steps[anchors[dialog]].kind != "user_message":
        return place
    while place < len(steps) and steps[place].kind != "user_message":
        place += 1
    return place


def _entry_before(step: Step) -> tuple[bool, str]:
    """Whether it is known to stand before all entries, else the id of the one that it follows."""
    item = dict_of(dict_of(step.for_writer.get("attachment")).get("item"))
    after = dict_of(item.get("meta")).get(extension.AFTER)
    return after == "", text_or_none(after) or ""
