"""Claude Code: the session files below ``~/.claude/projects``, sub-agents' files, web exports, and stream-json.

There is no published schema and the format changes with minor versions: the rules come from files of versions
1.0 to 2.1, those of stream-json from the types of the Agent SDK 0.2. What is not known is kept raw and told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.head import open_plain, telling
from ..common.lines import json_lines
from ..contract import Spec
from . import stream_json
from .companions import companions as companions
from .companions import is_companion as is_companion
from .detection import NOTES, claims, is_outcome, is_stream, is_web, listed, writer
from .detection import detect as detect
from .facts import last_session
from .links import SPAWNERS
from .messages import assistant, user
from .others import attachment_line, file_history, progress, pull_request, queue_operation, setting_event, system, title
from .programs import CLAUDE_CODE
from .reading import Handler, Reading
from .web import web_lines

NAME = "claude-code"
SPEC = Spec(
    name=NAME,
    title="Claude Code",
    grows="lines",
    global_response_ids=True,
    children="beside",
    starts_sessions=SPAWNERS,
)

HANDLERS: dict[str, Handler] = {
    "user": user,
    "assistant": assistant,
    "system": system,
    "summary": title,
    "ai-title": title,
    "custom-title": title,
    "attachment": attachment_line,
    "progress": progress,
    "queue-operation": queue_operation,
    "file-history-snapshot": file_history,
    "file-history-delta": file_history,
    "pr-link": pull_request,
    **dict.fromkeys(NOTES, setting_event),
}


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a transcript, one line in memory at a time.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when the file holds no
    JSON object among its first lines, or unpacks to too much.
    """
    plain = open_plain(source)
    packed = plain is not source
    head = telling(plain, claims)
    if is_web(head):
        return Reading(HANDLERS).run(web_lines(plain))
    first, program = listed(head), writer(head)
    own = "" if packed or first else last_session(plain)
    lines = web_lines(plain, "") if first else json_lines(plain, program.name, packed=packed)
    seen = first or head.lines or head.objects
    if is_stream(seen) or any(map(is_outcome, seen)) or program is not CLAUDE_CODE:
        handlers = HANDLERS | stream_json.HANDLERS
        return Reading(handlers, own, program).run(stream_json.as_stored(lines, program.name))
    return Reading(HANDLERS, own).run(lines)
