"""The product graph of an agent: all its runs in one file, sealed, the same as those of its sessions one by one."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from sessions_app.models import Agent, GraphNode, Role, Session
from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from sessions_app.services.graph import recording
from sessions_app.services.graph.recording import Recorded
from tests.services.build import answer, append, call, event, result, user
from vcon_app.drafts import EventDraft, Finding, Losses, SessionDraft
from vcon_app.formats import upg
from vcon_app.formats.html.totals import Total
from vcon_app.formats.upg import canon, stream
from vcon_app.queries.log_reader import LogEvents, session_draft
from vcon_app.services.exports import agent_graph, writing
from vcon_app.services.exports.job import new_job

BY = audit.Actor("member", "m-1", "Ada")


def file_of(agent: Agent) -> tuple[dict[str, Any], bytes]:
    data = b"".join(agent_graph.chunks(agent))
    return json.loads(data), data


def own_file(session: Session) -> dict[str, Any]:
    """What the export of one session writes."""
    job = new_job(session, "upg", {})
    chunks = upg.write(session_draft(session), LogEvents(session), Losses(), options=writing.writer_options(job))
    return json.loads(b"".join(chunks))


async def whole(response: Any) -> bytes:
    return b"".join([piece async for piece in response])


@pytest.fixture
def runs(agent) -> list[Session]:
    found = []
    for number in range(3):
        session = session_services.create(agent, by=BY, title=f"Run {number} \U0001f600", external_id=f"run-{number}")
        append(
            session, user("Go"), call("c1"), result("c1", status="error"), answer(model="m-1", output_tokens=7),
            event("note", key="d", data={"decision": {"title": f"Told {number}", "status": "approved"}}),
            event("artifact", key="e", parent="d", text="Seen", data={"evidence": {"direction": "supports"}}),
        )  # fmt: skip
        found.append(session)
    made = recording.decide(found[0].pk, Recorded("Record it", {"layer": "product"}, (1, 2)), Role.REVIEWER, by=BY)
    recording.support(found[0].pk, Recorded("A quote", {"quote": "Go"}, about=made.pk), by=BY)
    return found


def test_the_file_holds_every_run_and_is_sealed_as_the_reference_seals(agent, runs):
    graph, data = file_of(agent)
    kinds = [node["type"] for node in graph["nodes"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "agent_definition": 1, "agent_session": 3, "agent_skill": 3, "decision": 4, "evidence": 4,
    }  # fmt: skip
    header, body = graph["$upg"], {name: graph[name] for name in ("product", "nodes", "edges")}
    assert header["counts"] == {"nodes": len(graph["nodes"]), "edges": len(graph["edges"])}
    assert header["integrity"]["body"] == canon.seal(body["product"], body["nodes"], body["edges"])
    document = {"$upg": header, **canon.canonical(body["product"], body["nodes"], body["edges"])}
    assert data == canon.dump(document, 2).encode() + b"\n"
    assert not [one for one in upg.read(io.BytesIO(data)) if isinstance(one, Finding) and one.severity != "info"]
    session = next(node for node in graph["nodes"] if node["id"] == "run-0")
    assert session["properties"]["countersign:agent_version"] == 1
    assert (session["properties"]["error_count"], session["properties"]["turns"]) == (1, 1)


def test_each_run_is_as_its_own_export_says(agent, runs):
    graph, _ = file_of(agent)
    whole = {node["id"]: node for node in graph["nodes"]}
    edges = {(edge["source"], edge["target"], edge["type"]) for edge in graph["edges"]}
    for session in runs:
        alone = own_file(session)
        for node in alone["nodes"]:
            assert whole[node["id"]] == node
        assert {(edge["source"], edge["target"], edge["type"]) for edge in alone["edges"]} <= edges


def test_read_again_decisions_evidence_and_what_joins_them_are_there(agent, runs):
    _, data = file_of(agent)
    drafts = [one for one in upg.read(io.BytesIO(data)) if isinstance(one, EventDraft)]
    told = {one.key: one for one in drafts if one.kind == "note"}
    assert sorted(one.data["decision"]["title"] for one in told.values()) == ["Record it", "Told 0", "Told 1", "Told 2"]
    proofs = [one for one in drafts if one.kind == "artifact"]
    assert len(proofs) == 4 and all(one.data["about"] in told for one in proofs)
    quoted = next(one for one in proofs if one.data["name"] == "A quote")
    assert told[quoted.data["about"]].data["decision"]["title"] == "Record it"
    assert told[quoted.data["about"]].data["decision"]["countersign:events"] == [1, 2]


def test_evidence_recorded_for_what_an_event_tells_is_joined_with_it(agent, runs):
    told = GraphNode.objects.get(session=runs[1], kind="decision")
    recording.support(runs[1].pk, Recorded("Recorded later", about=told.pk), by=BY)
    graph, _ = file_of(agent)
    named = {node["title"]: node["id"] for node in graph["nodes"]}
    joined = {(edge["source"], edge["target"], edge["type"]) for edge in graph["edges"]}
    assert (named["Recorded later"], named["Told 1"], "node_informs_node") in joined
    assert own_file(runs[1])["$upg"]["counts"]["nodes"] == 6


def test_an_export_after_another_decision_is_another_record(runs):
    before = new_job(runs[1], "upg", {}).identity["content"]
    recording.decide(runs[1].pk, Recorded("One more"), Role.REVIEWER, by=BY)
    assert new_job(runs[1], "upg", {}).identity["content"] != before == ""


def test_the_same_twice_has_the_same_seal_and_a_new_decision_another(agent, runs):
    before = file_of(agent)[0]["$upg"]["integrity"]
    assert file_of(agent)[0]["$upg"]["integrity"] == before
    recording.decide(runs[1].pk, Recorded("One more"), Role.REVIEWER, by=BY)
    assert file_of(agent)[0]["$upg"]["integrity"] != before


def test_an_agent_without_runs_has_an_empty_graph(agent):
    graph, data = file_of(agent)
    assert (graph["nodes"], graph["edges"]) == ([], [])
    assert graph["$upg"]["integrity"]["body"] == canon.seal(graph["product"], [], [])
    assert data == canon.dump(graph, 2).encode() + b"\n"


def test_it_is_downloaded_over_the_api(api, agent, runs):
    response = api.get(f"agents/{agent.pk}/graph/export")
    assert response.headers["Content-Disposition"] == f'attachment; filename="{agent.slug}.upg"'
    assert len(json.loads(async_to_sync(whole)(response))["nodes"]) == 15


def test_strangers_and_agents_do_not_take_it(stranger, key_for, workspace, agent, runs):
    assert stranger.get(f"agents/{agent.pk}/graph/export").status_code == 404
    assert key_for(workspace, Role.AGENT, "robot").get(f"agents/{agent.pk}/graph/export").status_code == 403


def test_many_sessions_are_written_in_pieces_that_stay_small(monkeypatch):
    """Neither the sessions nor the file are held: each piece is of the size that it is cut to."""
    monkeypatch.setattr(stream, "PIECE", 4_096)
    options = {"created_at": datetime(2026, 11, 23, tzinfo=UTC)}
    parts = (
        (SessionDraft(external_id=f"s{number}", title="T" * 50, agent_name="A"), [], {"tally": (Total(), 1)})
        for number in range(300)
    )
    pieces = list(stream.write_stream(parts, Losses(), options=options))
    assert len(pieces) > 20 and max(map(len, pieces)) < 8_192
    assert len(json.loads(b"".join(pieces))["nodes"]) == 301
