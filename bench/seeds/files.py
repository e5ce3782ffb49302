"""Files of our own that the rows of the seeds are tried with: words that begin with zq stand nowhere else."""

from __future__ import annotations

import copy
import json
from typing import Any

UUID = "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01"
AGENT = {
    "model_id": "claude-opus-4-7", "provider": "anthropic", "recording_agent": "zqrecorder/9.8.7",
    "environment": {"cwd": "/zq/cwd", "vcs_branch": "zqbranch", "other": "zqother"}, "odd": "zqodd",
}  # fmt: skip
PARTIES = [
    {"name": "Ida", "role": "customer", "stir": "zqstir", "org": "zqorg", "timezone": "zqzone"},
    {"name": "Ada", "role": "agent", "meta": {"agent_session": AGENT, "more": "zqmeta"}},
    {"name": "Sub", "role": "agent", "meta": {"agent_session": {"model_id": "m", "environment": "zqsecond"}}},
]  # fmt: skip
MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "type": "user", "text": "zqasked"},
    {"role": "assistant", "type": "assistant", "text": "zqsaid", "usage": {"input_tokens": 1000, "output_tokens": 100}},
]


def document(body: Any, **more: Any) -> dict[str, Any]:
    trace = {"type": "agent_trace", "dialog": 0, "vendor": "anthropic", "product": "claude-opus-4-7",
             "encoding": "json", "schema": "https://example.org/zqschema", "body": json.dumps(body)}  # fmt: skip
    return {
        "vcon": "0.4.0", "uuid": UUID, "created_at": "2026-01-01T00:00:00Z",
        "extensions": ["agent_session"], "parties": copy.deepcopy(PARTIES), "analysis": [trace],
        "dialog": [{"type": "text", "start": "2026-01-01T00:00:00Z", "parties": [0, 1], "originator": 0,
                    "mediatype": "text/plain", "encoding": "none", "body": "zqasked"}],
    } | more  # fmt: skip


def seed(messages: list[dict[str, Any]] = MESSAGES, **more: Any) -> dict[str, Any]:
    """The shape of the example of seed 000."""
    return document({"version": "1.0", "session_trace": {"messages": messages, "tool_calls": []}}, **more)


def traced(entries: list[dict[str, Any]], record: dict[str, Any] | None = None, **session: Any) -> dict[str, Any]:
    return document({"id": "zqrecord", **(record or {}), "session": {"session-id": "s", **session, "entries": entries}})


def run(properties: dict[str, Any], *nodes: dict[str, Any]) -> dict[str, Any]:
    """A product graph of one session that created these decisions."""
    edges = [
        {"id": f"e{n}", "type": "agent_session_creates_decision", "source": "s", "target": node["id"]}
        for n, node in enumerate(nodes)
    ]
    return {
        "upg_version": "0.41.0", "exported_at": "2026-01-01T00:00:00Z", "source": {"tool": "t"},
        "product": {"id": "p", "title": "P"}, "edges": edges,
        "nodes": [{"id": "s", "type": "agent_session", "title": "S", "aliases": ["zqalias"], "properties": properties},
                  *nodes],
    }  # fmt: skip


FEED = {
    "feed_type": "session",
    "metadata": {"origin": "https://example.org", "title": "T", "generated_at": "2026-05-20T12:00:00Z"},
    "context": {"user_input": "zqasked", "goal": "zqgoal"},
    "decisions": [{"intent": "zqintent", "used_prompt": "zqprompt", "rejected": True, "reason": "zqreason"}],
    "outputs": [{"type": "message", "value": "zqmessage"}, {"type": "image/png", "value": "iVBORw0KGgo="}],
}
MISSED = {"type": "incomplete", "disposition": "no-answer", "start": "2026-01-01T00:00:00Z", "parties": [0]}
CHANGE = {
    "purpose": "agent_file_change", "start": "2026-01-01T00:00:00Z", "party": 1, "dialog": 0, "encoding": "json",
    "mediatype": "application/json", "body": {"path": "src/zq.py", "operation": "created", "diff_text": "+ a"},
}  # fmt: skip
