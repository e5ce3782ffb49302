"""What the drafts demand of a written vCon, checked by hand: core-04 (s4) and the CDDL of VAC-00 (s3).

A checker of our own and only for tests: it knows nothing of the code that writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BASE64URL = re.compile(r"[A-Za-z0-9_-]*")
NOT_ON_TRANSFER = ("parties", "originator", "message_id", "mediatype", "body", "encoding", "url", "content_hash")
ENTRY_NEEDS = {
    "user": {},
    "assistant": {},
    "tool-call": {"name": str, "input": object},
    "tool-result": {"output": object},
    "reasoning": {"content": object},
    "system-event": {"event-type": str},
}
TEXTS = ("id", "parent-id", "call-id", "model-id", "status", "encrypted", "subject")
COUNTS = ("input", "output", "cached", "reasoning", "total")
CDDL_DATE = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:(60|[0-5]\d)(\.\d+)?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)"
)


def core_faults(vcon: dict[str, Any]) -> list[str]:
    """What core-04 would not allow; an empty object is a placeholder and allowed (s4.1.8)."""
    return list(_core(vcon))


def _core(vcon: dict[str, Any]) -> Iterator[str]:
    if vcon.get("vcon") != "0.4.0":
        yield f"vcon is {vcon.get('vcon')!r}"
    if not UUID.fullmatch(vcon.get("uuid", "")):
        yield f"uuid is {vcon.get('uuid')!r}"
    yield from (f"{name} is {vcon.get(name)!r}" for name in ("created_at", "updated_at") if _no_date(vcon, name))
    if "redacted" in vcon and "amended" in vcon:
        yield "redacted and amended"
    if "critical" in vcon:
        yield "critical is written"
    parties, dialogs = len(vcon["parties"]), len(vcon["dialog"])
    for index, item in enumerate(vcon["dialog"]):
        yield from (f"dialog {index}: {fault}" for fault in _dialog(item, parties) if item)
    for index, item in enumerate(vcon["analysis"]):
        yield from (f"analysis {index}: {fault}" for fault in _analysis(item, dialogs) if item)
    for index, item in enumerate(vcon["attachments"]):
        yield from (f"attachment {index}: {fault}" for fault in _attachment(item, parties, dialogs) if item)


def _no_date(item: dict[str, Any], name: str) -> bool:
    return (name in item or name == "created_at") and not DATE.fullmatch(str(item.get(name)))


def _in_range(value: Any, length: int) -> bool:
    return type(value) is int and 0 <= value < length


def _dialog(item: dict[str, Any], parties: int) -> Iterator[str]:
    if not isinstance(item.get("type"), str):
        yield "no type"
    if "start" in item and _no_date(item, "start"):
        yield f"start {item['start']!r}"
    for index in item.get("parties", []):
        if not all(_in_range(one, parties) for one in (index if isinstance(index, list) else [index])):
            yield f"party {index!r}"
    if item.get("type") == "transfer":
        yield from (f"{name} on a transfer" for name in NOT_ON_TRANSFER if name in item)
    yield from _content(item, mediatype=True)


def _analysis(item: dict[str, Any], dialogs: int) -> Iterator[str]:
    yield from (f"no {name}" for name in ("type", "vendor") if not isinstance(item.get(name), str))
    indices = item.get("dialog", [])
    for index in indices if isinstance(indices, list) else [indices]:
        if not _in_range(index, dialogs):
            yield f"dialog {index!r}"
    yield from _content(item, mediatype=False)


def _attachment(item: dict[str, Any], parties: int, dialogs: int) -> Iterator[str]:
    if not DATE.fullmatch(str(item.get("start"))):
        yield f"start {item.get('start')!r}"
    if not _in_range(item.get("party"), parties):
        yield f"party {item.get('party')!r}"
    if not _in_range(item.get("dialog"), dialogs):
        yield f"dialog {item.get('dialog')!r}"
    yield from _content(item, mediatype=True)


def _content(item: dict[str, Any], mediatype: bool) -> Iterator[str]:
    body, encoding = item.get("body"), item.get("encoding")
    if body in (None, ""):
        return
    if encoding not in ("none", "json", "base64url"):
        yield f"encoding {encoding!r}"
    if encoding != "json" and not isinstance(body, str):
        yield f"a {type(body).__name__} under encoding {encoding}"
    if encoding == "base64url" and not BASE64URL.fullmatch(body):
        yield "body is not base64url"
    if mediatype and not isinstance(item.get("mediatype"), str):
        yield "no mediatype"


def vac_faults(record: dict[str, Any]) -> list[str]:
    """What the CDDL of VAC-00 would not allow."""
    return list(_vac(record))


def _vac(record: dict[str, Any]) -> Iterator[str]:
    session = record.get("session")
    if not isinstance(session, dict):
        yield "no session"
        return
    yield from (f"record has no text {name}" for name in ("version", "id") if not isinstance(record.get(name), str))
    if not isinstance(session.get("session-id"), str):
        yield "no session-id"
    meta = session.get("agent-meta", {})
    yield from (f"no {name}" for name in ("model-id", "model-provider") if not isinstance(meta.get(name), str))
    environment = session.get("environment", {"working-dir": ""})
    if not isinstance(environment.get("working-dir"), str):
        yield "environment without working-dir"
    if (
        not all(isinstance(one, str) for one in environment.get("sandboxes", []))
        or "sandboxes" in environment
        and not isinstance(environment["sandboxes"], list)
    ):
        yield "sandboxes"
    if _vcs(record) or _vcs(environment):
        yield "vcs"
    if _no_time(record, "created"):
        yield f"created {record['created']!r}"
    if "file-attribution" in record and not _attribution(record["file-attribution"]):
        yield "file-attribution"
    recorder = record.get("recording-agent", {"name": ""})
    if not isinstance(recorder.get("name"), str) or not isinstance(recorder.get("version", ""), str):
        yield "recording-agent"
    yield from (f"{name} {session[name]!r}" for name in ("session-start", "session-end") if _no_time(session, name))
    for index, entry in enumerate(session["entries"]):
        yield from _entry(entry, f"entry {index}")


def _no_time(holder: dict[str, Any], name: str) -> bool:
    value = holder.get(name)
    if name not in holder or (type(value) is int and value >= 0):
        return False
    return not (isinstance(value, str) and CDDL_DATE.fullmatch(value))


def _vcs(holder: dict[str, Any]) -> bool:
    """Is there a vcs-context, and is it none?"""
    vcs = holder.get("vcs", {"type": ""})
    members = ("type", "revision", "branch", "repository")
    return (
        not isinstance(vcs, dict)
        or not all(isinstance(vcs.get(name, ""), str) for name in members)
        or "type" not in vcs
    )


def _attribution(files: Any) -> bool:
    """Closed maps (VAC s3.7), each with exactly these members or fewer."""
    if not isinstance(files, dict) or files.keys() != {"files"}:
        return False
    talks = [
        one for file in files["files"] if file.keys() == {"path", "conversations"} for one in file["conversations"]
    ]
    return all(file.keys() == {"path", "conversations"} for file in files["files"]) and all(
        {"ranges"} <= talk.keys() <= {"ranges", "url", "contributor", "related"}
        and all(type(one.get("start-line")) is int and type(one.get("end-line")) is int for one in talk["ranges"])
        for talk in talks
    )


def _entry(entry: dict[str, Any], where: str) -> Iterator[str]:
    needs = ENTRY_NEEDS.get(entry.get("type"))
    if needs is None:
        yield f"{where}: type {entry.get('type')!r}"
        return
    for name, kind in needs.items():
        if name not in entry or not isinstance(entry[name], kind):
            yield f"{where}: {name} {entry.get(name)!r}"
    yield from (f"{where}: {name} is no text" for name in TEXTS if name in entry and not isinstance(entry[name], str))
    if _no_time(entry, "timestamp"):
        yield f"{where}: timestamp {entry['timestamp']!r}"
    if not isinstance(usage := entry.get("token-usage", {}), dict):
        yield f"{where}: token-usage {usage!r}"
        usage = {}
    counts = {name: usage[name] for name in COUNTS if name in usage}
    yield from (
        f"{where}: {name}" for name, count in counts.items() if type(count) is not int or not 0 <= count < 2**64
    )
    if entry["type"] == "system-event" and not isinstance(entry.get("data", {}), dict):
        yield f"{where}: data"
    for index, child in enumerate(entry.get("children", [])):
        yield from _entry(child, f"{where}/{index}")
