"""JSON-RPC messages of the Model Context Protocol, one a line: read, written, and where they say what.

Names as in the specification of 2026-07-28 and its tasks extension; before it a connection began with ``initialize``.
"""

from __future__ import annotations

import json
import math
from typing import Any

Json = dict[str, Any]
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
MODERN = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TASKS = "io.modelcontextprotocol/tasks"


class Unreadable(Exception):
    """No message that could be passed on; ``code`` is that of JSON-RPC 2.0, section 5.1."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def read(line: bytes) -> Json:
    """Raises ``Unreadable``."""
    try:
        message = json.loads(line, parse_constant=_refused, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Unreadable(PARSE_ERROR, "the message is no JSON") from None
    if not isinstance(message, dict):
        raise Unreadable(INVALID_REQUEST, "one message a line: lists of messages are not passed on")
    return message


def line_of(message: Json) -> bytes:
    return json.dumps(message).encode() + b"\n"


def key_of(id_: Any) -> str:
    """Of an id, for a table of them: 1 and "1" are different ids."""
    return json.dumps(id_)


def is_id(id_: Any) -> bool:
    return isinstance(id_, (str, int)) and not isinstance(id_, bool)


def is_answer(message: Json) -> bool:
    return "method" not in message and ("result" in message or "error" in message)


def params_of(message: Json) -> Json:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def meta_of(message: Json) -> Json:
    meta = params_of(message).get("_meta")
    return meta if isinstance(meta, dict) else {}


def result_of(message: Json) -> Json:
    result = message.get("result")
    return result if isinstance(result, dict) else {}


def version_of(message: Json) -> str:
    """The version that a request says it is of; empty before 2026-07-28, where only a connection has one."""
    version = meta_of(message).get(VERSION)
    return version if isinstance(version, str) else ""


def is_modern(message: Json) -> bool:
    """Versions are dates, so that they compare as texts."""
    return version_of(message) >= MODERN


def takes_tasks(message: Json) -> bool:
    """Whether the client declares, with this request, that it can be given a task in place of a result."""
    capabilities = meta_of(message).get(CAPABILITIES)
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return is_modern(message) and isinstance(extensions, dict) and TASKS in extensions


def without_tasks(message: Json) -> Json:
    """The request as of a client that cannot be given a task: who waits for its result here wants it whole."""
    meta = meta_of(message)
    capabilities = meta.get(CAPABILITIES)
    if not isinstance(capabilities, dict) or not isinstance(capabilities.get("extensions"), dict):
        return message
    left = {name: value for name, value in capabilities["extensions"].items() if name != TASKS}
    meta = meta | {CAPABILITIES: capabilities | {"extensions": left}}
    return message | {"params": params_of(message) | {"_meta": meta}}


def fault(id_: Any, code: int, text: str) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": text}}


def answer(id_: Any, result: Json) -> Json:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def refusal(text: str) -> Json:
    """The result of a call that did not run: it never looks like a success."""
    return {"content": [{"type": "text", "text": text}], "isError": True, "resultType": "complete"}


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written} is no number of JSON")
    return number
