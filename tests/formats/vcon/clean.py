"""A small vCon with an agent session in which there is nothing to find, and ways to spoil it."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import Any

from vcon_app.drafts import Finding

from ..vcon_tools import drafts, findings

START = "2026-04-01T08:00:00Z"
CLEAN: dict[str, Any] = {
    "vcon": "0.4.0",
    "uuid": "019d4800-3c00-8b1e-9f3c-5a1d0e7b2c33",
    "created_at": "2026-04-01T08:05:00Z",
    "subject": "Water the ferns",
    "extensions": ["agent_session", "lawful_basis"],
    "parties": [
        {"name": "Olu", "type": "person", "validation": "none"},
        {
            "name": "Gardener", "type": "bot", "role": "agent", "validation": "system",
            "meta": {"agent_session": {"model_id": "moss-2", "provider": "greenhouse"}},
        },
    ],
    "dialog": [
        {"type": "text", "start": START, "parties": [0, 1], "mediatype": "text/plain", "encoding": "none",
         "body": "Water the ferns.", "message_id": "w1"},
        {"type": "text", "start": "2026-04-01T08:00:09Z", "parties": [1, 0], "mediatype": "text/plain",
         "encoding": "none", "body": "Done: two litres.", "message_id": "w4"},
    ],
    "analysis": [
        {
            "type": "agent_trace", "dialog": [0, 1], "vendor": "greenhouse", "product": "moss-2",
            "mediatype": "application/json", "encoding": "json",
            "body": {
                "version": "1", "id": "record-1",
                "session": {
                    "session-id": "ferns-1", "session-start": START,
                    "agent-meta": {"model-id": "moss-2", "model-provider": "greenhouse"},
                    "entries": [
                        {"type": "user", "id": "w1", "timestamp": START, "content": "Water the ferns."},
                        {"type": "tool-call", "id": "w2", "timestamp": "2026-04-01T08:00:03Z", "call-id": "c1",
                         "name": "tap", "input": {"litres": 2}},
                        {"type": "tool-result", "id": "w3", "timestamp": "2026-04-01T08:00:07Z", "call-id": "c1",
                         "output": "two litres", "status": "success"},
                        {"type": "assistant", "id": "w4", "timestamp": "2026-04-01T08:00:09Z",
                         "content": "Done: two litres.", "token-usage": {"input": 9, "output": 4, "total": 13}},
                    ],
                },
            },
        },
    ],
    "attachments": [
        {"purpose": "agent_artifact", "start": START, "party": 1, "dialog": 1, "mediatype": "text/plain",
         "encoding": "none", "body": "fern log"},
        {
            "purpose": "lawful_basis", "start": START, "party": 0, "dialog": 0, "mediatype": "application/json",
            "encoding": "json",
            "body": {
                "lawful_basis": "contract", "expiration": None,
                "purpose_grants": [{"purpose": "agent_session_analysis", "granted": True, "granted_at": START}],
            },
        },
    ],
}  # fmt: skip
GONE = object()
"""Takes a member away."""
ENTRIES = "analysis/0/body/session/entries"


def spoiled(changes: dict[str, Any]) -> dict[str, Any]:
    """The clean document with members set, appended (``-`` as the last step) or taken away, by JSON pointer."""
    document = copy.deepcopy(CLEAN)
    for path, value in changes.items():
        *places, last = path.split("/")
        holder: Any = document
        for place in places:
            holder = holder[int(place)] if isinstance(holder, list) else holder[place]
        if last == "-":
            holder.append(value)
        elif value is GONE:
            del holder[last]
        else:
            holder[int(last) if isinstance(holder, list) else last] = value
    return document


def found_in(document: Any) -> list[Finding]:
    return findings(drafts(document))


def rules_of(document: Any) -> set[str]:
    return {finding.rule for finding in found_in(document)}


def sha512(data: bytes) -> str:
    return "sha512-" + b64(hashlib.sha512(data).digest())


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jws(document: Any, **header: Any) -> dict[str, Any]:
    """Signed in form only: reading does not check signatures."""
    protected = b64(json.dumps({"alg": "RS256"}).encode())
    one = {"header": header, "protected": protected, "signature": "AA"}
    return {"payload": b64(json.dumps(document).encode()), "signatures": [one]}


def mcp(*messages: Any) -> dict[str, Any]:
    """A vCon whose session stands in one mcp_session dialog."""
    document = copy.deepcopy(CLEAN)
    session = {"session_id": "m-1", "protocol_version": "2025-06-18", "messages": list(messages)}
    document["dialog"] = [
        {"type": "mcp_session", "start": START, "parties": [0, 1], "mediatype": "application/vnd.mcp-session+json",
         "encoding": "json", "session_id": "m-1", "body": session},
    ]  # fmt: skip
    document["parties"][1]["meta"] = {"party_type": "ai_agent"}
    document |= {"extensions": ["mcp_session"], "analysis": [], "attachments": []}
    return document
