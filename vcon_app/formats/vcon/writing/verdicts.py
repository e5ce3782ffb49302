"""What reviewers said, as an analysis of type ``report`` (core s4.5): no extension is needed, and others may ignore it.

The drafts have no word for a human approval. Body: ``session`` (its id in the trace), ``approvals``, ``verdicts``,
``comments`` and ``notes`` as ``vcon_app.queries.verdicts`` gives them, each with ``event``: the id of the trace entry
that it is about; of a comment on a range with ``last_event``, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....drafts import Events, Json
from ...common.values import dict_of
from ..file import ANALYSIS_MEMBERS, in_member_order, indented_json
from .plan import Plan
from .reports import names_of, report

SCHEMA = "urn:countersign:review-verdicts:1"
PARTS = ("approvals", "verdicts", "comments", "notes")


def verdicts(plan: Plan, events: Events) -> Iterator[bytes]:
    """The analysis, laid out; nothing when it was not asked for, or nobody said anything."""
    review = dict_of(plan.options.get("review"))
    if plan.options.get("verdicts") and any(review.get(part) for part in PARTS):
        yield indented_json(in_member_order(_item(plan, events, review), ANALYSIS_MEMBERS), 2)


def _item(plan: Plan, events: Events, review: dict[str, Any]) -> dict[str, Json]:
    said = [one for part in PARTS for one in review.get(part, [])]
    wanted = {one[name] for one in said for name in ("seq", "last_seq") if one.get(name)}
    names = names_of(plan, events, wanted)
    body: dict[str, Json] = {
        "session": plan.session.external_id,
        **{part: [_about(one, names) for one in review.get(part, [])] for part in PARTS},
    }
    return report(plan, events, SCHEMA, body, wanted)


def _about(one: dict[str, Any], names: dict[int, str]) -> dict[str, Json]:
    told = {name: value for name, value in one.items() if name not in ("seq", "last_seq")}
    places = {"event": names.get(one.get("seq", 0)), "last_event": names.get(one.get("last_seq", 0))}
    return {**{name: event for name, event in places.items() if event}, **told}
