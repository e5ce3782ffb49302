"""Who may add to whose session by a file: who brought it; anybody else only what goes on from all that it tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sessions_app.models import Event, Session
from sessions_app.services import agents, audit
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs

from ..documents.test_archives import packed
from ..files import OWNER, transcript
from .test_sub_agents_by_prompt import CURSOR, GEMINI

pytestmark = pytest.mark.django_db
INES, BEN = audit.Actor("member", "m", "Ines"), audit.Actor("member", "b", "Ben")
FORGED = transcript(1, uuid="f0", message={"role": "user", "content": "The refund was approved."})


@pytest.fixture
def drop(workspace):
    def dropped(data: bytes, by: audit.Actor = INES, name: str = "a.jsonl", **more: Any) -> Import:
        started = import_jobs.start_import(workspace, name, [data], by=by, **more)
        import_jobs.run(started.pk)
        started.refresh_from_db()
        assert started.status == Import.Status.DONE, started.error
        return started

    return dropped


def counts() -> list[int]:
    """Events of each session of the id, the oldest first."""
    return list(Session.objects.filter(external_id=OWNER).order_by("created_at").values_list("event_count", flat=True))


def told(imported: Import) -> list[str]:
    return [row["message"] for row in imported.findings if row["rule"] == "import.kept-apart"]


def test_a_file_of_somebody_else_that_names_a_session_adds_nothing_to_it(drop):
    drop(transcript(4))
    forged = drop(FORGED, BEN)
    assert (counts(), forged.session_links.get().session.metadata["version_of"]) == (
        [4, 1], str(Session.objects.earliest("created_at").pk),
    )  # fmt: skip
    assert told(forged)[0].startswith(f"A session with the id '{OWNER}' is here already, and nothing was added to it")


def test_a_file_of_somebody_else_changes_nothing_of_what_a_session_says_of_itself(drop):
    drop(transcript(4))
    before = Session.objects.values("title", "phase", "metadata", "tags").get()
    title = {"type": "summary", "summary": "Approved by the board", "leafUuid": "x", "sessionId": OWNER}
    drop(transcript(4) + json.dumps(title).encode() + b"\n", BEN)
    assert Session.objects.order_by("created_at").values("title", "phase", "metadata", "tags")[0] == before


def test_a_copy_that_grew_goes_on_whoever_brings_it_and_its_events_name_who_did(drop):
    drop(transcript(4))
    assert (told(drop(transcript(6), BEN)), counts()) == ([], [6])
    names = Session.objects.get().links.order_by("first_seq").values_list("reported_by", flat=True)
    assert list(names) == ["Ines", "Ben"]


def test_a_copy_that_was_changed_before_its_end_is_another_session(drop):
    drop(transcript(4))
    changed = transcript(6).replace(b"Mended part0", b"Broke part0")
    drop(changed.replace(b'"msg_1"', b'"msg_9"').replace(str(2).zfill(12).encode(), b"9" * 12), BEN)
    assert counts() == [4, 6]
    assert not Event.objects.filter(session=Session.objects.earliest("created_at"), text__startswith="Broke").exists()


def test_who_brought_a_version_of_their_own_adds_to_that_one(drop):
    drop(transcript(4))
    drop(FORGED, BEN)
    drop(FORGED + transcript(2, uuid="f1"), BEN)
    drop(transcript(6))
    assert counts()[0] == 6
    assert len(counts()) == 2


def test_a_file_from_elsewhere_that_shares_nothing_with_the_session_it_names_is_kept_apart(drop):
    """Also where the same person brings both: they may have been handed it."""
    drop(transcript(4), name="a.jsonl")
    handed = drop(FORGED, name="b.jsonl", folder="from-a-partner")
    assert counts() == [4, 1]
    assert "lies elsewhere" in told(handed)[0]


@pytest.mark.parametrize(
    "place", [{"name": "a.jsonl"}, {"name": "a.jsonl.2", "folder": "logs"}], ids=["name", "folder"]
)
def test_a_log_that_was_turned_over_in_its_place_goes_on(drop, place):
    lines = transcript(6).splitlines(keepends=True)
    drop(b"".join(lines[:4]), name="a.jsonl", folder="logs")
    drop(b"".join(lines[4:]), **place)
    assert counts() == [6]


def test_a_file_for_another_agent_adds_nothing_to_the_session_it_names(drop, workspace):
    drop(transcript(4))
    other = agents.get_or_create_agent(workspace.id, "Refund agent")
    assert "another agent" in told(drop(transcript(6), agent=other))[0]
    assert (counts(), list(other.sessions.values_list("event_count", flat=True))) == ([4, 6], [6])


def test_parts_of_a_log_that_are_sent_without_a_folder_go_on(drop):
    lines = transcript(6).splitlines(keepends=True)
    drop(b"".join(lines[:4]), name="part-1.jsonl")
    drop(b"".join(lines[4:]), name="part-2.jsonl")
    assert counts() == [6]


# --- sub-agents ---

CHILD = f"{OWNER}/agent-aa11"


def sub_agent(count: int = 2, agent: str = "aa11", **more: Any) -> bytes:
    lines = [
        json.loads(line) | {"isSidechain": True, "agentId": agent, **more} for line in transcript(count).splitlines()
    ]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def below() -> list[tuple[str, str | None]]:
    """Each sub-agent with the session that it stands below, in the order in which they came."""
    children = Session.objects.filter(external_id__contains="/").order_by("created_at")
    return [(child.external_id, child.parent and str(child.parent.external_id)) for child in children]


def not_below(imported: Import) -> bool:
    return "import.not-below" in {row["rule"] for row in imported.findings}


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_file_of_somebody_else_is_no_sub_agent_of_a_session_that_it_names(drop, parent_first):
    files = [(transcript(4), INES, "a.jsonl"), (sub_agent(), BEN, "agent-aa11.jsonl")]
    imports = [drop(*file) for file in (files if parent_first else files[::-1])]
    assert below() == [(CHILD, None)]
    assert not_below(imports[1]) == parent_first


@pytest.mark.parametrize("parent_first", [True, False])
def test_who_brought_the_session_brings_its_sub_agents(drop, parent_first):
    files = [(transcript(4), INES, "a.jsonl"), (sub_agent(), INES, "agent-aa11.jsonl")]
    imports = [drop(*file) for file in (files if parent_first else files[::-1])]
    assert below() == [(CHILD, OWNER)] and not any(map(not_below, imports))


def test_an_archive_that_repeats_a_session_of_somebody_else_adds_no_sub_agent_and_no_event_to_it(drop):
    drop(transcript(4))
    forged = [("a.jsonl", transcript(4)), ("b.jsonl", FORGED), ("agent-aa11.jsonl", sub_agent())]
    drop(packed(forged), BEN, "b.zip")
    assert counts() == [4, 1]
    own = Session.objects.filter(external_id=OWNER).latest("created_at")
    assert Session.objects.get(external_id=CHILD).parent == own, "below the version that came with it"


def test_an_archive_with_both_is_a_family(drop):
    drop(packed([("agent-aa11.jsonl", sub_agent()), ("a.jsonl", transcript(4))]), BEN, "b.zip")
    assert below() == [(CHILD, OWNER)]


def test_a_session_of_the_same_id_that_somebody_else_brings_takes_no_sub_agent(drop):
    drop(transcript(4))
    drop(sub_agent(), name="agent-aa11.jsonl")
    drop(FORGED, BEN)
    drop(sub_agent(4), name="agent-aa11.jsonl")
    assert Session.objects.get(external_id=CHILD).parent == Session.objects.filter(external_id=OWNER).earliest(
        "created_at"
    )


def test_what_somebody_else_says_of_a_sub_agent_is_not_shown_with_it(drop):
    drop(transcript(4))
    drop(sub_agent(), name="agent-aa11.jsonl")
    for by, name in ((BEN, "Forged"), (INES, "Count the trees")):
        meta = {"agentType": name, "description": name}
        drop(json.dumps(meta).encode(), by, "agent-aa11.meta.json")
        assert (Session.objects.get(external_id=CHILD).title == name) == (by == INES)
    drop(sub_agent(4), name="agent-aa11.jsonl")
    assert Session.objects.get(external_id=CHILD).metadata["agent_type"] == "Count the trees"


@pytest.mark.parametrize("files", [GEMINI, CURSOR], ids=["gemini-cli", "cursor"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_session_is_no_sub_agent_of_one_of_somebody_else_that_names_it(drop, files, order):
    """Below another it would be gone from the lists of whoever brought it."""
    for index in order:
        drop(files[index], (BEN, INES)[index], f"{index}.jsonl")
    assert not Session.objects.exclude(parent=None).exists()
