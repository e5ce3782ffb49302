"""Sessions as product graphs: sealed, valid, the same twice, and the same again when read."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from vcon_app.drafts import EventDraft, Finding, FormatError, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats.upg import canon

from ..golden import check
from ..llmfeed.test_write import SESSION, everything
from ..reads import mutants
from ..vcon_tools import CORPUS, needs_corpus
from .tools import SAMPLE, drafts, graph, of_one, rules, sessions, written

AT = datetime(2026, 4, 1, 8, 30, tzinfo=UTC)


def run():
    decision = {
        "title": "Wax, not oil", "rationale": "Oil stains.", "layer": "design", "options_considered": ["wax", "oil"],
        "resolved": True, "status": "approved",
    }  # fmt: skip
    evidence = {"direction": "supports", "evidence_source": "observation", "lamp": "north"}
    return SessionDraft(
        "run-7", "Polish the table", "Polisher", AT, AT.replace(minute=59), "crashed", "m-1", summary="Half done.",
        tags=("wood", "hall", "wood"), metadata={"recorder": {"name": "desk"}},
    ), [
        EventDraft("user_message", "a", AT, "person", "Ann", "Polish it"),
        EventDraft("tool_call", "b", AT, "agent", tool=ToolDraft("t1", "rub"), model="m-1",
                   usage=Usage(100, 20, None, 30), request="r1", cost=Decimal("0.0000001")),
        EventDraft("tool_result", "c", AT, "tool", tool=ToolDraft("t1", status="error"), parent="b"),
        EventDraft("tool_call", "d", AT, "agent", tool=ToolDraft("t2", "rub")),
        EventDraft("note", "e", AT, "agent", text="Wax, not oil", data={"decision": decision}),
        EventDraft("artifact", "f", None, "agent", text="A stain", data={"name": "Stain", "evidence": evidence}),
        EventDraft("agent_message", "g", AT, "agent", text="It broke."),
    ]  # fmt: skip


def nodes_of(data):
    return {node["type"]: node for node in json.loads(data)["nodes"]}


def test_a_session_is_written_with_its_definition_skills_decisions_and_evidence():
    data = written(*run(), origin="https://desk.example")
    nodes = nodes_of(data)
    assert list(nodes) == ["agent_definition", "agent_session", "agent_skill", "decision", "evidence"]
    session = nodes["agent_session"]
    assert (session["id"], session["status"], session["tags"]) == ("run-7", "crashed", ["hall", "wood"])
    told = session["properties"]
    assert (told["session_status"], told["turns"], told["tokens_used"], told["error_count"]) == ("errored", 1, 150, 1)
    assert told["session_start"] == "2026-04-01T08:30:00Z" and told["countersign:input_tokens"] == 100
    assert b'"cost": 1e-7,' in data
    assert (
        session["external_ref"] == "https://desk.example"
        and nodes["agent_skill"]["properties"]["invocation_count"] == 2
    )
    assert nodes["decision"]["status"] == "approved" and nodes["decision"]["properties"]["countersign:resolved"] is True
    assert "status" not in nodes["evidence"] and nodes["evidence"]["properties"]["countersign:lamp"] == "north"
    assert [edge["type"] for edge in json.loads(data)["edges"]].count("agent_session_creates_decision") == 1


def test_written_graph_is_valid_and_has_a_clean_seal():
    data = written(*run())
    assert rules(data).keys() == {"upg.tokens"}
    document = json.loads(data)
    assert canon.canonical(document["product"], document["nodes"], document["edges"]) == {
        name: document[name] for name in ("product", "nodes", "edges")
    }


def test_the_same_session_gives_the_same_bytes_and_the_time_of_export_is_not_sealed():
    first, again, later = written(*run()), written(*run()), written(*run(), created_at=AT)
    assert first == again != later
    assert json.loads(first)["$upg"]["integrity"] == json.loads(later)["$upg"]["integrity"]


def test_written_file_is_read_back_the_same():
    ((session, events),) = sessions(written(*run()))
    original = run()[0]
    for name in ("external_id", "title", "agent_name", "started_at", "ended_at", "phase", "summary"):
        assert getattr(session, name) == getattr(original, name), name
    total, decision, evidence = events
    assert total.usage.input_tokens == 150 and total.cost == Decimal("1e-07") and total.data["tools"] == ["rub"]
    assert decision.data["decision"]["title"] == "Wax, not oil" and evidence.text == "A stain"


def test_imported_graph_is_written_unchanged_also_the_second_time():
    losses = Losses()
    (night, events), (day, others) = sessions(SAMPLE.read_bytes())
    data = written(night, events, losses)
    document, old = json.loads(data), graph()
    kept = {node["id"]: node for node in document["nodes"]}
    assert [row["what"] for row in losses.rows()] == ["an edge that leads nowhere"]
    assert document["board"] == {"columns": 3}
    assert kept.keys() == {node["id"] for node in old["nodes"]} - {"run-2", "dec-9"} | {"dec-9"}
    assert kept["run-1"] == {**old["nodes"][2], "tags": ["glaze", "night"]} and kept["oven-9"]["wood"] is True
    assert {edge["id"] for edge in document["edges"]} == {f"e{n}" for n in (1, 3, 4, 5, 6, 8)}
    assert written(*sessions(data)[0]) == data
    assert nodes_of(written(day, others))["agent_session"]["properties"] == old["nodes"][7]["properties"]


def test_what_the_desk_adds_to_a_graph_is_written_beside_it():
    (night, events), _ = sessions(SAMPLE.read_bytes())
    more = [*events, EventDraft("note", "new", AT, text="Cool it", data={"decision": {"title": "Cool it"}})]
    document = json.loads(written(replace(night, phase="completed", title="Night"), more))
    session = next(node for node in document["nodes"] if node["id"] == "run-1")
    assert (session["title"], session["status"], session["properties"]["session_status"]) == (
        "Night",
        "completed",
        "completed",
    )
    assert (session["properties"]["tokens_used"], session["properties"]["turns"]) == (5120, 3)
    assert "Cool it" in [node["title"] for node in document["nodes"]]


def test_nothing_known_is_left_out_and_never_0():
    told = nodes_of(written(SessionDraft("s"), []))["agent_session"]["properties"]
    assert not {"tokens_used", "cost", "session_start", "session_status"} & told.keys()


def test_costs_of_the_desk_replace_those_of_the_recorder():
    session, events = run()
    told = nodes_of(written(session, events, costs={1: {"amount": "0.25", "unpriced_tokens": 9}}))["agent_session"][
        "properties"
    ]
    assert told["cost"] == 0.25 and told["countersign:cost_is_partial"] is True


def test_losses_of_a_graph_are_reported():
    losses = Losses()
    written(replace(SESSION, record={"llmfeed": {"x": 1}}), everything(), losses)
    told = " ".join(row["what"] for row in losses.rows())
    assert "events of kind user_message" in told and "what llmfeed keeps" in told and "facts about the session" in told


def test_hostile_sessions_give_graphs_that_are_read_again():
    evil = "\x00\ud800 <b>\u2028\n" + "x" * 1000
    session = SessionDraft(evil, evil, evil, tags=(evil, evil), summary=evil)
    log = [
        EventDraft("note", "a", text=evil, data={"decision": {evil: evil, "layer": [1], "options_considered": "x"}}),
        EventDraft("note", "b", data={"decision": {}}),
        EventDraft("artifact", "c", data={"evidence": {"summary": 7}, "upg": {"id": "nobody"}}),
        EventDraft("tool_call", "d", tool=ToolDraft(name=evil)),
        EventDraft("note", "e", text="x", data={"upg": "no object"}),
    ]
    found = drafts(written(session, log))
    assert not [draft for draft in found if isinstance(draft, Finding) and draft.severity != "info"]
    for record in ({"nodes": 7, "edges": [None], "rest": "x"}, {"product": [], "header": 1, "extra": []}, {"node": {}}):
        assert json.loads(written(replace(session, record={"upg": record}), log))


def test_whatever_a_graph_holds_it_is_written_and_sealed():
    for changed in mutants(graph()):
        try:
            found = sessions(changed)
        except FormatError:
            continue
        for session, events in found:
            assert "upg.seal" not in rules(written(session, events))


@needs_corpus
@pytest.mark.parametrize(
    "name", ["good.upg", "numbers-unicode.upg", "legacy-tools-invoked.json", "unknown-node-type.json"]
)
def test_the_seal_of_a_file_survives_the_way_through_the_desk(name):
    data = (CORPUS / "upg" / "examples" / name).read_bytes()
    document, losses = json.loads(data), Losses()
    ((session, events),) = sessions(data)
    made = json.loads(written(session, events, losses))
    assert made["$upg"]["integrity"]["body"] == canon.seal(document["product"], document["nodes"], document["edges"])
    assert losses.rows() == []


@pytest.mark.parametrize("odd", [[[]], {"a": 1}, 7, None])
def test_an_edge_from_what_is_no_name_is_written_all_the_same(odd):
    ends = {"source": odd, "target": "k", "type": "agent_session_invoked_agent_skill", "id": "e"}
    skill = {"id": "k", "type": "agent_skill", "title": "rub"}
    document = of_one(properties={"dashboard:tools_invoked": ["rub"], "tools_invoked": ["rub"]})
    document |= {"nodes": [*document["nodes"], skill], "edges": [ends, {**ends, "id": "f", "source": "s"}]}
    ((session, events),) = sessions(document)
    call = EventDraft("tool_call", "c", tool=ToolDraft("t", "rub"))
    assert json.loads(written(session, [*events, call], target_version="0.11.0"))


def test_written_session_of_the_sample_equals_the_stored_file():
    check(SAMPLE.with_name("kiln.upg.written"), written(*sessions(SAMPLE.read_bytes())[0]).decode())
