"""Sub-agents whose transcripts are files of their own: linked to the call that started them, in whatever order."""

from __future__ import annotations

import io
import json
import zipfile
from itertools import islice, permutations
from typing import Any

import pytest

from sessions_app.drafts import EventDraft
from sessions_app.models import Session, ToolCall, Workspace
from sessions_app.queries.log.timeline import Timeline
from sessions_app.services.log import links
from sessions_app.services.log.events import append
from tests.formats.claude_code.lines import assistant, call, jsonl, result, text, user
from vcon_app.models import Companion, Import
from vcon_app.services.exports import export_jobs, sub_agents
from vcon_app.services.imports.watch import Watch

from ..documents.test_archives import packed, rules
from .test_imports import BY, drop

pytestmark = pytest.mark.django_db
MAIN = "5f0c7a52-0000-4000-8000-000000000000"
TOKENS = {"input_tokens": 10, "output_tokens": 100}


def started(uuid: str, id: str, prompt: str, **more: Any) -> dict[str, Any]:
    asked = call(id, "Task", prompt=prompt, description=f"What {id} is for", subagent_type="general-purpose")
    return assistant(uuid, asked, id=f"msg_{uuid}", usage=TOKENS, **more)


def side(agent: str, prompt: str, *lines: dict[str, Any]) -> bytes:
    first = user(f"{agent}-1", prompt)
    last = assistant(f"{agent}-9", text(f"Done by {agent}"), id=f"msg_{agent}", usage=TOKENS)
    return jsonl(*(one | {"isSidechain": True, "agentId": agent} for one in (first, *lines, last)))


def meta(**told: Any) -> bytes:
    return json.dumps(told).encode()


FOLDER = f"{MAIN}/subagents"
FILES = {
    f"{MAIN}.jsonl": jsonl(
        user("u1", "Look after the orchard"),
        started("a1", "call_1", "Count the trees"),
        started("a2", "call_2", "Prune them"),
        started("a3", "call_3", "Water them"),
        user("r2", [result("call_2", "Pruned")], toolUseResult={"agentId": "bb22", "status": "completed"}),
        user("r1", [result("call_1", "Counted")]),
        user("r3", [result("call_3", "Watered")]),
    ),
    f"{FOLDER}/agent-aa11.jsonl": side("aa11", "Anything", started("n1", "call_4", "Climb")),
    f"{FOLDER}/agent-aa11.meta.json": meta(
        agentType="Explore", description="Count trees", toolUseId="call_1", spawnDepth=1
    ),
    f"{FOLDER}/agent-bb22.jsonl": side("bb22", "Something else"),
    f"{FOLDER}/agent-cc33.jsonl": side("cc33", "Water them"),
    f"{FOLDER}/agent-dd44.jsonl": side("dd44", "Up"),
    f"{FOLDER}/agent-dd44.meta.json": meta(
        agentType="Climber", description="Climb up", toolUseId="call_4", spawnDepth=2
    ),
}
EXPECTED = {
    "aa11": ("Count trees", "Explore", "call_1", MAIN),
    "bb22": ("What call_2 is for", "general-purpose", "call_2", MAIN),
    "cc33": ("What call_3 is for", "general-purpose", "call_3", MAIN),
    "dd44": ("Climb up", "Climber", "call_4", f"{MAIN}/agent-aa11"),
}
"""Linked by the companion, by the result, by the prompt, and below another sub-agent."""


def told(workspace: Workspace) -> dict[str, tuple[str, str | None, str | None, str | None]]:
    children = Session.objects.filter(workspace=workspace).exclude(external_id=MAIN).select_related("parent")
    return {
        child.metadata["agent_id"]: (
            child.title,
            child.metadata.get("agent_type"),
            child.metadata.get("tool_use_id"),
            child.parent and child.parent.external_id,
        )  # fmt: skip
        for child in children
    }


def test_files_one_at_a_time_in_any_order_give_the_same_family():
    orders = list(islice(permutations(FILES), 0, None, 997))
    for number, order in enumerate([*orders, list(FILES)[::-1]]):
        workspace = Workspace.objects.create(slug=f"order-{number}")
        for name in order:
            done = drop(workspace, FILES[name], name.rpartition("/")[2])
            assert (done.status, done.error) == (Import.Status.DONE, None)
        assert told(workspace) == EXPECTED, order


@pytest.mark.parametrize("backwards", [False, True])
def test_a_zip_of_the_folder_is_one_import_of_all_of_them(workspace, backwards):
    members = list(FILES.items())[:: -1 if backwards else 1]
    done = drop(workspace, packed(members), "project.zip")
    assert (done.status, done.session_links.count()) == (Import.Status.DONE, 5)
    assert told(workspace) == EXPECTED
    companions = [name for name in FILES if name.endswith(".meta.json")]
    told_of = {path for rule, severity, path in rules(done) if (rule, severity) == ("claude-code.companion", "info")}
    assert told_of == set(companions)
    assert not [finding for finding in done.findings if finding["severity"] == "error"]


def test_a_folder_that_is_followed_gives_the_same(workspace, tmp_path):
    for name, data in FILES.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    outcomes = list(Watch(tmp_path / "project", workspace).look(once=True))
    assert [outcome.imported and outcome.imported.status for outcome in outcomes] == [Import.Status.DONE] * len(FILES)
    assert told(workspace) == EXPECTED


def test_the_timeline_of_the_parent_leads_to_each_child_at_its_call(workspace):
    drop(workspace, packed(FILES), "project.zip")
    main, first = (Session.objects.get(external_id=name) for name in (MAIN, f"{MAIN}/agent-aa11"))
    window = Timeline(main.pk).after(0)
    shown = {entry.call_id: window.children[entry.call_id].metadata["agent_id"] for entry in window.entries
             if entry.call_id in window.children}  # fmt: skip
    assert shown == {"call_1": "aa11", "call_2": "bb22", "call_3": "cc33"}
    below = Timeline(first.pk).after(0)
    assert below.children["call_4"].metadata["agent_id"] == "dd44"


def test_a_companion_alone_is_no_failed_import_and_no_session(workspace):
    name = "agent-aa11.meta.json"
    done = drop(workspace, FILES[f"{FOLDER}/{name}"], name)
    assert (done.status, done.format, done.events, done.error) == (Import.Status.DONE, "claude-code", 0, None)
    assert not Session.objects.exists()
    assert done.findings[0]["message"].startswith("tells of agent-aa11 (Count trees); it is no transcript itself")
    alone = drop(workspace, packed({name: FILES[f"{FOLDER}/{name}"] + b" "}), "alone.zip")
    assert (alone.status, alone.session_links.count()) == (Import.Status.DONE, 0)


def test_same_description_of_two_sub_agents_applies_to_both(workspace):
    same = meta(agentType="Explore", description="Look around")
    for agent in ("aa11", "bb22"):
        drop(workspace, side(agent, "Look"), f"agent-{agent}.jsonl")
        drop(workspace, same, f"agent-{agent}.meta.json")
    assert {agent: title for agent, (title, *_) in told(workspace).items()} == dict.fromkeys(
        ("aa11", "bb22"), "Look around"
    )


def test_companion_file_that_names_its_session_does_not_apply_to_a_namesake(workspace):
    other = side("aa11", "Hello").replace(MAIN.encode(), b"another")
    drop(workspace, other, "agent-aa11.jsonl")
    drop(workspace, packed({f"{FOLDER}/agent-aa11.meta.json": meta(description="Not yours")}), "a.zip")
    assert Session.objects.get().title != "Not yours"


def test_a_journal_of_a_workflow_names_its_sub_agents(workspace):
    journal = jsonl(
        {"type": "started", "key": "1", "agentId": "aa11", "label": "count", "phase": "Survey"},
        {"type": "started", "key": "2", "agentId": "bb22", "label": "prune", "phase": "Work"},
        {"type": "result", "key": "1", "agentId": "aa11", "result": {"trees": 7}},
    )
    place = f"{FOLDER}/workflows/wf_1"
    half = journal.splitlines(keepends=True)[0]
    drop(workspace, half, "journal.jsonl")
    members = {
        f"{place}/journal.jsonl": journal,
        **{f"{place}/agent-{a}.jsonl": side(a, "Go") for a in ("bb22", "aa11")},
    }
    done = drop(workspace, packed(members), "run.zip")
    assert [rule for rule, severity, _ in rules(done) if severity != "info"] == []
    found = {child.metadata["agent_id"]: (child.title, child.metadata) for child in Session.objects.all()}
    assert {agent: title for agent, (title, _) in found.items()} == {"aa11": "count", "bb22": "prune"}
    counted = found["aa11"][1]
    assert (counted["workflow"], counted["phase"], counted["returned"]) == ("wf_1", "Survey", True)
    assert "returned" not in found["bb22"][1]


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"{", b"\xff\xfe", b'{"agentType": {"a": 1}, "toolUseId": 7}', b"\0" * 50, b"[" * 5000]
)
@pytest.mark.parametrize("name", ["agent-a.meta.json", "journal.jsonl"])
def test_nonsense_under_the_name_of_a_companion_says_nothing(workspace, name, data):
    done = drop(workspace, data, name)
    assert done.status in (Import.Status.DONE, Import.Status.FAILED) and "fault of ours" not in (done.error or "")
    assert not Session.objects.exists()
    assert all(row.title == "" for row in Companion.objects.all())


def test_a_transcript_under_the_name_of_a_journal_is_a_transcript(workspace):
    done = drop(workspace, FILES[f"{MAIN}.jsonl"], "journal.jsonl")
    assert (done.status, done.session_links.count(), Companion.objects.count()) == (Import.Status.DONE, 1, 0)
    assert ToolCall.objects.count() == 3


@pytest.mark.parametrize("format", ["vcon", "vac", "bundle"])
def test_an_export_holds_the_sub_agents_under_their_calls_when_it_is_asked_for(workspace, format):
    drop(workspace, packed(FILES), "project.zip")
    main = Session.objects.get(external_id=MAIN)
    whole = export_jobs.start_export(main, format, by=BY, options={"children": True})
    data = export_jobs.open_file(whole).read()
    if format == "bundle":
        data = zipfile.ZipFile(io.BytesIO(data)).read("session.vcon")
    again = drop(Workspace.objects.create(slug="again"), data, "whole.json").session_links.get().session
    rows = [(e.depth, e.kind, e.tool_name or e.text) for e in again.events.order_by("seq") if e.kind != "tool_result"]
    assert rows == [
        (0, "user_message", "Look after the orchard"),
        (0, "tool_call", "Task"), (1, "user_message", "Anything"),
        (1, "tool_call", "Task"), (2, "user_message", "Up"), (2, "agent_message", "Done by dd44"),
        (1, "agent_message", "Done by aa11"),
        (0, "tool_call", "Task"), (1, "user_message", "Something else"), (1, "agent_message", "Done by bb22"),
        (0, "tool_call", "Task"), (1, "user_message", "Water them"), (1, "agent_message", "Done by cc33"),
    ]  # fmt: skip
    family = Session.objects.filter(workspace=workspace)
    assert again.output_tokens == sum(one.output_tokens for one in family) == 800
    assert again.tool_call_count == sum(one.tool_call_count for one in family)
    assert again.turn_count == 1


@pytest.mark.parametrize("format", ["vcon", "html", "jsonl"])
def test_an_export_without_the_sub_agents_says_that_they_are_missing(workspace, format):
    drop(workspace, packed(FILES), "project.zip")
    told = export_jobs.report(Session.objects.get(external_id=MAIN), format)
    assert [row["count"] for row in told if row["what"] == "sub-agents"] == [3]
    leaf = export_jobs.report(Session.objects.get(external_id=f"{MAIN}/agent-dd44"), format)
    assert [row for row in leaf if row["what"] == "sub-agents"] == []


def test_a_sub_agent_that_went_on_makes_another_export(workspace):
    drop(workspace, packed(FILES), "project.zip")
    main, child = (Session.objects.get(external_id=name) for name in (MAIN, f"{MAIN}/agent-dd44"))
    chosen = {"children": True}
    first, again = (export_jobs.start_export(main, "vcon", by=BY, options=chosen).identity["uuid"] for _ in range(2))
    append(child.pk, [EventDraft("note", "n", text="More")], origin=links.RUNTIME)
    main.refresh_from_db()
    assert first == again != export_jobs.start_export(main, "vcon", by=BY, options=chosen).identity["uuid"]


def test_two_sub_agents_that_each_say_they_started_the_other_stay_below_the_session(workspace):
    def starts(agent: str, number: int, other: str) -> bytes:
        told = user(f"{agent}-8", [result(f"call_{number}", "Done")], toolUseResult={"agentId": other})
        return side(agent, "Anything", started(f"{agent}-7", f"call_{number}", "Climb"), told)

    files = {
        f"{MAIN}.jsonl": FILES[f"{MAIN}.jsonl"],
        f"{FOLDER}/agent-ee55.jsonl": starts("ee55", 5, "ff66"),
        f"{FOLDER}/agent-ff66.jsonl": starts("ff66", 6, "ee55"),
    }
    for _ in range(2):  # in one archive, then one by one
        drop(workspace, packed(files), "project.zip")
        main = Session.objects.get(workspace=workspace, external_id=MAIN)
        below = [child.external_id[-4:] for child in sub_agents.descendants_of(main)]
        assert sorted(below) == ["ee55", "ff66"]
        files = {name: data + b"\n" for name, data in files.items()}


def test_an_export_of_sessions_that_an_older_release_left_in_a_circle_ends(workspace):
    drop(workspace, packed(FILES), "project.zip")
    main = Session.objects.get(external_id=MAIN)
    Session.objects.filter(pk=main.pk).update(parent=Session.objects.get(external_id=f"{MAIN}/agent-dd44"))
    export = export_jobs.start_export(main, "vcon", by=BY, options={"children": True})
    assert (export.status, export.error) == ("done", None)
