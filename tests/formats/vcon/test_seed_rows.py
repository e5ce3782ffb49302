"""What rows of seed 000 ask of a vCon beside its messages: order, ends, parents, and what cannot be read."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bench.formats.checks import OPTIONS
from bench.seeds.files import CHANGE, document, seed, traced
from vcon_app.drafts import EventDraft, Finding, Losses, SessionDraft, Signature
from vcon_app.formats import llmfeed, vac, vcon

USED = {"type": "assistant", "content": "x"}


def read(file: dict[str, Any]) -> list[Any]:
    return list(vcon.read(io.BytesIO(json.dumps(file).encode())))


def session_of(file: dict[str, Any]) -> SessionDraft:
    return next(one for one in read(file) if isinstance(one, SessionDraft))


def events_of(file: dict[str, Any]) -> list[EventDraft]:
    return [one for one in read(file) if isinstance(one, EventDraft)]


@pytest.mark.parametrize(("dated", "place"), [(False, 2), (True, 1)])
def test_a_change_without_a_time_follows_what_the_agent_said(dated, place):
    change = {name: value for name, value in CHANGE.items() if dated or name != "start"}
    kinds = [event.kind for event in events_of(seed(attachments=[change]))]
    assert kinds.index("file_change") == place


@pytest.mark.parametrize(("details", "phase"), [({"reason": "cancelled"}, "cancelled"), ({}, "completed")])
def test_an_end_that_somebody_cancelled_is_no_completion(details, phase):
    end = {"type": "system-event", "event-type": "session-end", "data": details}
    assert session_of(traced([USED, end])).phase == phase


def test_a_branch_names_the_session_that_it_left():
    assert session_of(traced([USED], **{"parent-session-id": "p"})).parent_external_id == "p"
    assert session_of(traced([USED], **{"parent-session-id": "s"})).parent_external_id is None


def test_a_body_that_is_encrypted_by_itself_is_told_of():
    file = document({})
    file["analysis"][0] |= {"encoding": "jwe", "body": {"ciphertext": "AAAA"}}
    signature = next(one for one in read(file) if isinstance(one, Signature))
    assert (signature.state, "/analysis/0" in signature.detail) == ("unsigned", True)


def test_a_feed_names_each_part_of_a_vcon_that_it_has_no_place_for():
    file = seed(zqtop={"a": "b"})
    losses = Losses()
    list(llmfeed.write(session_of(file), events_of(file), losses, options={}))
    told = {(row["what"], row["why"]) for row in losses.rows()}
    assert ("Party: Ida of the vcon file", "llmfeed has no place for it: name, role, stir, org, timezone") in told
    assert any("zqtop" in why for _, why in told)


def test_who_recorded_stands_in_a_record_by_itself():
    made = json.loads(b"".join(vac.write(session_of(seed()), events_of(seed()), Losses(), options=OPTIONS)))
    assert made["recording-agent"] == {"name": "zqrecorder", "version": "9.8.7"}


def written(file: dict[str, Any]) -> dict[str, Any]:
    return json.loads(b"".join(vcon.write(session_of(file), events_of(file), Losses(), options=OPTIONS)))


def test_the_vendor_and_product_that_a_file_states_leave_as_they_came():
    file = seed()
    file["analysis"][0] |= {"vendor": "maker", "product": "unknown"}
    analysis = written(file)["analysis"][0]
    assert (analysis["vendor"], analysis["product"]) == ("maker", "claude-opus-4-7")


def test_an_agent_id_means_the_agent_of_that_name_where_no_agent_has_an_id():
    entries = [USED | {"agent-id": name} for name in ("Ada", "Sub", "Ida")]
    spoken = [event.actor_name for event in events_of(traced(entries)) if event.kind == "agent_message"]
    assert spoken == ["Ada", "Sub", "Ada"]


def test_an_error_of_the_session_is_an_error_and_comes_back_as_one():
    file = traced([{"type": "system-event", "event-type": "error", "data": {"message": "full"}}])
    for found in (events_of(file), events_of(written(file))):
        assert [event.text for event in found if event.kind == "error"] == ["full"]


def test_a_trigger_is_nobodys_user_id_on_the_way_through_a_vcon():
    draft = SessionDraft("s", "Nightly", agent_name="Ada")
    said = EventDraft("user_message", "p", actor_kind="trigger", actor_name="nightly", text="go")
    through = json.loads(b"".join(vcon.write(draft, [said], Losses(), options=OPTIONS)))
    assert session_of(through).user_id == ""


@pytest.mark.parametrize("used", [
    {"input_tokens": 1000, "output_tokens": 100}, {"promptTokens": 1000, "completionTokens": 100},
    {"metrics": {"prompt_tokens": 1000, "completion_tokens": 100}},
    {"metadata": {"usage": {"input_tokens": 1000, "output_tokens": 100}, "model": "zq-model"}},
    {"response_metadata": {"token_usage": {"prompt_tokens": 1000, "completion_tokens": 100}, "model_name": "zq-model"}},
])  # fmt: skip
def test_counts_that_stand_beside_the_words_or_in_a_map_about_them_are_counted(used):
    for file in (seed([{"role": "assistant", "text": "zqsaid", **used}]), traced([{**USED, **used}])):
        (event,) = [one for one in events_of(file) if one.kind == "agent_message"]
        assert event.usage and (event.usage.input_tokens, event.usage.output_tokens) == (1000, 100)
        model = "claude-opus-4-7" if "metadata" not in str(used) else "zq-model"
        assert event.model == model


def test_a_call_holds_its_result_or_its_fault_under_names_that_others_use():
    calls = [{"tool_name": "h", "parameters": {"c": 1}, "response": "zqanswer"},
             {"name": "k", "arguments": "{}", "error": "zqfault"}]  # fmt: skip
    file = document({"version": "1.0", "session_trace": {"messages": [], "tool_calls": calls}})
    found = [(one.text, one.tool and one.tool.status) for one in events_of(file) if one.kind == "tool_result"]
    assert found == [("zqanswer", None), ("zqfault", "error")]


def test_messages_without_calls_are_told_nothing_of_two_lists():
    assert "R69" not in {one.rule for one in read(seed()) if isinstance(one, Finding)}


def test_members_of_another_type_than_they_have_come_back_as_they_were():
    entry = {**USED, "model-id": 7, "agent-id": ["a"], "token-usage": [1]}
    made = written(traced([entry]))["analysis"][0]["body"]["session"]["entries"][-1]
    assert made | entry == made


@pytest.mark.parametrize("party", [
    {"meta": {"agent_session": {"modelId": "zq-model", "modelProvider": "zqprovider", "recordingAgent": "zqrec/2"}}},
    {"meta": {"agent-session": {"model": {"id": "zq-model", "provider": "zqprovider"},
                                "recording-agent": {"name": "zqrec", "version": "2"}}}},
    {"meta": {"model_name": "zq-model", "vendor": "zqprovider", "recording_agent": "zqrec/2"}},
    {"vendor": "zqprovider", "model": "zq-model", "recording_agent": "zqrec/2"},
])  # fmt: skip
def test_an_agents_party_speaks_for_it_under_other_names_too(party):
    file = traced([{"type": "assistant", "content": "zqsaid", "token-usage": {"input": 10, "output": 1}}])
    file["parties"] = [{"name": "Ida", "role": "customer"}, {"name": "Ada", "role": "agent", **party}]
    for analysis in file["analysis"]:
        del analysis["vendor"], analysis["product"]
    session = session_of(file)
    assert (session.model, session.metadata["provider"]) == ("zq-model", "zqprovider")
    assert session.metadata["recorder"] == {"name": "zqrec", "version": "2"}
    assert [one.model for one in events_of(file) if one.usage] == ["zq-model"]
    assert "unknown" not in json.dumps(written(file)["analysis"])
