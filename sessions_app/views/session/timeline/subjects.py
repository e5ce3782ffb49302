"""What a row beside the conversation is about, as the recorder says it: which file, which thing, how it was decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.phrases import gettext as _
from sessions_app.rendering import text

LONGEST = 160
PATHS = ("path", "file_path", "filePath", "filename", "name", "to_path")
OPERATIONS = ("operation", "change", "action")
DECIDED = ("status", "decision_outcome", "outcome", "resolution")


@dataclass(frozen=True, slots=True)
class Subject:
    """Nothing here is the desk's own word: all of it stands in the record."""

    name: str = ""
    done: str = ""
    """The operation on a file, or how a decision ended."""
    maker: str = ""


def subject_of(kind: str, data: Mapping[str, Any], actor_kind: str, actor_name: str) -> Subject | None:
    """Of a changed file, an artifact, a decision in a note; None for what has no name, outcome or maker."""
    if kind == "file_change":
        found = Subject(_first(data, PATHS), _first(data, OPERATIONS), actor_name)
    elif kind == "artifact":
        found = Subject(_first(data, ("name", "filename", "path", "title")), _first(data, ("purpose",)), actor_name)
    elif kind == "note" and isinstance(decision := data.get("decision"), dict):
        found = Subject("", _decided(decision), actor_name if actor_kind == "person" else "")
    else:
        return None
    return found if found.name or found.done or found.maker else None


def _decided(decision: Mapping[str, Any]) -> str:
    """``resolved`` and ``rejected`` of an llmfeed, the status of a product graph, and the reason where one is given."""
    said = next((word for word in ("rejected", "resolved") if decision.get(word) is True), "")
    if not said and decision.get("resolved") is False:
        said = _("not resolved")
    said = said or _first(decision, DECIDED)
    reason = _first(decision, ("reason", "rejected_reason", "rejection_reason"))
    return _("%(outcome)s: %(reason)s", outcome=said, reason=reason) if said and reason else said or reason


def _first(data: Mapping[str, Any], names: tuple[str, ...]) -> str:
    found = next((data[name] for name in names if isinstance(data.get(name), str) and data[name]), "")
    return text.first_line(found, LONGEST)
