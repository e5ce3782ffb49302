"""The session's own facts: from ``metadata`` and its neighbours into a ``SessionDraft``, and back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

from ...drafts import PHASES, Finding, Json, SessionDraft
from ..common.jsonio import dumps
from ..common.times import parse, rfc3339
from ..common.values import first_text, text_of
from . import reserved
from .block_text import label_of
from .feed import Feed, layouts
from .portable import restored

FORMAT = "llmfeed"
_CONSUMED = (
    "feed_type", "metadata", "context", "imports", "decisions", "outputs", "conversation_trace", "api_execution",
    "origin", "title", "description", "tags", "created", "created_at",
)  # fmt: skip
"""Blocks that become fields and events. Every other block is kept as it came, and in its order."""
_FIELDS = (
    "title", "origin", "generated_at", "session_id", "started_at", "created_at", "created", "ended_at", "phase",
    "model", "user_id", "parent_session_id", "tags", "source_origin", "source_generated_at",
    "source_replay_endpoint", "session",
)  # fmt: skip
"""Keys of ``metadata`` with a field of their own; the others go to ``SessionDraft.metadata``."""


def draft_of(feed: Feed) -> SessionDraft:
    """The session as the feed tells it."""
    stated_metadata = _metadata(feed)
    results = text_of(feed.object_at("results").get("status")).lower()
    phase = stated_metadata.get("phase") if stated_metadata.get("phase") in PHASES else _PHASE_OF_STATUS.get(results)
    title = _title(feed, stated_metadata)
    record = {
        "feed_type": feed.blocks.get("feed_type"),
        "layouts": layouts(feed),
        "blocks": _kept(feed, stated_metadata, title),
    }
    return SessionDraft(
        external_id=_identity(feed, stated_metadata),
        title=title,
        agent_name=_agent(feed),
        started_at=_time(stated_metadata, "started_at", "created_at", "created")
        or parse(feed.blocks.get("session_date"))[0],
        ended_at=_time(stated_metadata, "ended_at"),
        phase=phase,
        model=first_text(stated_metadata.get("model"), feed.object_at("api_execution").get("model")) or None,
        user_id=text_of(stated_metadata.get("user_id")),
        summary=summary_of(feed.blocks.get("session_summary"), title) or _other_summary(feed),
        tags=tuple(
            tag
            for tag in _list(stated_metadata.get("tags")) or _list(feed.object_at("data").get("topics"))
            if isinstance(tag, str)
        ),
        parent_external_id=text_of(stated_metadata.get("parent_session_id")) or None,
        metadata=_shown(feed, stated_metadata),
        record={FORMAT: record},
    )


def time_findings(feed: Feed) -> Iterator[Finding]:
    """Times of the feed that had to be guessed at or are none."""
    for name, value in _metadata(feed).items():
        if name in ("generated_at", "started_at", "created_at", "created", "ended_at"):
            _, odd = parse(value)
            if odd:
                yield Finding("L4", "info", f"/metadata/{name}", f"{odd}.")


def metadata_of(session: SessionDraft, origin: str, generated_at: datetime | None) -> dict[str, Json]:
    """The ``metadata`` block of a new file. The origin of the file it came from stays under ``source_origin``."""
    own = dict(session.metadata)
    absent = "" if FORMAT in session.record else None  # said, so that nobody takes ours for theirs
    stated = {
        "title": session.title or _untitled(session.external_id),
        "origin": origin,
        "generated_at": generated_at and rfc3339(generated_at),
        "session_id": session.external_id,
        "started_at": session.started_at and rfc3339(session.started_at),
        "ended_at": session.ended_at and rfc3339(session.ended_at),
        "phase": session.phase,
        "model": session.model,
        "user_id": session.user_id or None,
        "parent_session_id": session.parent_external_id,
        "tags": list(session.tags) or None,
        "source_origin": own.pop("origin", absent),
        "source_generated_at": own.pop("generated_at", absent),
        "source_replay_endpoint": own.pop(reserved.REPLAY, absent),
    }
    elsewhere = {*_FIELDS, "imports", *reserved.NAMES}
    clashing = {name: value for name, value in own.items() if name in _FIELDS}
    plain = {name: value for name, value in own.items() if name not in elsewhere}
    metadata = {**stated, **plain, "session": clashing or None}
    return {name: value for name, value in metadata.items() if value is not None}


def summary_of(block: Json, title: str) -> str:
    """``session_summary`` in words: topic, focus, next steps; or the summary we wrote ourselves."""
    if not isinstance(block, dict):
        return text_of(block)
    if isinstance(block.get("summary"), str):
        return block["summary"]
    lines = [("topic", block.get("topic") if block.get("topic") != title else None)]
    lines += [(name, block.get(name)) for name in ("current_focus", "next_steps")]
    told = ((label_of(name).capitalize(), _sentence(value)) for name, value in lines)
    return "\n".join(f"{label}: {text}" for label, text in told if text)


def is_plain_summary(block: Json, title: str) -> bool:
    """Topic and summary alone, as we write it: both are fields of the session."""
    return isinstance(block, dict) and block.keys() <= {"topic", "summary"} and block.get("topic", title) == title


def kept_blocks(session: SessionDraft) -> list[tuple[str, str]]:
    """Blocks of the feed this session came from, as (name, JSON text); empty for a session of other origin."""
    record = session.record.get(FORMAT)
    blocks = record.get("blocks") if isinstance(record, dict) else None
    return [(name, text) for name, text in blocks] if isinstance(blocks, list) else []


_PHASE_OF_STATUS: dict[str, Any] = {
    "success": "completed", "completed": "completed", "error": "crashed", "failed": "crashed", "timeout": "timed_out",
    "cancelled": "cancelled", "canceled": "cancelled", "aborted": "cancelled",
}  # fmt: skip


def _metadata(feed: Feed) -> dict[str, Json]:
    """``metadata``; the oldest layouts (S7, S8) have its keys at the top."""
    top = ("origin", "title", "description", "tags", "created", "created_at")
    return {**{name: feed.blocks[name] for name in top if name in feed.blocks}, **restored(feed.object_at("metadata"))}


def _identity(feed: Feed, stated_metadata: dict[str, Json]) -> str:
    """The sender's own id; else a digest of what names the feed, or of the whole file where nothing does."""
    stated = first_text(
        stated_metadata.get("session_id"),
        feed.object_at("session_state").get("session_id"),
        stated_metadata.get("execution_id"),
    )
    if stated:
        return stated[:200]
    when = first_text(
        *(stated_metadata.get(name) for name in ("created_at", "created", "generated_at")),
        feed.blocks.get("session_date"),
    )
    name = [stated_metadata.get("origin") or feed.blocks.get("project"), stated_metadata.get("title"), when]
    digest = sha256(dumps(name)).hexdigest() if when else feed.digest
    return f"llmfeed-{digest[:32]}"


def _title(feed: Feed, stated_metadata: dict[str, Json]) -> str:
    data, summary = feed.object_at("data"), feed.object_at("session_summary")
    stated = stated_metadata.get("title")
    return first_text(
        stated if stated != _untitled(text_of(stated_metadata.get("session_id"))) else None,
        data.get("main_topic"),
        data.get("block_name"),
        summary.get("topic"),
        feed.blocks.get("project"),
    )


def _untitled(external_id: str) -> str:
    """The schema asks for a title where there is none."""
    return f"Session {external_id}"


def _agent(feed: Feed) -> str:
    return first_text(
        feed.object_at("context").get("agent_profile"),
        feed.object_at("session_context").get("agent_profile"),
        feed.object_at("agent_collaboration").get("primary_agent"),
        feed.object_at("workflow_context").get("platform"),
    )


def _other_summary(feed: Feed) -> str:
    data, session = feed.object_at("data"), feed.object_at("session")
    context = data.get("context_summary")
    items = (
        item.get("summary") for item in feed.list_at("data") if isinstance(item, dict) and item.get("type") == "session"
    )
    return first_text(
        session.get("context_summary"),
        context.get("project_scope") if isinstance(context, dict) else context,
        data.get("context"),
        *items,
    )


def _shown(feed: Feed, stated_metadata: dict[str, Json]) -> dict[str, Json]:
    """Metadata shown beside the fields. A value that does not fit its field stays here as it came."""
    shown = {name: value for name, value in stated_metadata.items() if name not in _FIELDS or _is_misfit(name, value)}
    if isinstance(stated_metadata.get("session"), dict):
        shown.update(stated_metadata["session"])
    for name in ("origin", "generated_at"):
        if value := stated_metadata.get(f"source_{name}", stated_metadata.get(name)):
            shown[name] = value
    if feed.list_at("imports"):
        shown["imports"] = feed.list_at("imports")
    return shown | reserved.shown_blocks(feed, stated_metadata)


def _is_misfit(name: str, value: Json) -> bool:
    if name == "session":
        return not isinstance(value, dict)
    if name == "tags":
        return not isinstance(value, list) or not all(isinstance(tag, str) for tag in value)
    return not isinstance(value, str) or (name == "phase" and value not in PHASES)


def _kept(feed: Feed, stated_metadata: dict[str, Json], title: str) -> list[list[str]]:
    """The blocks to keep, as text: a database that orders keys anew, or rounds numbers, would change signed bytes."""
    kept = {
        name: value
        for name, value in reserved.blocks_with_their_endpoint(feed.blocks, stated_metadata).items()
        if name not in _CONSUMED
    }
    if is_plain_summary(kept.get("session_summary"), title):
        del kept["session_summary"]
    rest = rest_of_context(feed)
    blocks = {"context": rest, **kept} if rest else kept
    return [[name, dumps(value).decode()] for name, value in blocks.items()]


def rest_of_context(feed: Feed) -> dict[str, Json]:
    """``context`` without what becomes the first message and the agent's name."""
    context = feed.blocks.get("context")
    if context is None or isinstance(context, dict):
        return {name: value for name, value in (context or {}).items() if not _is_field(name, value)}
    return {"value": context}


def _is_field(name: str, value: Json) -> bool:
    return name in ("user_input", "agent_profile") and isinstance(value, str)


def _time(stated_metadata: dict[str, Json], *names: str) -> datetime | None:
    return next((at for name in names if (at := parse(stated_metadata.get(name))[0])), None)


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _sentence(value: Json) -> str:
    return "; ".join(item for item in value if isinstance(item, str)) if isinstance(value, list) else text_of(value)
