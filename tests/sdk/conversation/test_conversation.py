"""Conversations, their state, their agents and what is remembered, with a real desk."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from countersign import DeskError, StateConflict
from countersign import Session as SyncSession
from countersign.conversation import Agent, LanguageModel, Memory, ModelError, NoField, Session, VectorMemoryService
from countersign.recording import recorder
from django.db import connection

from sessions_app.models import Event, Role, StateValue
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from tests.places import DOCS

from ..conftest import SOURCE
from .model import KnowsAnimals, UsesItsFirstTool

MARK = "zq-never-sent-4711"


@pytest.fixture(autouse=True)
def _no_recorder_stays(monkeypatch):
    monkeypatch.setattr(recorder, "_recorders", {})
    yield
    for made in recorder._recorders.values():
        made.close(0.0)


@pytest.fixture
def key(workspace) -> str:
    return api_keys.create_api_key(workspace, "Program", Role.REVIEWER, by=audit.COMMAND)[1]


@pytest.fixture
def desk(desk_server, key, tmp_path) -> dict[str, Any]:
    return {"url": desk_server, "api_key": key, "spool": tmp_path}


def test_messages_come_back_as_they_were_sent(desk):
    async def talk():
        session = Session("talk", "Clerk", "ines", **desk)
        sent = [
            {"role": "user", "content": "Where is 4711?", "metadata": {"channel": "web"}},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "c1", "function": {"name": "find", "arguments": '{"order": "4711"}'}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
            {"role": "critic", "content": "Say more."},
            {"role": "assistant", "content": "It was shipped."},
        ]  # fmt: skip
        for message in sent:
            assert await session.send_message(message)
        with pytest.raises(ValueError, match="role"):
            await session.send_message({"content": "of nobody"})
        with pytest.raises(ValueError, match="limit"):
            await session.history(limit=-1)
        said = await session.history()
        assert [(one["role"], one["content"]) for one in said] == [
            ("user", "Where is 4711?"), ("assistant", "I look."), ("assistant", "It was shipped.")]  # fmt: skip
        assert said[0]["metadata"] == {"channel": "web"} and await session.history(limit=0) == []
        assert [one["content"] for one in await session.history(limit=1, role="user")] == ["Where is 4711?"]
        lines = [json.loads(line) for line in (await session.export(format="jsonl")).splitlines()]
        assert {"timestamp", "role", "message", "metadata", "tool_calls"} <= lines[-1].keys()
        assert [line["message"] for line in lines][:2] == ["Where is 4711?", "I look."]
        return await session.events(kind="tool_call")

    [call] = asyncio.run(talk())
    assert call["tool"]["arguments"] == {"order": "4711"}
    assert Event.objects.get(kind="tool_result").result == "shipped"


def test_a_message_says_when_it_was_said_and_is_sent_again_without_being_two(desk):
    blocks = [{"type": "text", "text": "At sea."}, {"type": "image", "source": "x"}]

    async def talk():
        session = Session("again", "Clerk", "ines", **desk)
        for _ in range(2):
            asked = {"role": "user", "content": "Where?", "timestamp": "2025-03-01T09:00:00Z", "idempotency_key": "m-1"}
            await session.send_message(asked)
        await session.send_message({"role": "assistant", "content": blocks})
        with pytest.raises(ValueError, match="no time"):
            await session.send_message({"role": "user", "content": "x", "timestamp": "noon"})
        assert "At sea." in await session.export(format="md")
        return await session.history(), await session.events()

    (first, second), events = asyncio.run(talk())
    assert (first["content"], first["timestamp"]) == ("Where?", "2025-03-01T09:00:00Z")
    assert second["content"] == blocks and [event["text"] for event in events] == ["Where?", "At sea."]


def test_a_session_of_another_user_is_not_read(desk):
    with SyncSession("hers", "Clerk", "ines", **desk) as session:
        session.message("private", "user")
    other = SyncSession("hers", "Clerk", "rui", **desk)
    for read in (other.history, other.events, other.retention, lambda: other.get_state("k")):
        with pytest.raises(DeskError, match='of the user "ines", not of "rui"'):
            read()
    assert other.approve("pay", {}).status == "failed"
    assert len(SyncSession("hers", "Clerk", **desk).history()) == 1


def test_a_session_that_began_without_a_user_is_read_by_who_names_one(desk):
    with SyncSession("nobodys", "Clerk", **desk) as session:
        session.message("open", "user")
    named = SyncSession("nobodys", "Clerk", "ines", **desk)
    assert len(named.history()) == 1
    with pytest.raises(DeskError, match="user"):
        named.get_state("k", scope="user")


def test_events_since_a_time(desk):
    base = datetime(2024, 1, 1, tzinfo=UTC)

    async def since(*moments):
        session = Session("old", "Clerk", **desk)
        for day in range(7):
            session.record("note", text=str(day), **{"at": (base + timedelta(days=day)).isoformat()})
        return [[event["text"] for event in await session.events(since=moment, limit=3)] for moment in moments]

    found = asyncio.run(since("2023-01-01", "2024-01-03", base + timedelta(days=5, seconds=1), "2025-01-01", 4))
    assert found == [["0", "1", "2"], ["2", "3", "4"], ["6"], [], ["4", "5", "6"]]
    with pytest.raises(ValueError, match="no time"):
        asyncio.run(Session("old", "Clerk", **desk).events(since="yesterday"))


def test_state_in_four_scopes(desk):
    one, other = SyncSession("a", "Clerk", "ines", **desk), Session("b", "Clerk", "ines", **desk)
    for scope in ("session", "user", "app"):
        assert one.set_state("k", {"of": scope}, scope=scope) == 1
    one.set_state("k", [MARK], scope="temp")
    one.get_state("k", scope="temp").append("not kept")
    assert one.get_state("temp:k") == [MARK] and one.get_state("user:k") == {"of": "user"}
    assert [other.get_state("k", scope=scope) for scope in ("session", "user", "app", "temp")] == [
        None, {"of": "user"}, {"of": "app"}, None]  # fmt: skip
    with pytest.raises(TypeError):
        one.set_state("k", object())
    with pytest.raises(ValueError, match="scope"):
        one.set_state("k", 1, scope="world")
    with pytest.raises(Exception, match="no user"):
        SyncSession("c", "Clerk", **desk).set_state("k", 1, scope="user")
    with pytest.raises(Exception, match="of the user"):
        SyncSession("a", "Clerk", "rui", **desk).get_state("k", scope="user")
    one.clear_state()
    assert [one.get_state("k", 0, scope) for scope in ("session", "user", "app", "temp")] == [
        0, {"of": "user"}, {"of": "app"}, 0]  # fmt: skip
    assert MARK not in str(list(StateValue.objects.values())) + str(list(Event.objects.values()))


def test_of_two_writers_neither_loses_silently(desk):
    one, other = SyncSession("a", "Clerk", "ines", **desk), SyncSession("b", "Clerk", "ines", **desk)
    one.set_state("cart", ["tea"], "user")
    assert other.get_state("cart", scope="user") == ["tea"]
    other.set_state("cart", ["tea", "milk"], "user")
    with pytest.raises(StateConflict):
        one.set_state("cart", ["tea", "honey"], "user")
    with pytest.raises(StateConflict):
        one.set_state("cart", [], "user", if_version=0)
    assert one.update_state("cart", lambda cart: [*cart, "honey"], "user") == ["tea", "milk", "honey"]
    with pytest.raises(StateConflict):
        other.delete_state("cart", "user")
    assert one.delete_state("cart", "user") and not one.delete_state("cart", "user")


def test_many_writers_at_once_each_have_their_say(desk):
    def work(name: int) -> None:
        session = SyncSession(f"writer {name}", "Clerk", "ines", **desk)
        for _ in range(3):
            session.update_state("count", lambda count: count + 1, "user", 0)

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, range(10)))
    assert SyncSession("reader", "Clerk", "ines", **desk).get_state("count", scope="user") == 30


def test_an_agent_with_tools_and_its_handoff(desk, monkeypatch):
    def classify() -> dict[str, str]:
        """Which desk is to answer."""
        return {"category": "billing"}

    def broken(order: str = "1") -> str:
        raise ValueError("no such order")

    model = UsesItsFirstTool()
    with model.serving() as url:

        async def work():
            session = Session("ask", "Shop", "ines", **desk)
            lm = LanguageModel("m-1", url=url, api_key="sk-test")
            router = Agent("router", session, lm, "Route it.", [classify])
            routed = await router.run("How do I upgrade?")
            assert routed.category == "billing" and routed.output == "answer 2"
            with pytest.raises(NoField):
                _ = routed.colour
            billing = Agent("billing", session, lm, tools=[[broken]])
            failed = await billing.run("Go on")
            assert failed.tool_calls[0]["status"] == "error"
            first = Agent("front", session, lm, handoffs=[Agent("specialist", session, lm)])
            handed = await first.run("Who helps me?")
            await session.flush()
            return handed

        handed = asyncio.run(work())
    assert handed.handoff_to == "specialist"
    asked = model.requests[2]["messages"]
    assert [message["role"] for message in asked] == ["user"] and "[router] answer 2" in asked[0]["content"]
    assert model.requests[0]["system"] == "Route it." and model.requests[0]["tools"][0]["name"] == "classify"
    assert model.requests[3]["messages"][-1]["content"][0]["is_error"] is True
    moved = Event.objects.filter(kind="handoff").order_by("seq").values_list("data", flat=True)
    assert [(one["from"], one["to"]) for one in moved] == [
        ("router", "billing"), ("billing", "front"), ("front", "specialist")]  # fmt: skip
    session = Event.objects.first().session
    assert (session.turn_count, session.input_tokens) == (3, 60)


def test_a_tool_that_needs_a_person_is_not_run_without(desk, asked, decide):
    ran = []

    def refund(order: str = "") -> str:
        ran.append(order)
        return "done"

    def waited():
        try:
            return asked()
        finally:
            connection.close()  # of this thread

    async def work():
        lm = LanguageModel("m-1", url=url, api_key="sk-test")
        agent = Agent("clerk", Session("r", "Shop", **desk), lm, tools=[refund], needs_approval={"refund"})
        running = asyncio.create_task(agent.run("Refund it"))
        decide(await asyncio.to_thread(waited), "deny", reason="not today")
        return await running

    with UsesItsFirstTool().serving() as url:
        result = asyncio.run(work())
    assert ran == [] and result.tool_calls[0]["status"] == "denied" and "not today" in result.tool_calls[0]["result"]


def test_without_a_model_an_agent_says_so(desk, monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        asyncio.run(Agent("clerk", Session("x", **desk)).run("Hello"))


def test_what_is_remembered_is_found_in_other_sessions(desk):
    async def work():
        memory = Memory(VectorMemoryService(), app_name="Clinic", user_id="ines", **desk)
        assert memory.service.method == "full text"
        await memory.store("history", "Chronic migraines, diagnosed 2020")
        await memory.store("allergies", "Penicillin, Sulfa drugs", kind="medical")
        await memory.store("allergies", "Penicillin")
        again = Memory(app_name="Clinic", user_id="ines", **desk)
        assert await again.recall(["allergies", "nothing"]) == {"allergies": "Penicillin"}
        assert [found.key for found in await again.search("is there a migraine?")] == ["history"]
        assert await Memory(app_name="Clinic", user_id="rui", **desk).search("migraine") == []
        assert await again.forget("history") and await again.search("migraine") == []

    asyncio.run(work())


def test_what_is_remembered_is_found_by_vectors_where_a_model_makes_them(desk, monkeypatch):
    api = KnowsAnimals()
    with api.serving() as url:
        monkeypatch.setenv("COUNTERSIGN_EMBEDDING_MODEL", "animals-2")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-embed")

        async def work():
            memory = Memory(VectorMemoryService(), app_name="Zoo", user_id="ines", **desk)
            assert memory.service.method == "full text"
            await memory.store("paws", "The cat sleeps", of="pets")
            await memory.store("wings", "The hen is awake")
            plain = Memory(app_name="Zoo", user_id="ines", **desk)
            plain.service.model = None
            await plain.store("fins", "A kitten of a fish")
            near = await memory.search("kitten")
            assert [(one.key, one.method) for one in near] == [
                ("paws", "pgvector"), ("wings", "pgvector"), ("fins", "full text")]  # fmt: skip
            assert near[0].score == pytest.approx(1) and near[0].metadata == {"of": "pets"}
            assert memory.service.method == "pgvector" and len(await memory.search("kitten", limit=1)) == 1
            assert [one.key for one in await plain.search("kitten")] == ["fins"] and plain.service.method == "full text"
            api.status = 500
            with pytest.raises(ModelError, match="500"):
                await memory.store("paws", "lost")
            assert await plain.recall(["paws"]) == {"paws": "The cat sleeps"}
            SyncSession("other", "Zoo", "ines", **desk).set_state("memory/odd", ["kitten"], "user")
            assert [one.key for one in await plain.search("kitten")] == ["fins"]

        asyncio.run(work())
    assert {(one["model"], one["path"], one["key"]) for one in api.requests} == {
        ("animals-2", "/v1/embeddings", "Bearer sk-embed")}  # fmt: skip


def test_without_a_named_model_no_text_goes_to_one(desk, monkeypatch):
    api = KnowsAnimals()
    with api.serving() as url:
        monkeypatch.delenv("COUNTERSIGN_EMBEDDING_MODEL", raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        memory = Memory(VectorMemoryService(), app_name="Zoo", **desk)
        asyncio.run(memory.store("a", "secret"))
        assert asyncio.run(memory.search("secret"))[0].method == "full text" and api.requests == []


def test_the_programs_of_the_page(desk_server, key, tmp_path):
    programs = [block for block in re.findall(r"```python\n(.+?)```", (DOCS / "sdk.md").read_text(), re.S)
                if "StateConflict" in block or "countersign.conversation" in block]  # fmt: skip
    with UsesItsFirstTool().serving() as model:
        environment = {
            "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server, "COUNTERSIGN_API_KEY": key,
            "COUNTERSIGN_SPOOL": str(tmp_path), "ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "sk-test",
        }  # fmt: skip
        done = [subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True,
                               timeout=120) for program in programs]  # fmt: skip
    assert [(one.stdout, one.stderr) for one in done] == [("['tea', 'milk'] pt\n", ""), ("answer 3\n", "")]


def test_history_leaves_out_what_is_pruned_and_reads_the_summary_in_its_place(desk, caplog):
    async def talk():
        session = Session("long", "Clerk", "ines", retention={"max_messages": 100}, **desk)
        for number in range(30):
            await session.send_message({"role": ("user", "assistant")[number % 2], "content": f"message {number}"})
        tried = await session.prune("keep_last_20", dry_run=True)
        assert (tried["pruned"], tried["kept"], len(await session.history())) == (10, 20, 30)
        assert (await session.prune("keep_last_20"))["pruned"] == 10
        assert [one["content"] for one in await session.history(2)] == ["message 28", "message 29"]
        assert len(await session.history()) == 20 and len(await session.history(include_pruned=True)) == 30
        done = await session.prune("summarize_old", threshold=5)
        first, *others = await session.history()
        assert (first["role"], first["content"]) == ("system", done["summary"]) and done["method"] == "rules"
        assert [one["content"] for one in others] == [f"message {number}" for number in range(25, 30)]
        assert len(await session.history(role="user")) == 2
        assert len(await session.events(limit=1000)) == 30
        assert (await session.retention())["prunings"][0]["rule"] == "summarize_old before the last 5"
        with pytest.raises(DeskError, match="there is no strategy"):
            await session.prune("forget")
        other = Session("long", "Clerk", "ines", retention={"immutable": True}, **desk)
        await other.history(1)

    asyncio.run(talk())
    assert "with another retention (immutable)" in caplog.text
    with SyncSession("long", "Clerk", "ines", **desk) as session:
        assert session.prune("sliding_window", 3)["pruned"] == 2 and len(session.history()) == 4


def test_a_reviewers_key_shows_again_what_was_pruned(desk, workspace):
    agents = api_keys.create_api_key(workspace, "Robot", Role.AGENT, by=audit.COMMAND)[1]
    for name, key in (("mine", desk["api_key"]), ("its", agents)):
        with SyncSession(name, "Clerk", "ines", **desk | {"api_key": key}) as session:
            for number in range(8):
                session.message(f"message {number}", "user")
            assert session.prune("keep_last_3")["pruned"] == 5
            if name == "mine":
                assert session.show_pruned() == {"messages": 5, "events": 5} and len(session.history()) == 8
            else:
                with pytest.raises(DeskError, match="reviewer"):
                    session.show_pruned()


def test_what_keep_important_left_in_pieces_is_read_past_from_the_end(desk):
    with SyncSession("pieces", "Clerk", **desk) as session:
        for number in range(450):
            session.message(f"message {number}", "user" if number % 2 else "assistant")
        assert session.prune("keep_important", 10)["pruned"] == 220
        assert len(session.history(1000)) == 230
        assert [one["text"] for one in session.history(12)][:2] == ["message 437", "message 439"]


def test_a_session_on_hold_tells_who_prunes_it(desk):
    with SyncSession("held", "Clerk", retention={"immutable": True}, **desk) as session:
        session.message("x")
        with pytest.raises(DeskError, match="on hold") as told:
            session.prune("keep_last_1")
        assert told.value.status == 409
