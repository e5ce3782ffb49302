"""How long model requests took, by day and by model, from what they answer to the end of the response."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.drafts import EventDraft, Usage
from sessions_app.models import Session
from sessions_app.queries.money import latencies
from sessions_app.services import audit, sessions
from sessions_app.services.log import events, links

from ..build import words

DAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def talk(agent, model: str, seconds: list[float], at: datetime = DAY, **changes) -> Session:
    """A session of a question and an answer for each duration."""
    session = sessions.create(agent, by=audit.COMMAND, title=f"With {model}")
    drafts = []
    for number, took in enumerate(seconds):
        asked = at + timedelta(minutes=number)
        usage = Usage(input_tokens=10, output_tokens=5)
        drafts += [
            EventDraft(kind="user_message", key=f"u{number}", at=asked, text="Go on"),
            EventDraft(kind="agent_message", key=f"a{number}", at=asked + timedelta(seconds=took), text="Done",
                       usage=usage, model=model),
        ]  # fmt: skip
    events.append(session.pk, drafts, origin=links.RUNTIME)
    Session.objects.filter(pk=session.pk).update(started_at=at, **changes)
    return session


def of(workspace, **filters) -> latencies.Latencies:
    first, second, third = (DAY.date() + timedelta(days=later) for later in range(3))
    return latencies.latencies(workspace.pk, [(first, second), (second, third)], **filters)


def test_half_and_nearly_all_of_the_requests_by_model_and_by_day(agent, workspace):
    talk(agent, "fast", [1, 1, 2, 9])
    talk(agent, "slow", [20, 40], DAY + timedelta(days=1), origin="import", tags=["vip"])
    found = of(workspace)
    assert found.by_model["fast"] == latencies.Latency(4, 1, 1_000, 9_000)
    assert found.by_model["slow"] == latencies.Latency(2, 1, 20_000, 40_000)
    assert found.by_part[DAY.date()].p95 == 9_000 and found.total.requests == 6
    assert set(of(workspace, origin="import").by_model) == set(of(workspace, tag="vip").by_model) == {"slow"}
    assert set(of(workspace, agent=agent.slug).by_model) == {"fast", "slow"} and not of(workspace, agent="no").by_model


def test_what_was_written_at_one_moment_says_nothing(agent, workspace):
    talk(agent, "m", [0, 0])
    assert of(workspace).total is None


def test_of_a_long_session_the_last_requests_are_looked_at(agent, workspace):
    talk(agent, "m", [50] * 20 + [1] * latencies.REQUESTS)
    assert of(workspace).by_model["m"] == latencies.Latency(latencies.REQUESTS, 1, 1_000, 1_000)


def test_the_sample_does_not_grow_with_sessions(agent, workspace, monkeypatch):
    monkeypatch.setattr(latencies, "SESSIONS", 4)
    for number in range(5):
        talk(agent, "m", [1], DAY + timedelta(hours=number))
    assert of(workspace).total == latencies.Latency(2, 2, 1_000, 1_000)


@pytest.mark.parametrize("query", ["", "&by=model"])
def test_the_picture_has_a_table_by_model_that_leads_to_sessions(viewer, agent, query):
    talk(agent, "<fast>", [1, 3])
    answer = viewer.get(f"/usage/?picture=latency&from=2026-03-01&to=2026-03-05{query}")
    page = words(answer)
    assert "<fast> 1.0 s 3.0 s 2 1" in page
    assert "the last 4 requests of at most 120 sessions" in page and "2 Mar 2026 1.0 s 3.0 s" in page
    assert "model=%3Cfast%3E" in answer.content.decode()
    assert "/sessions/?" in answer.content.decode().split("The chart as a table")[1].split("from=2026-03-02")[0][-200:]


def test_the_picture_of_many_days_says_how_many_sessions_it_looked_at(viewer, agent, monkeypatch):
    monkeypatch.setattr(latencies, "SESSIONS", 1)  # less than the two of each day
    talk(agent, "m", [1])
    assert "at most 2 sessions" in words(viewer.get("/usage/?picture=latency&from=2026-03-01&to=2026-03-05"))


def test_of_another_workspace_nothing_is_counted(charlie, agent):
    talk(agent, "hush", [1])
    assert "hush" not in words(charlie.get("/usage/?picture=latency&from=2026-03-01&to=2026-03-05"))
