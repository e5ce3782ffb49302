"""Replay for a person: the transcript up to an event and nothing behind it, with and without JavaScript."""

from __future__ import annotations

import pytest

from sessions_app.models import Session

from ..build import Page, asked, call, path_of, result, said, session_with


@pytest.fixture
def played(agent) -> Session:
    """A prompt (1), a call (2) with its result (5) after two others (3, 4), and an answer (6)."""
    return session_with(agent, [
        asked("p", "Go"), call("slow", "Bash", {"command": "make"}, 2), said("s", "Meanwhile", 3),
        said("t", "Still", 4), result("slow", "done", seconds=9), said("e", "The end", 10),
    ])  # fmt: skip


def test_the_page_shows_what_was_there_and_leads_on_and_back(played, viewer):
    page = Page(viewer.get(f"{path_of(played)}?replay=3").content)
    assert page.seqs == [1, 2, 3]
    assert "event 3 of 6" in page.text
    links = {link.get("data-go"): link["href"] for link in page.all("a") if link.get("data-go")}
    assert (links["back"], links["on"]) == ("?replay=2", "?replay=4")
    (waiting,) = [one for one in page.all("details") if one.get("data-seq") == "2"]
    assert "is-pending" in waiting["class"].split() and waiting["data-result"] == "5"
    assert not page.all("div", id="tail"), "what an agent does now is no part of what it did then"


def test_a_call_whose_result_was_there_says_so(played, viewer):
    page = Page(viewer.get(f"{path_of(played)}?replay=5").content)
    (done,) = [one for one in page.all("details") if one.get("data-seq") == "2"]
    assert "is-pending" not in done["class"].split()


@pytest.mark.parametrize(("asked_for", "last"), [("replay=99999", 6), ("replay=1", 1), ("replay=2&lens=raw", 2)])
def test_it_begins_anywhere_and_under_one_lens(played, viewer, asked_for, last):
    page = Page(viewer.get(f"{path_of(played)}?{asked_for}").content)
    assert page.seqs[-1] <= last and page.all("div", id="replay")


@pytest.mark.parametrize("asked_for", ["replay=0", "replay=-1", "replay=x", ""])
def test_what_is_no_event_is_no_replay(played, viewer, asked_for):
    page = Page(viewer.get(f"{path_of(played)}?show=everything&{asked_for}").content)
    assert page.seqs[-1] == 6 and not page.all("div", id="replay")


def test_the_steps_have_their_times_forwards_and_backwards(played, viewer, charlie):
    steps = f"{path_of(played)}/replay"
    onward = viewer.get(f"{steps}?after=3").json()
    assert [seq for seq, _ in onward["steps"]] == [4, 5, 6] and not onward["more"]
    times = [at for _, at in onward["steps"]]
    assert [later - times[0] for later in times] == [0, 5_000, 6_000]
    assert [seq for seq, _ in viewer.get(f"{steps}?before=3").json()["steps"]] == [1, 2]
    assert charlie.get(steps).status_code == 404
