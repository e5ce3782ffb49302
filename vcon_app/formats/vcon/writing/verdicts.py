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
from ..file import ANALYSIS_MEMBERS, dumps, in_member_order, indented_json
from .items import Before
from .plan import Plan
from .trace import PRODUCT

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
    names = _names(plan, events, wanted)
    body = {
        "session": plan.session.external_id,
        **{part: [_about(one, names) for one in review.get(part, [])] for part in PARTS},
    }
    near = Before(plan, events)
    dialogs = {near.dialog(number + 1) for number in wanted} if plan.dialogs else set()
    as_text = plan.options.get("bodies") == "string"
    return {
        "type": "report",
        **({"dialog": sorted(dialogs)} if dialogs else {}),
        "vendor": PRODUCT,
        "product": plan.options.get("product_version") or PRODUCT,
        "schema": SCHEMA,
        "mediatype": "application/json",
        "encoding": "json",
        "body": dumps(body).decode() if as_text else body,
    }


def _names(plan: Plan, events: Events, wanted: set[int]) -> dict[int, str]:
    """Number in the log -> id in the written trace."""
    return {
        number: plan.entry_id(event, number)
        for number, event in enumerate(events, 1)
        if number in wanted and plan.is_entry(event)
    }


def _about(one: dict[str, Any], names: dict[int, str]) -> dict[str, Json]:
    told = {name: value for name, value in one.items() if name not in ("seq", "last_seq")}
    places = {"event": names.get(one.get("seq", 0)), "last_event": names.get(one.get("last_seq", 0))}
    return {**{name: event for name, event in places.items() if event}, **told}
