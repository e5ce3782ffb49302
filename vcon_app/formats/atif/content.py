"""Texts, media and references in steps and results."""

from __future__ import annotations

from typing import Any

from ..common.values import dict_of, list_of, scalars_of, text_of

PAYLOADS = frozenset({"data", "base64"})
LISTED = 100


def readable(content: Any) -> tuple[str, list[dict[str, Any]]]:
    """Text of a message or result, and what of it is a picture or a sound (where it lies, not its bytes)."""
    if isinstance(content, str):
        return content, []
    parts = [dict_of(part) for part in list_of(content)]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    others = [part for part in parts if not isinstance(part.get("text"), str)]
    told = [scalars_of(part) | scalars_of(dict_of(part.get("source")), PAYLOADS | {"type"}) for part in others]
    return "\n".join(texts), told[:LISTED]


def references(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The sub-agents that a result points to: a list, in versions before 1.3 a single one or its path."""
    found = result.get("subagent_trajectory_ref")
    listed = found if isinstance(found, list) else [found] if found else []
    return [item if isinstance(item, dict) else {"trajectory_path": text_of(item)} for item in listed[:LISTED]]


def name_of(reference: dict[str, Any]) -> str:
    """Name of a sub-agent's trajectory: its id, else its session's id, else the path of its file."""
    names = (reference.get("trajectory_id"), reference.get("session_id"), reference.get("trajectory_path"))
    return next((name[:200] for name in names if isinstance(name, str) and name), "")
