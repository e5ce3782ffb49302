"""What the page of an imported transcript says of its rewinds, its relatives, its sub-agents and doubtful counts."""

from __future__ import annotations

import re

import pytest

from sessions_app.models import Session
from tests.formats.claude_code.lines import assistant, call, jsonl, result, text, user
from tests.services.files import transcript
from tests.services.imports.test_imports import drop
from tests.services.imports.test_sub_agents import FILES, MAIN
from tests.services.log.test_shared_responses import BILLED, FORKED, ORIGINAL, RESTAMPED

from .build import Page, path_of

pytestmark = pytest.mark.usefixtures("document_storage")
USAGE = {"input_tokens": 10, "output_tokens": 100}


def page(client, session: Session) -> Page:
    return Page(client.get(path_of(session)).content)


def answered(uuid: str, before: str, words: str) -> dict:
    return assistant(uuid, text(words), id=f"msg_{uuid}", usage=USAGE, parentUuid=before)


REWOUND = jsonl(
    user("p1", "Plant a tree"),
    answered("a1", "p1", "Planted an oak"),
    user("p2", "Water it with oil", parentUuid="a1", timestamp="2026-10-05T08:01:00Z"),
    answered("a2", "p2", "Oiled it"),
    user("p3", "Water it", parentUuid="a1", timestamp="2026-10-05T08:02:00Z"),
    answered("a3", "p3", "Watered it"),
)


def test_what_a_person_went_back_from_is_marked_and_still_costs(viewer, workspace):
    drop(workspace, REWOUND)
    session = Session.objects.get()
    shown = page(viewer, session)
    assert "Oiled it" in shown.text
    assert [tag["data-turn"] for tag in shown.all("section") if "abandoned" in (tag.get("class") or "")] == ["2"]
    assert "Rewound: the person went back to before this prompt" in shown.text
    assert session.output_tokens == 300
    for path in ("", "/outline"):
        html = viewer.get(path_of(session) + path, headers={"HX-Request": "true"} if path else {}).content.decode()
        rail = re.findall(r'<li(?: class="here")? data-turn="(\d+)">(.*?)</li>', html, re.DOTALL)
        assert [turn for turn, said in rail if "abandoned" in said] == ["2"], "the rail says so, too"


def test_no_turn_of_a_straight_session_is_abandoned(viewer, workspace):
    drop(workspace, REWOUND[: REWOUND.index(b'"p3"')].rpartition(b"\n")[0])
    assert "abandoned" not in page(viewer, Session.objects.get()).text


def test_both_sides_of_a_fork_lead_to_each_other_and_say_where_it_is_counted(viewer, workspace):
    for data in (FORKED, RESTAMPED, ORIGINAL):
        drop(workspace, data)
    first, second, third = (Session.objects.get(external_id=name) for name in ("first", "second", "third"))
    shown = {session.external_id: page(viewer, session) for session in (first, second, third)}
    assert f"continued in {second.title}" in shown["first"].text
    assert f"goes on from {first.title}" in shown["second"].text
    assert f"forked from {second.title}" in shown["third"].text
    assert {path_of(first), path_of(second)} <= {tag.get("href") for tag in shown["third"].all("a")}
    assert "1.1 k tokens, counted in the session that this repeats" in shown["second"].text
    facts = Page(viewer.get(path_of(second) + "/facts").content).text
    assert f"repeated {2 * BILLED:,} more of responses" in facts


def test_counts_of_the_streams_beginning_are_at_least(viewer, workspace):
    long = (
        "Twenty words or more about grafting apple trees in the early spring before the sap begins to rise again. " * 3
    )
    usage = {"input_tokens": 1_000, "output_tokens": 2}
    drop(workspace, jsonl(user("u", "Graft"), assistant("a", text(long), id="m", usage=usage, model="claude-opus-4-5")))
    session = Session.objects.get()
    shown = page(viewer, session).text
    assert (session.under_reported, session.turns.get(index=1).under_reported) == (1, 1)
    assert "≥ 2 out" in shown and "≥ 1.0 k tokens" in shown and "≥ $" in shown
    assert "too few output tokens of 1 response" in Page(viewer.get(path_of(session) + "/facts").content).text


def test_a_call_leads_to_the_session_of_its_sub_agent(viewer, workspace):
    for name, data in FILES.items():
        drop(workspace, data, name.rpartition("/")[2])
    main, child = (Session.objects.get(external_id=name) for name in (MAIN, f"{MAIN}/agent-aa11"))
    shown = page(viewer, main)
    assert path_of(child) in {tag.get("href") for tag in shown.all("a")}
    assert "Count trees Explore · sub-agent's own session" in shown.text
    assert path_of(main) in {tag.get("href") for tag in page(viewer, child).all("a")}


def test_parallel_results_are_no_rewind(viewer, workspace):
    calls = assistant("a", call("c1", "Read"), call("c2", "Read"), id="m", usage=USAGE, parentUuid="p")
    drop(workspace, jsonl(
        user("p", "Read both"), calls,
        user("r1", [result("c1", "one")], parentUuid="a"), user("r2", [result("c2", "two")], parentUuid="a"),
    ))  # fmt: skip
    assert "abandoned" not in page(viewer, Session.objects.get()).text


def test_sessions_with_the_same_id_lead_to_each_other(viewer, workspace, agent):
    """A file for another agent that names a session is kept apart."""
    drop(workspace, transcript(4))
    drop(workspace, transcript(3), agent=agent)
    first, second = Session.objects.order_by("id")
    for one, another, events in ((first, second, 3), (second, first, 4)):
        shown = page(viewer, one)
        assert f"another session with the same id, of {events} events, came in" in shown.text
        assert path_of(another) in {tag.get("href") for tag in shown.all("a")}
