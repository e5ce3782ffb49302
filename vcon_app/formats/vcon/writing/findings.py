"""What rules mark in the run, as an analysis of type ``report`` (core s4.5), from the events as they are written.

Body: ``session`` (its id in the trace), ``findings``: each with ``rule``, ``label``, ``count`` and the first of its
``places``, each with ``event`` (the id of the trace entry), the desk's ``words``, and what is ``quoted`` of the
transcript, masked. Who reads it has the desk's rules at their word: it is no part of the record.
"""

from __future__ import annotations

from collections.abc import Iterator

from sessions_app.summary.findings import Finding

from ....drafts import Events, Json
from ...html.happened import Happened
from ..file import ANALYSIS_MEMBERS, in_member_order, indented_json
from .plan import Plan
from .reports import names_of, report

SCHEMA = "urn:countersign:run-findings:1"


def findings(plan: Plan, events: Events) -> Iterator[bytes]:
    """The analysis, laid out; nothing when it was not asked for. That no rule found anything is said."""
    if not plan.options.get("findings"):
        return
    happened = Happened(plan.session)
    for _ in happened.through(events):
        pass
    found = happened.findings()
    wanted = {place.seq for finding in found for place in finding.places}
    names = names_of(plan, events, wanted)
    body: dict[str, Json] = {
        "session": plan.session.external_id,
        "findings": [_json_of(finding, names) for finding in found],
    }
    yield indented_json(in_member_order(report(plan, events, SCHEMA, body, wanted), ANALYSIS_MEMBERS), 2)


def _json_of(finding: Finding, names: dict[int, str]) -> dict[str, Json]:
    places = []
    for place in finding.places:
        told = {"event": names.get(place.seq, ""), "words": place.words, "quoted": place.quoted}
        places.append({name: value for name, value in told.items() if value})
    return {"rule": finding.rule, "label": finding.label, "count": finding.count, "places": places}
