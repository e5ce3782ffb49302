"""Resumed and forked sessions: what they repeat is counted once in a workspace, in whatever order the files come."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import islice, permutations
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from sessions_app.models import ModelRequest, Session, Workspace
from sessions_app.queries import home
from sessions_app.queries.money import usage
from sessions_app.services import agents
from sessions_app.services.log import events, links, projections

from ..build import answer
from ..imports.test_imports import drop
from .test_rebuild import state

pytestmark = pytest.mark.django_db
BILLED = 1_110
"""Tokens of one response below."""


def line(number: int, at: str, session: str, **more: Any) -> dict[str, Any]:
    """A prompt (even numbers) or an answer, with a uuid and a message id by its number."""
    common = {
        "uuid": f"u{number}", "parentUuid": f"u{number - 1}", "sessionId": session, "cwd": "/srv/clock",
        "timestamp": f"2026-10-05T{at}Z", "type": "assistant" if number % 2 else "user",
    }  # fmt: skip
    if number % 2 == 0:
        return common | {"message": {"role": "user", "content": f"Wind the clock {number} times"}} | more
    tokens = {"input_tokens": 10, "output_tokens": 100, "cache_read_input_tokens": 1_000}
    message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-opus-4-5", "usage": tokens}
    return common | {"message": message | {"content": [{"type": "text", "text": f"Wound {number}"}]}} | more


def as_file(*lines: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def talk(session: str, numbers: range, hour: int, **more: Any) -> list[dict[str, Any]]:
    return [line(number, f"{hour:02}:00:{number:02}", session, **more) for number in numbers]


ORIGINAL = as_file(*talk("first", range(4), 9), *talk("first", range(4, 6), 10))
RESTAMPED = as_file(*talk("second", range(4), 9), *talk("second", range(6, 8), 11))
"""What Claude Code did until 2.0: the lines are those of the first session, only under the id of the new one."""
FORKED = as_file(
    *talk("third", range(4), 9, forkedFrom={"sessionId": "second", "messageUuid": "u"}),
    *talk("third", range(6, 8), 11, forkedFrom={"sessionId": "second", "messageUuid": "u"}),
    *talk("third", range(8, 10), 12),
)
RESUMED = as_file(*talk("first", range(4), 9), *talk("fourth", range(10, 12), 13))
"""The lines of the session before stand under their own id."""
FILES = {"first": ORIGINAL, "second": RESTAMPED, "third": FORKED, "fourth": RESUMED}
OWN = {"first": 3, "second": 1, "third": 1, "fourth": 1}
"""Responses that are counted in each."""


def fresh(name: str) -> Workspace:
    """The same id each time: sessions share 1,024 locks (``claims.LOCKS``), and of one in 300 two share one."""
    return Workspace.objects.create(id=uuid5(NAMESPACE_URL, name), slug=name)


def totals(workspace: Workspace) -> dict[str, Any]:
    """What the library says of its money and tokens, and where each response is counted."""
    found = {session.external_id: session for session in Session.objects.filter(workspace=workspace)}
    copies = ModelRequest.objects.filter(session__workspace=workspace, counted_in__isnull=False)
    told = {
        name: (session.total_tokens, session.cost_priced, session.copied_tokens)
        for name, session in sorted(found.items())
    }
    places = copies.order_by("session__external_id", "key").values_list(
        "session__external_id", "key", "counted_in__external_id"
    )
    return {"sessions": told, "copies": list(places), "library": usage.Period(workspace.pk).total()}


def test_each_response_is_counted_once_whatever_the_order_of_the_files():
    seen = []
    for number, order in enumerate(islice(permutations(FILES), 0, None, 3)):
        workspace = fresh(f"order-{number}")
        for name in order:
            drop(workspace, FILES[name], f"{name}.jsonl")
        seen.append(totals(workspace))
    first = seen[0]
    assert {name: told[0] for name, told in first["sessions"].items()} == {n: c * BILLED for n, c in OWN.items()}
    assert first["library"].total_tokens == sum(OWN.values()) * BILLED
    assert all(other == first for other in seen)


def test_every_grouping_of_the_usage_adds_up_to_the_same_total(workspace):
    for name in ("third", "fourth", "second", "first"):
        drop(workspace, FILES[name])
    period = usage.Period(workspace.pk)
    total = period.total()
    for by in usage.GROUPS:
        groups = period.groups(by, limit=50)
        assert sum(group.total_tokens or 0 for group in groups) == total.total_tokens, by
        assert sum(group.cost_amount or Decimal(0) for group in groups) == total.cost_amount, by


def test_a_response_belongs_to_the_session_that_a_fork_names_or_that_goes_on_first(workspace):
    for data in FILES.values():
        drop(workspace, data)
    places = {(session, key): owner for session, key, owner in totals(workspace)["copies"]}
    assert places == {
        ("second", "msg_1"): "first", ("second", "msg_3"): "first",
        ("third", "msg_1"): "first", ("third", "msg_3"): "first", ("third", "msg_7"): "second",
        ("fourth", "msg_1"): "first", ("fourth", "msg_3"): "first",
    }  # fmt: skip


def test_responses_of_an_absent_original_count_in_the_fork(workspace):
    drop(workspace, FORKED)
    session = Session.objects.get()
    assert (session.total_tokens, session.copied_tokens) == (4 * BILLED, 0)


def test_the_first_half_of_each_file_and_then_the_whole_is_the_same_as_once():
    once, halves = fresh("once"), fresh("halves")
    for name, data in FILES.items():
        drop(once, data, name)
    for cut in (3, 100):
        for name, data in reversed(FILES.items()):
            lines = data.splitlines(keepends=True)
            drop(halves, b"".join(lines[:cut] if name != "fourth" else lines), name)
    assert totals(halves) == totals(once)


def test_a_second_import_changes_nothing(workspace):
    for data in FILES.values():
        drop(workspace, data)
    before = totals(workspace)
    for data in FILES.values():
        drop(workspace, data + b"\n")
    assert totals(workspace) == before


def test_a_rebuild_of_one_after_the_other_changes_nothing(workspace):
    for data in FILES.values():
        drop(workspace, data)
    sessions = list(Session.objects.all())
    before = [state(session) for session in sessions]
    for session in sessions:
        projections.rebuild(session.pk)
    assert [state(session) for session in sessions] == before


def test_the_same_ids_at_other_times_with_other_words_or_in_another_workspace_are_other_responses(workspace):
    later = ORIGINAL.replace(b"2026-10-05", b"2026-10-06").replace(b'"first"', b'"other"')
    reworded = ORIGINAL.replace(b"Wound", b"Stopped").replace(b'"first"', b'"another"')
    elsewhere = fresh("elsewhere")
    for place, data in ((workspace, ORIGINAL), (workspace, later), (workspace, reworded), (elsewhere, RESTAMPED)):
        drop(place, data)
    assert not ModelRequest.objects.filter(counted_in__isnull=False).exists()


def test_responses_that_agents_send_are_theirs_alone(workspace):
    agent = agents.get_or_create_agent(workspace.id, "Porter")
    for _ in range(2):
        session = Session.objects.create(workspace=workspace, agent=agent)
        events.append(session.pk, [answer("resp-1", "claude-opus-4-5", output_tokens=5)], origin=links.RUNTIME)
    assert usage.Period(workspace.pk).total().output_tokens == 10


def test_a_turn_tells_the_tokens_that_it_repeats(workspace):
    drop(workspace, ORIGINAL)
    drop(workspace, RESTAMPED)
    turns = Session.objects.get(external_id="second").turns.order_by("index")
    assert [(turn.total_tokens, turn.copied_tokens) for turn in turns] == [(None, BILLED)] * 2 + [(BILLED, 0)]


def test_the_home_page_counts_once_what_was_said_today(workspace):
    today = f"{home.midnight():%Y-%m-%d}".encode()
    for data in (ORIGINAL, RESTAMPED):
        drop(workspace, data.replace(b"2026-10-05", today).replace(b"T09", b"T00").replace(b"T10", b"T00"))
    assert home.today(workspace.pk).total_tokens == 4 * BILLED
