"""Records of OTLP logs, and of those that Gemini CLI writes into a file, in one shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..common.head import Head
from ..common.lines import Line
from ..common.records import part_of
from ..common.values import dict_of, list_of, text_of
from ..otel_genai.attributes import plain, plain_value
from ..otel_genai.span import first_text_of

RESOURCES, SCOPES, RECORDS = (
    ("resourceLogs", "resource_logs"),
    ("scopeLogs", "scope_logs"),
    ("logRecords", "log_records"),
)
PROGRAMS = {
    "claude_code.": "Claude Code", "codex.": "Codex", "gemini_cli.": "Gemini CLI", "qwen-code.": "Qwen Code",
    "gen_ai.": "",
}  # fmt: skip
"""Beginnings of the names of events, and who logs them; those of the conventions are anybody's."""
SESSIONS = ("session.id", "conversation.id", "gen_ai.conversation.id")


def is_logged(head: Head) -> bool:
    """Whether records begin a file in which an agent that is known here logs."""
    shape = head.shape
    otlp = any(shape.get(f"{at}{name}") == "[" for at in ("", "item.") for name in RESOURCES)
    logged = otlp or any("hrTime" in record and "attributes" in record for record in head.records)
    return logged and any(name.encode() in head.data for name in PROGRAMS)


def records_in(line: Line) -> Iterator[Line]:
    """The log records of a request, or the one that an SDK printed: name, time, body, attributes, trace and span."""
    for name in RESOURCES:
        for number, held in enumerate(map(dict_of, list_of(line.value.get(name)))):
            resource = plain(dict_of(held.get("resource")).get("attributes"))
            for place, record in _records(held, f"/{name}/{number}"):
                yield part_of(line, _event_of(record, resource), place)
    if "hrTime" in line.value:
        resource = plain(dict_of(line.value.get("resource")).get("attributes"))
        yield part_of(line, _event_of(line.value, resource), "")


def _records(held: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in SCOPES:
        for number, scope in enumerate(map(dict_of, list_of(held.get(name)))):
            for key in RECORDS:
                for index, record in enumerate(list_of(scope.get(key))):
                    yield f"{path}/{name}/{number}/{key}/{index}", dict_of(record)


def _event_of(record: dict[str, Any], resource: dict[str, Any]) -> dict[str, Any]:
    attributes, body = plain(record.get("attributes")), plain_value(record.get("body"))
    context = dict_of(record.get("spanContext"))
    name = text_of(record.get("eventName")) or text_of(attributes.get("event.name"))
    if not name.startswith(tuple(PROGRAMS)) and text_of(body).startswith(tuple(PROGRAMS)):  # Claude Code's
        name = text_of(body)
    return {
        "name": name[:200], "time": _time(record), "body": None if body == name else body, "attributes": attributes,
        "span": text_of(record.get("spanId") or record.get("span_id") or context.get("spanId"))[:200],
        "session": (first_text_of(attributes, SESSIONS) or first_text_of(resource, SESSIONS))[:200],
        "trace": text_of(record.get("traceId") or record.get("trace_id") or context.get("traceId"))[:200],
        "version": text_of(resource.get("service.version"))[:200],
    }  # fmt: skip


def _time(record: dict[str, Any]) -> Any:
    """Nanoseconds since 1970; SDKs print seconds and nanoseconds."""
    names = ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
    stated = next((value for name in names if (value := record.get(name)) not in (None, "", 0, "0")), None)
    pair = list_of(record.get("hrTime"))
    if stated is None and len(pair) == 2 and all(type(part) is int for part in pair):
        return pair[0] * 10**9 + pair[1]
    return int(stated) if isinstance(stated, str) and stated.isdecimal() and len(stated) < 25 else stated
