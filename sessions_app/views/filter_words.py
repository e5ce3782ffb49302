"""A filter of the session list in words: what its chips, and the rule of a review queue, say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.http import QueryDict
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext_lazy as _

from sessions_app.models import Member, ReviewQueue, Session
from sessions_app.models.session_order import ENDINGS
from sessions_app.queries.sessions.conditions import NOBODY
from sessions_app.queries.sessions.session_filter import BOOLEANS, ME
from sessions_app.rendering import marks
from sessions_app.summary.findings import RULES

from .labels import label
from .translated import translated

LABELS = {
    "agent": _("agent"), "ended": _("state"), "status": _("status"), "origin": _("source"), "tag": _("tag"),
    "q": _("search"), "from": _("from"), "to": _("to"), "min_cost": _("at least $"), "model": _("model"),
    "tool": _("tool"), "used_from": _("used from"), "used_to": _("used to"), "verdict": _("verdict"),
    "assignee": _("assigned to"), "finding": _("finding:"), "sort": _("sorted by"),
}  # fmt: skip
"""What stands before the value of a filter."""
BADGES = {"waiting": "waits", "error": "ended_in_error", "cancelled": "run_cancelled"}
ENDED = {word: marks.STATES[BADGES.get(word, word)].words for word in ENDINGS}
"""How a session ended or stands, by the word of the filter: as its badge says it."""
PHRASES = {
    ("needs_approval", "true"): _("Pending approvals"), ("needs_approval", "false"): _("No pending approvals"),
    ("has_errors", "true"): _("With errors"), ("has_errors", "false"): _("Without errors"),
    ("finding", "any"): _("With findings"), ("verdict", "none"): _("Not reviewed"), ("verdict", "any"): _("Reviewed"),
    ("verdict", "fail"): _("Failed in review"), ("verdict", "pass"): _("Passed in review"),
    ("assignee", ME): _("Assigned to me"), ("assignee", NOBODY): _("Assigned to nobody"),
    ("fold", "no"): _("Nothing folded"),
} | {("status", value): said for value, said in Session.Status.choices}  # fmt: skip
"""Filters that are said as a whole."""
VALUES = {("finding", rule.name): rule.label for rule in RULES} | {
    ("origin", value): said.lower() for value, said in Session.Origin.choices
}
"""Values that are said otherwise than they stand in the address."""


def words_of(name: str, value: str, people: Mapping[str, str]) -> str:
    """One filter in words; ``people`` are names of members by id. One that the list does not know stays as it is."""
    if name in ("has_errors", "needs_approval"):
        value = {True: "true", False: "false"}.get(BOOLEANS.get(value.lower(), value), value)
    if name == "import":
        return str(_("of one import"))
    if name == "ended" and value in ENDED:
        return capfirst(str(translated(ENDED[value])))
    if phrase := PHRASES.get((name, value)):
        return label(str(translated(phrase)))
    if name not in LABELS:
        return f"{name}={value}"
    said = people.get(value, value) if name == "assignee" else _value(name, value)
    joint = "" if name == "min_cost" else " "
    return str(format_lazy("{}{}{}", LABELS[name], joint, said))


def _value(name: str, value: str) -> str:
    said = VALUES.get((name, value))
    return label(translated(said).lower()) if said else value


def people_of(values: Iterable[str], workspace_id: object) -> dict[str, str]:
    """Names of the members among these ids, which may be anything; one query, or none."""
    ids = [value for value in values if len(value) == 36]
    if not ids:
        return {}
    found = Member.objects.filter(workspace_id=workspace_id).select_related("user")[:1_000]
    return {str(one.pk): str(one) for one in found if str(one.pk) in ids}


def rules_in_words(queues: Iterable[ReviewQueue], workspace_id: object) -> dict[object, list[str]]:
    """By id of a queue: its filter in words, one for each part; none for all sessions."""
    filters = {
        queue.pk: [(name, value) for name, value in QueryDict(queue.filter).items() if value] for queue in queues
    }
    assignees = [str(value) for parts in filters.values() for name, value in parts if name == "assignee"]
    people = people_of(assignees, workspace_id)
    return {pk: [words_of(name, str(value), people) for name, value in parts] for pk, parts in filters.items()}
