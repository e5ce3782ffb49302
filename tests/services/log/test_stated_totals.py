"""A total that the recorder states beats prices computed from tokens, and nothing is in it twice."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from sessions_app.models import Session, Workspace
from sessions_app.queries.money import usage
from sessions_app.services.log import projections
from vcon_app.services.exports import export_jobs

from ..imports.test_imports import BY, drop
from .test_rebuild import state

pytestmark = pytest.mark.django_db
INIT = {"type": "system", "subtype": "init", "session_id": "s", "uuid": "i", "tools": ["Bash"], "cwd": "/srv"}


def said(number: int, model: str = "claude-opus-4-5", **more: Any) -> dict[str, Any]:
    tokens = {"input_tokens": 1_000, "output_tokens": 100}
    message = {"id": f"msg_{number}", "role": "assistant", "model": model, "usage": tokens,
               "content": [{"type": "text", "text": "Done"}]}  # fmt: skip
    return {"type": "assistant", "session_id": "s", "uuid": f"a{number}", "message": message, **more}


def asked(number: int) -> dict[str, Any]:
    message = {"role": "user", "content": f"Do {number}"}
    return {"type": "user", "session_id": "s", "uuid": f"u{number}", "message": message}


def ended(number: int, total: float | None) -> dict[str, Any]:
    value = {"type": "result", "subtype": "success", "session_id": "s", "uuid": f"r{number}"}
    return value if total is None else value | {"total_cost_usd": total}


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


RUN = (INIT, asked(1), said(1), said(2, parent_tool_use_id="t"), ended(1, 0.25), asked(2), said(3), ended(2, 0.75))


def cost(session: Session) -> tuple[Decimal | None, str, int]:
    return session.cost_amount, session.cost_basis, session.unpriced_tokens


def test_the_total_is_the_cost_of_the_session_and_its_parts_those_of_the_turns(workspace):
    drop(workspace, lines(*RUN))
    session = Session.objects.get()
    assert cost(session) == (Decimal("0.75"), "recorded", 0)
    assert [turn.cost_amount for turn in session.turns.filter(index__gt=0).order_by("index")] == [
        Decimal("0.25"), Decimal("0.5"),
    ]  # fmt: skip
    assert session.total_tokens == 3_300


def test_a_model_without_a_price_leaves_no_doubt_about_a_stated_total(workspace):
    drop(workspace, lines(INIT, asked(1), said(1, model="nobody-knows-it"), ended(1, 0.5)))
    assert cost(Session.objects.get()) == (Decimal("0.5"), "recorded", 0)


def test_usage_after_the_last_stated_total_is_priced_separately(workspace):
    drop(workspace, lines(*RUN, asked(3), said(4)))
    amount, basis, _ = cost(Session.objects.get())
    assert basis == "mixed" and amount > Decimal("0.75")


def test_session_without_stated_total_is_priced_from_its_tokens(workspace):
    drop(workspace, lines(INIT, asked(1), said(1), ended(1, None)))
    assert cost(Session.objects.get())[1] == "priced"


def test_a_file_that_grows_past_its_statement_ends_with_the_same_cost(workspace):
    for end in range(2, len(RUN) + 1):
        drop(workspace, lines(*RUN[:end]))
    session = Session.objects.get()
    assert cost(session) == (Decimal("0.75"), "recorded", 0)
    before = state(session)
    projections.rebuild(session.pk)
    assert state(session) == before


def test_a_stated_total_survives_the_way_through_a_vcon(workspace):
    drop(workspace, lines(*RUN))
    before = Session.objects.get()
    written = export_jobs.start_export(before, "vcon", by=BY)
    elsewhere = Workspace.objects.create(slug="elsewhere")
    drop(elsewhere, export_jobs.open_file(written).read(), "run.vcon")
    after = Session.objects.get(workspace=elsewhere)
    assert (cost(after), after.total_tokens) == (cost(before), before.total_tokens)


def test_every_grouping_of_the_usage_has_the_stated_total(workspace):
    drop(workspace, lines(*RUN))
    period = usage.Period(workspace.pk)
    assert (period.total().cost_amount, period.total().cost_basis) == (Decimal("0.75"), "recorded")
    for by in usage.GROUPS:
        groups = period.groups(by, limit=50)
        assert sum(group.cost_amount or Decimal(0) for group in groups) == Decimal("0.75"), by
        assert sum(group.unpriced_tokens for group in groups) == 0
