"""The tool calls that agents made here: who provided them, how long they took, what they cost."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import CallUsage
from sessions_app.queries.money import ledger as queries
from sessions_app.queries.sessions import session_filter
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.search.operators import QUOTED

from .. import access
from ..filter_fields import day_fields
from ..pages import page_or_fragment, wants_fragment
from ..tables import CSV_ROWS, before, csv_response, uuid_in

NAMES = ("provider", "tool", "status", "agent", "session", "from", "to")
STATUSES = ("ok", "error", "cancelled", "denied")
HEAD = ("time", "provider", "tool", "status", "latency ms", "cost USD", "agent", "session", "seq")


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The URL holds the filters by the names in ``NAMES``; ``?before=`` pages, ``?providers=all`` adds all calls up."""
    values, wanted, errors = _filter(request.GET)
    context: dict[str, Any] = {
        "values": values, "errors": errors, "is_narrow": any(values.values()), "statuses": STATUSES,
        "days": day_fields(values, errors, gettext("From (UTC)")),
    }  # fmt: skip
    if not errors:
        found = queries.calls(request.member.workspace_id, wanted)
        context["calls"], context["more"] = before(found, request.GET, queries.WITHIN)
        if not wants_fragment(request):
            adds_all = request.GET.get("providers") == "all"
            context["providers"] = queries.providers(found, None if adds_all else queries.SUMMED)
            context |= {"summed": queries.SUMMED, "all_providers": _query(values | {"providers": "all"})}
    context["query"] = _query(values)
    return page_or_fragment(request, "usage/calls.html", "usage/_calls.html", context, status=400 if errors else 200)


@require_safe
@access.viewer
def table_csv(request: access.DeskRequest) -> HttpResponse:
    """The newest 100,000 calls that pass."""
    _, wanted, errors = _filter(request.GET)
    if errors:
        return HttpResponse("\n".join(f"{name}: {error}" for name, error in errors.items()), "text/plain", 400)
    rows = queries.calls(request.member.workspace_id, wanted).order_by(queries.WITHIN, "-id")[:CSV_ROWS]
    return csv_response("calls.csv", HEAD, map(_cells, rows))


def _cells(call: CallUsage) -> tuple[Any, ...]:
    agent = call.agent.name if call.agent else None
    same = (call.at, call.provider, call.tool, call.status, call.latency_ms, call.cost)
    return (*same, agent, str(call.session_id), call.seq)


def _filter(query: QueryDict) -> tuple[dict[str, str], queries.CallFilter, dict[str, str]]:
    """The values as they came, what they mean, and what is wrong with them."""
    values = {name: query.get(name, "").strip() for name in NAMES}
    read: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name, value in values.items():
        try:
            if value:
                read[{"from": "since", "to": "until"}.get(name, name)] = _value(name, value)
        except BadFilter as bad:
            errors[name] = str(bad)
    return values, queries.CallFilter(**read), errors


def _value(name: str, value: str) -> Any:
    if "\0" in value or len(value) > session_filter.MOST:
        raise BadFilter(
            name, gettext("use at most %(most)s characters, without NUL") % {"most": f"{session_filter.MOST:,}"}
        )
    if name in ("from", "to"):
        return session_filter.moment(name, value)
    if name == "session":
        if (session_id := uuid_in(value)) is None:
            raise BadFilter(name, gettext('"%(value)s" is no session id') % {"value": value[:QUOTED]})
        return session_id
    return value


def _query(values: dict[str, str]) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in values.items() if value})
    return f"?{query.urlencode()}" if query else ""
