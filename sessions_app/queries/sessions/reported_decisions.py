"""What the file of an imported session says was known and decided, as text for an agent that goes on from it.

A decision of a file is its word and no approval: nobody at this desk gave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from sessions_app.models import Event, Session

DECISIONS = 100
OUTPUTS = 20
PART, CONTEXT = 1_000, 20_000
"""Characters of one part of a decision, of the context that the session began with."""
WORD = (
    "The record of that session says that these things were asked for and decided there. Nobody here has checked it. "
    "Do not ask for them again: build on what was resolved, and do not repeat what was rejected."
)
TITLES = ("title", "intent", "name", "question")
TOLD = (
    ("prompt", "prompt"), ("used_prompt", "prompt"), ("context", "context"), ("reason", "because"),
    ("rationale", "because"), ("rejection_reason", "because"), ("rejected_reason", "because"),
    ("by", "by"), ("decided_by", "by"), ("answer", "answer"), ("result", "result"), ("outcome", "outcome"),
    ("decision_outcome", "outcome"),
    ("arguments", "with the arguments"), ("consequences", "consequences"), ("dated", "on"), ("date", "on"),
)  # fmt: skip
"""Members of a decision, the likeliest name of each first, with the words before it."""


RECORDS = frozenset({"llmfeed", "upg", "vac", "vcon"})
"""Formats that tell of decisions and outputs. A transcript has none, and 100,000 events to look for them in."""


def reported_decisions(session: Session, through: int) -> str:
    """The latest 100 decisions that events up to ``through`` tell of, with how each ended and why."""
    if session.source_format not in RECORDS:
        return ""
    told = Event.objects.filter(session=session, seq__lte=through, kind__in=("note", "approval"), document__gt="")
    rows = told.filter(data__has_key="decision").order_by("-seq").values("kind", "text", "data", "tool_name")
    lines = [_line_of(row) for row in rows[:DECISIONS]][::-1]
    return "\n".join(["## Decisions that the record tells of", WORD, *lines]) if lines else ""


def reported_outputs(session: Session, through: int) -> str:
    """Outputs of the file that are no text, as JSON; images and sound are only named."""
    if session.source_format not in RECORDS:
        return ""
    made = Event.objects.filter(session=session, seq__lte=through, kind="artifact", document__gt="", text="")
    lines = []
    for data in made.filter(data__has_key="body").order_by("seq").values_list("data", flat=True)[:OUTPUTS]:
        kind = _text(data.get("mediatype") or data.get("name") or "output", 80)
        is_media = kind.startswith(("image/", "audio/", "video/"))
        lines.append(f"- {kind}" if is_media else f"- {kind}: {_text(data['body'], 3 * PART)}")
    return "\n".join(["## Outputs that are no text", *lines]) if lines else ""


def reported_context(session: Session) -> str:
    """Goal, user and imports that an llmfeed says its session began with."""
    told: dict[str, Any] = {}
    if session.source_format == "llmfeed":
        blocks = Session.objects.filter(pk=session.pk).values_list("source_record__llmfeed__blocks", flat=True).first()
        told = {name: text for name, text in blocks or [] if name == "context"}
    if imports := session.metadata.get("imports"):
        told["imports"] = _text(imports, PART * 5)
    parts = [f"{name}: {_text(value, CONTEXT)}" for name, value in told.items() if value]
    return "\n\n".join(["## The context that it began with", *parts]) if parts else ""


def _line_of(row: Mapping[str, Any]) -> str:
    decision = row["data"].get("decision")
    if not isinstance(decision, Mapping):  # of an approval: one word, beside its tool and comment
        about, by = row["tool_name"] or "a call", row["data"].get("by")
        comment = f"; because: {_text(row['text'], PART)}" if row["text"] else ""
        return f"- {_text(about, 200)}: {_text(decision, 60)}{f' by {_text(by, 80)}' if by else ''}{comment}"
    title = next((decision[name] for name in TITLES if decision.get(name)), row["text"])
    parts, said = [], set()
    for name, words in TOLD:
        if words not in said and decision.get(name) not in (None, "", [], {}):
            said.add(words)
            parts.append(f"; {words}: {_text(decision[name], PART)}")
    return f"- {_text(title, PART)}: {outcome_of(decision)}{''.join(parts)}"


def outcome_of(decision: Mapping[str, Any]) -> str:
    """``resolved``, ``rejected``, a status as the file has it, or that it does not say."""
    if decision.get("rejected") is True:
        return "rejected"
    if isinstance(decision.get("resolved"), bool):
        return "resolved" if decision["resolved"] else "not resolved"
    return next(
        (str(decision[name])[:60] for name in ("status", "verdict") if decision.get(name)), "outcome not stated"
    )


def _text(value: Any, limit: int) -> str:
    said = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    line = " ".join(said[: 2 * limit].split())
    return line if len(line) <= limit else f"{line[:limit]} …"
