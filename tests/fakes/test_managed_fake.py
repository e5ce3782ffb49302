"""The fake refuses and tells what the Managed Agents API does: the real SDK meets it here, without the desk."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from .managed_agents import BETA, KEY, Fault
from .managed_agents_steps import Calls, Cut, Emit, FailedRequest, Pause, Reschedule, Say, Stop, SubAgent, Use

ASK = Use("bash", {"command": "ls"}, permission="ask")


def message(text: str = "Hello") -> dict[str, Any]:
    return {"type": "user.message", "content": [{"type": "text", "text": text}]}


def confirm(id_: str, result: str = "allow", **more: Any) -> dict[str, Any]:
    return {"type": "user.tool_confirmation", "tool_use_id": id_, "result": result, **more}


def own_result(id_: str, text: str = "yes", **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "user.custom_tool_result", "custom_tool_use_id": id_, "content": content, **more}


def until(true: Callable[[], Any]) -> Any:
    end = time.monotonic() + 5
    while not (found := true()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
    return found


def idles(fake) -> list[str]:
    told = [event for event in fake.session.events if event["type"] == "session.status_idle"]
    return [event["stop_reason"]["type"] for event in told]


def kinds(fake) -> list[str]:
    return [event["type"] for event in fake.session.events]


def asked(fake, sessions, session, *uses: Use) -> list[str]:
    """Ids of calls that now wait."""
    fake.world.scripts.append([Calls(list(uses)), Say("Done.")])
    sessions.events.send(session, events=[message()])
    return until(lambda: idles(fake)[-1:] == ["requires_action"] and list(fake.session.parked))


def refused(sessions, session, *events: dict[str, Any]) -> str:
    with pytest.raises(anthropic.BadRequestError) as error:
        sessions.events.send(session, events=list(events))
    return error.value.api_message


def test_who_asks_is_checked_and_errors_have_one_shape(fake, remote_session):
    """Line 1."""
    url, beta = f"{fake.base_url}/v1/sessions/{remote_session}", {"anthropic-beta": BETA}
    assert httpx2.get(url, headers={"x-api-key": KEY}).status_code == 404
    assert httpx2.get(url, headers=beta).status_code == 401
    for proof in ({"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"}):
        answer = httpx2.get(url, headers=beta | proof)
        assert (answer.status_code, answer.headers["request-id"][:4]) == (200, "req_")
    answer = httpx2.get(f"{fake.base_url}/v1/sessions/sesn_none", headers=beta | {"x-api-key": KEY})
    assert answer.status_code == 404
    body = answer.json()
    assert (body["type"], body["error"]["type"]) == ("error", "not_found_error")
    assert body["request_id"] == answer.headers["request-id"]


def test_lists_have_cursors_orders_and_filters(fake, client, sessions, places):
    """Line 2."""
    made = [sessions.create(agent=places[0], environment_id=places[1]).id for _ in range(3)]
    first = sessions.list(limit=2)
    assert [one.id for one in first.data] == [made[2], made[1]]
    assert [one.id for one in first] == made[::-1]
    with pytest.raises(anthropic.BadRequestError, match="another order"):
        sessions.list(limit=2, order="asc", page=first.next_page)
    headers = {"x-api-key": KEY, "anthropic-beta": BETA}
    page = httpx2.get(f"{fake.base_url}/v1/sessions?limit=1&page={first.next_page}", headers=headers).json()
    assert page["prev_page"]
    assert "prev_page" not in httpx2.get(f"{fake.base_url}/v1/sessions/{made[0]}/events", headers=headers).json()
    assert [one.id for one in sessions.list(statuses=["running", "rescheduling"])] == []
    assert len(list(sessions.list(agent_id=places[0], statuses=["idle"]))) == 3
    assert list(sessions.list(agent_id="agent_none")) == []
    assert list(sessions.list(created_at_gt="2099-01-01T00:00:00Z")) == []
    sessions.archive(made[0])
    assert len(list(sessions.list())) == 2
    assert len(list(sessions.list(include_archived=True))) == 3
    sessions.events.send(made[1], events=[message()])
    until(lambda: fake.world.sessions[made[1]].status == "idle" and fake.world.sessions[made[1]].events[-1])
    told = sessions.events.list(made[1], types=["agent.message", "user.message"], order="desc")
    assert [event.type for event in told] == ["agent.message", "user.message"]


def test_sessions_begin_idle_or_running(fake, sessions, places):
    """Line 3."""
    agent, environment = places
    assert sessions.create(agent=agent, environment_id=environment).status == "idle"
    begun = sessions.create(agent=agent, environment_id=environment, initial_events=[message()])
    assert begun.status == "running"
    until(lambda: "agent.message" in kinds(fake))
    for wrong in ([confirm("sevt_1")], [message()] * 51):
        with pytest.raises(anthropic.BadRequestError):
            sessions.create(agent=agent, environment_id=environment, initial_events=wrong)
    for agent_id, environment_id in (("agent_none", environment), (agent, "env_none")):
        with pytest.raises(anthropic.NotFoundError):
            sessions.create(agent=agent_id, environment_id=environment_id)


def frames(sessions, session, *, until_type: str, previews: Any = anthropic.omit) -> list[Any]:
    found = []
    with sessions.events.stream(session, event_deltas=previews) as stream:
        sessions.events.send(session, events=[message()])
        for event in stream:
            found.append(event)
            if event.type == until_type:
                break
    return found


def test_a_stream_tells_what_happens_from_now_on(fake, sessions, remote_session):
    """Lines 4 and 5."""
    sessions.events.send(remote_session, events=[message("before")])
    until(lambda: idles(fake))
    fake.world.scripts.append([Say("Hello"), Pause(0.5)])
    seen = frames(sessions, remote_session, until_type="session.status_idle", previews=["agent.message"])
    types = [event.type for event in seen]
    assert types[:4] == ["user.message", "session.status_running", "session.thread_status_running", "user.message"]
    assert (seen[0].processed_at, seen[3].processed_at is None) == (None, False)
    assert types[4:7] == ["span.model_request_start", "event_start", "event_delta"]
    assert types[-3:] == ["session.thread_status_idle", "session.usage", "session.status_idle"]
    with pytest.raises(anthropic.BadRequestError):
        sessions.events.stream(remote_session, event_deltas=["agent.tool_use"])


def test_a_stream_without_event_lines_is_empty_for_the_sdk(fake, sessions, remote_session):
    """Line 4: what the reader of the SDK makes of it."""
    fake.switches.drop_event_line = True
    fake.world.scripts.append([Say("Hello"), Pause(0.2), Cut()])
    with sessions.events.stream(remote_session) as stream:
        sessions.events.send(remote_session, events=[message()])
        with pytest.raises(httpx2.RemoteProtocolError):
            assert [event.type for event in stream] == []


@pytest.mark.parametrize("half", [False, True])
def test_a_stream_can_be_cut_and_ends_when_the_session_is_deleted(fake, sessions, remote_session, half):
    """Line 4."""
    fake.world.scripts.append([Say("Hello"), Cut(half=half)])
    with pytest.raises(httpx2.RemoteProtocolError):
        frames(sessions, remote_session, until_type="never")
    until(lambda: fake.session.status == "idle" and idles(fake))
    with sessions.events.stream(remote_session) as stream:
        sessions.delete(remote_session)
        assert [event.type for event in stream] == ["session.deleted"]
    with pytest.raises(anthropic.NotFoundError):
        sessions.retrieve(remote_session)


def test_messages_queue_while_it_runs_and_are_refused_while_it_waits(fake, sessions, remote_session):
    """Line 5."""
    fake.world.scripts += [[Pause(0.3)], [Calls([ASK])]]
    sessions.events.send(remote_session, events=[message("one")])
    sent = sessions.events.send(remote_session, events=[message("two")]).data[0]
    assert sent.processed_at is None
    (id_,) = until(lambda: list(fake.session.parked))
    assert refused(sessions, remote_session, message("three")) == (
        f"Invalid user.message event at events[0]: waiting on responses to events [{id_}]; only "
        "user.tool_confirmation, user.custom_tool_result, user.tool_result, or user.interrupt may be sent"
    )


def test_paused_session_waits_for_every_answer(fake, sessions, remote_session):
    """Line 6."""
    first, second = asked(fake, sessions, remote_session, ASK, Use("edit", permission="ask"))
    sessions.events.send(remote_session, events=[confirm(first)])
    again = until(lambda: [e for e in fake.session.events if e["type"] == "session.status_idle"][1:])
    assert again[0]["stop_reason"] == {"type": "requires_action", "event_ids": [second]}
    assert "deny_message" in refused(sessions, remote_session, confirm(second, deny_message="no"))
    sessions.events.send(remote_session, events=[confirm(second, "deny", deny_message="not today")])
    until(lambda: idles(fake)[-1] == "end_turn")
    results = {e["tool_use_id"]: e for e in fake.session.events if e["type"] == "agent.tool_result"}
    assert (results[first]["is_error"], results[second]["is_error"]) == (False, True)
    assert "not today" in results[second]["content"][0]["text"]


def test_a_wrong_answer_is_refused_and_with_it_its_whole_batch(fake, sessions, remote_session):
    """Line 7."""
    use, custom = asked(fake, sessions, remote_session, ASK, Use("print", custom=True))
    for wrong in (
        confirm(custom), own_result(use), confirm("sevt_none"),
    ):  # fmt: skip
        assert "does not match any" in refused(sessions, remote_session, confirm(use), wrong)
    assert use not in fake.session.answers
    sessions.events.send(remote_session, events=[confirm(use)])
    assert "not awaiting" in refused(sessions, remote_session, confirm(use))
    assert [event["type"] for event in fake.session.sent] == ["user.message", "user.tool_confirmation"]


@pytest.mark.parametrize("content", [[], [{"type": "text", "text": ""}], [{"type": "tool_use"}]])
def test_events_with_empty_content_are_refused(fake, sessions, remote_session, content):
    (custom,) = asked(fake, sessions, remote_session, Use("print", custom=True))
    assert "content" in refused(sessions, remote_session, own_result(custom) | {"content": content})
    sessions.events.send(remote_session, events=[{"type": "user.interrupt"}])
    until(lambda: idles(fake)[-1] == "end_turn")
    assert "content" in refused(sessions, remote_session, message() | {"content": content})


def test_an_interrupt_takes_effect_later_and_clears_what_waits(fake, sessions, remote_session):
    """Line 8."""
    fake.switches.interrupt_lag = 0.2
    (id_,) = asked(fake, sessions, remote_session, ASK)
    begun = time.monotonic()
    sessions.events.send(remote_session, events=[{"type": "user.interrupt"}])
    until(lambda: idles(fake)[-1] == "end_turn")
    assert time.monotonic() - begun > 0.15
    assert "not awaiting" in refused(sessions, remote_session, confirm(id_))
    sessions.events.send(remote_session, events=[{"type": "user.interrupt"}, message("next")])
    until(lambda: "agent.message" in kinds(fake))


def test_custom_tools_and_policies(fake, sessions, remote_session):
    """Line 9."""
    judged = {"type": "auto", "evaluated_permission": {"type": "deny", "reason_code": "high_risk"}}
    unknown = {"type": "auto", "evaluated_permission": {"type": "ask", "reason_code": "brand_new"}}
    uses = [Use("print", custom=True), Use("bash", permission="deny", evaluation=judged),
            Use("edit", permission="ask", evaluation=unknown), Use("read", permission="deny")]  # fmt: skip
    custom, edit = asked(fake, sessions, remote_session, *uses)
    sessions.events.send(remote_session, events=[own_result(custom, is_error=True), confirm(edit)])
    until(lambda: idles(fake)[-1] == "end_turn")
    made = {e["name"]: e for e in fake.session.events if e["type"] == "agent.tool_use"}
    assert made["bash"]["evaluation"] == judged
    assert "evaluation" not in made["read"]
    assert [e["is_error"] for e in fake.session.events if e["type"] == "agent.tool_result"] == [True, False, True]


def test_usage_is_cumulative_and_stands_right_before_idle(fake, sessions, remote_session):
    """Line 10."""
    fake.world.scripts += [[Say("One", cents=187)], [FailedRequest(), Say("Two", cents=13)]]
    for _ in range(2):
        sessions.events.send(remote_session, events=[message()])
        until(lambda: fake.session.status == "idle" and kinds(fake)[-1] == "session.status_idle")
        assert kinds(fake)[-2] == "session.usage"
        time.sleep(0.05)
    until(lambda: len(idles(fake)) == 2)
    costs = [e["usage"]["list_cost"]["amount"] for e in fake.session.events if e["type"] == "session.usage"]
    assert costs == ["187", "200"]
    ends = [e for e in fake.session.events if e["type"] == "span.model_request_end"]
    assert [end["is_error"] for end in ends] == [False, True, False]
    assert sessions.retrieve(remote_session).usage.output_tokens == 60


def test_failed_sessions_end_with_their_reason(fake, sessions, places):
    """Line 11."""
    details = {"type": "refusal", "category": "cyber"}
    for step, reason in ((Stop("refusal", details), "refusal"), (Stop("retries_exhausted"), "retries_exhausted")):
        made = sessions.create(agent=places[0], environment_id=places[1]).id
        fake.world.scripts.append([Reschedule(0.01), step])
        sessions.events.send(made, events=[message()])
        until(lambda: idles(fake))
        assert idles(fake) == [reason]
        assert kinds(fake).count("session.status_running") == 2
    made = sessions.create(agent=places[0], environment_id=places[1]).id
    exhausted = {"type": "billing_error", "message": "no money", "retry_status": {"type": "terminal"}}
    fake.world.scripts.append([Emit("session.error", {"error": exhausted}), Stop("terminated")])
    sessions.events.send(made, events=[message()])
    until(lambda: fake.session.status == "terminated")
    assert "takes no events" in refused(sessions, made, message())


def test_a_budget_stops_and_raising_it_goes_on(fake, sessions, places):
    """Line 11."""
    limit = {"type": "limit", "max_list_cost": {"amount": "10", "currency": "USD"}}
    made = sessions.create(agent=places[0], environment_id=places[1], budget=limit).id
    fake.world.scripts.append([Say("One", cents=12), Say("Two")])
    sessions.events.send(made, events=[message()])
    until(lambda: idles(fake))
    assert idles(fake) == ["budget_reached"]
    assert "only user.tool_confirmation" in refused(sessions, made, message())
    with pytest.raises(anthropic.BadRequestError):
        sessions.update(made, budget={"type": "limit", "max_list_cost": {"amount": "11", "currency": "USD"}})
    sessions.update(made, budget={"type": "limit", "max_list_cost": {"amount": "100", "currency": "USD"}})
    sessions.events.send(made, events=[message()])
    until(lambda: idles(fake)[-1] == "end_turn")


def test_archiving_and_deleting_wait_for_the_end(fake, sessions, remote_session):
    """Line 12."""
    fake.switches.post_idle_lag = 0.3
    fake.world.scripts.append([Pause(0.2)])
    sessions.events.send(remote_session, events=[message()])
    until(lambda: fake.session.status == "running")
    for act in (sessions.archive, sessions.delete):
        with pytest.raises(anthropic.BadRequestError, match="while its status is running"):
            act(remote_session)
    until(lambda: idles(fake))
    with pytest.raises(anthropic.BadRequestError, match="cannot be archived"):
        sessions.archive(remote_session)
    until(lambda: fake.session.status == "idle")
    assert sessions.archive(remote_session).archived_at
    assert "archived" in refused(sessions, remote_session, message())


def test_tools_change_only_while_it_rests(fake, sessions, remote_session):
    """Line 13."""
    toolset = {"type": "agent_toolset_20260401"}
    fake.world.scripts.append([Pause(0.2)])
    sessions.events.send(remote_session, events=[message()])
    until(lambda: fake.session.status == "running")
    with pytest.raises(anthropic.BadRequestError):
        sessions.update(remote_session, agent={"tools": [toolset]})
    until(lambda: fake.session.status == "idle")
    assert [tool.type for tool in sessions.update(remote_session, agent={"tools": [toolset]}).agent.tools] == [
        toolset["type"]
    ]
    assert kinds(fake)[-1] == "session.updated"
    with pytest.raises(anthropic.BadRequestError, match="vault_ids"):
        sessions.update(remote_session, vault_ids=["vlt_1"])


def test_a_sub_agent_has_its_own_list_and_asks_on_the_stream_of_the_session(fake, sessions, remote_session):
    """Line 14."""
    fake.world.scripts.append([SubAgent("Researcher", "look", "found", asks=ASK), Say("There.")])
    sessions.events.send(remote_session, events=[message()])
    (id_,) = until(lambda: list(fake.session.parked))
    primary, thread = sessions.threads.list(remote_session)
    assert (primary.parent_thread_id, thread.parent_thread_id, thread.agent.name) == (None, primary.id, "Researcher")
    own = [event.type for event in sessions.threads.events.list(thread.id, session_id=remote_session)]
    assert own == ["span.model_request_start", "agent.message", "span.model_request_end"]
    crossed = next(event for event in fake.session.events if event["id"] == id_)
    assert crossed["session_thread_id"] == thread.id
    sessions.events.send(remote_session, events=[confirm(id_)])
    until(lambda: idles(fake)[-1] == "end_turn")


def test_limits_overload_and_the_double_send(fake, client, sessions, remote_session):
    """Line 15."""
    fake.faults.append(Fault("GET", 429, "rate_limit_error", "slow down", {"retry-after": "7"}))
    with pytest.raises(anthropic.RateLimitError) as limited:
        sessions.retrieve(remote_session)
    assert limited.value.response.headers["retry-after"] == "7"
    fake.faults.append(Fault("GET", 529, "overloaded_error", "Overloaded"))
    with pytest.raises(anthropic.InternalServerError):
        sessions.retrieve(remote_session)
    fake.faults.append(Fault("/events", after=True, hang=2.0))
    impatient = client.with_options(max_retries=1, timeout=0.5)
    impatient.beta.sessions.events.send(remote_session, events=[message()])
    assert len(fake.session.sent) == 2  # what a client that retries does


def test_unknown_events_and_fields_reach_the_client(fake, sessions, remote_session):
    """Line 16."""
    fake.world.scripts.append([Emit("agent.levitates", {"height": 3})])
    sessions.events.send(remote_session, events=[message()])
    until(lambda: idles(fake))
    strange = next(event for event in sessions.events.list(remote_session) if event.type == "agent.levitates")
    assert strange.height == 3
    assert sessions.retrieve(remote_session).future_field


def test_definitions_are_checked_and_versioned(client):
    agents = client.beta.agents
    made = agents.create(name="Clerk", model="claude-opus-5-5")
    assert agents.update(made.id, version=1, system="Be brief.").version == 2
    with pytest.raises(anthropic.ConflictError):
        agents.update(made.id, version=1, system="Be polite.")
    assert agents.retrieve(made.id, version=1).system is None
    client.beta.environments.create(name="here")
    with pytest.raises(anthropic.ConflictError):
        client.beta.environments.create(name="here")
    schema = {"type": "object", "additionalProperties": False}
    for wrong in (
        {"tools": [{"type": "custom", "name": "x", "description": "d", "input_schema": schema}]},
        {"tools": [{"type": "mcp_toolset", "mcp_server_name": "nobody"}]},
        {"mcp_servers": [{"type": "url", "name": "unused", "url": "https://mcp.example.org"}]},
        {"tools": [{"type": "agent_toolset_20260401"}] * 257},
        {"metadata": {f"k{number}": "v" for number in range(17)}},
        {"strange": 1},
    ):
        with pytest.raises(anthropic.BadRequestError):
            agents.create(name="Odd", model="claude-opus-5-5", extra_body=wrong)
