"""The versions of an agent's definition: who changed what, and the difference between any two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, AgentVersion
from sessions_app.queries.sessions import version_comparison
from sessions_app.rendering import diff
from sessions_app.search.operators import QUOTED
from sessions_app.services import agents

from .. import access
from ..session.addresses import number

VERSIONS = 30


@dataclass(frozen=True, slots=True)
class Change:
    """A field that differs between two definitions."""

    name: str
    rows: list[diff.Row]


@dataclass(frozen=True, slots=True)
class Version:
    """A version in the list, with the fields that it changed; None for the first."""

    kept: AgentVersion
    changed: list[str] | None


@require_safe
@access.viewer
def index(request: access.DeskRequest, slug: str) -> HttpResponse:
    """The versions, newest first; ``?from=2&to=5`` shows what differs. ``?below=40`` turns the page."""
    agent = access.agent_read(request, slug)
    below, new, old = (_version(request.GET.get(name, "")) for name in ("below", "to", "from"))
    found = AgentVersion.objects.filter(agent=agent).order_by("-version")
    rows = list((found.filter(version__lt=below) if below else found)[: VERSIONS + 1])
    new = agent.version if new is None else new
    old = max(new - 1, 1) if old is None else old
    context = {"agent": agent, "versions": _listed(rows), "old": old, "new": new}
    context["more"] = rows[VERSIONS - 1].version if len(rows) > VERSIONS else None
    context["changes"] = changes_between(agent, old, new) if old != new else []
    if old != new:
        tag = request.GET.get("tag", "").strip().replace("\0", "")[:200]
        context |= {"compared": version_comparison.compare_versions(agent.pk, old, new, tag), "tag": tag}
        context["looked_at"] = version_comparison.LOOKED_AT
    return render(request, "agents/versions.html", context)


def _version(value: str) -> int | None:
    """The number of a version in an address; None where there is none. Raises 404 for what is no number."""
    found = number(value)
    if value and found is None:
        raise Http404(gettext('"%(value)s" is no version; use its number.') % {"value": value[:QUOTED]})
    return found


@require_safe
@access.viewer
def detail(request: access.DeskRequest, slug: str, version: int) -> HttpResponse:
    """The whole definition as it was."""
    agent = access.agent_read(request, slug)
    kept = AgentVersion.objects.filter(agent=agent, version=min(version, 2**31 - 1)).first()
    if kept is None:
        raise Http404(gettext("%(name)s has no version %(version)s.") % {"name": agent.name, "version": version})
    fields = [(name, as_text(kept.definition.get(name))) for name in agents.DEFINED]
    return render(request, "agents/version.html", {"agent": agent, "kept": kept, "fields": fields})


def changes_between(agent: Agent, old: int, new: int) -> list[Change]:
    """What differs from one version to the other, field by field. Raises 404 for a version that there is not."""
    kept = dict(AgentVersion.objects.filter(agent=agent, version__in=[old, new]).values_list("version", "definition"))
    if missing := {old, new} - kept.keys():
        raise Http404(gettext("%(name)s has no version %(missing)s.") % {"name": agent.name, "missing": min(missing)})
    before, after = kept[old], kept[new]
    return [
        Change(name, list(diff.between(as_text(before.get(name)), as_text(after.get(name)))))
        for name in agents.differing(before, after)
    ]


def as_text(value: Any) -> str:
    """A field as lines: text as it is, JSON with a line for each member."""
    if isinstance(value, str):
        return value
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS
    return orjson.dumps(value, option=options).decode() if value else ""


def _listed(rows: list[AgentVersion]) -> list[Version]:
    """A page of versions; the row behind it is only there to compare with."""
    listed = []
    for row, older in zip(rows, [*rows[1:], None], strict=True):
        changed = agents.differing(older.definition, row.definition) if older else None
        listed.append(Version(row, changed))
    return listed[:VERSIONS]
