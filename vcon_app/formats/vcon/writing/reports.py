"""An analysis of type ``report`` that the desk adds: no extension is needed, and others may ignore it (core s4.5)."""

from __future__ import annotations

from ....drafts import Events, Json
from ..file import dumps
from .items import Before
from .plan import Plan
from .trace import PRODUCT


def report(plan: Plan, events: Events, schema: str, body: dict[str, Json], wanted: set[int]) -> dict[str, Json]:
    """The analysis around ``body``. ``wanted``: numbers in the log of the events that it is about."""
    near = Before(plan, events)
    dialogs = {near.dialog(number + 1) for number in wanted} if plan.dialogs else set()
    as_text = plan.options.get("bodies") == "string"
    return {
        "type": "report",
        **({"dialog": sorted(dialogs)} if dialogs else {}),
        "vendor": PRODUCT,
        "product": plan.options.get("product_version") or PRODUCT,
        "schema": schema,
        "mediatype": "application/json",
        "encoding": "json",
        "body": dumps(body).decode() if as_text else body,
    }


def names_of(plan: Plan, events: Events, wanted: set[int]) -> dict[int, str]:
    """Number in the log -> id in the written trace."""
    return {
        number: plan.entry_id(event, number)
        for number, event in enumerate(events, 1)
        if number in wanted and plan.is_entry(event)
    }
