"""What AG-UI says on the wire is read as it stands: an interrupt is answered only where it is about one call."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign.adapters.ag_ui import Gate
from countersign.client import AsyncClient

from tests.sdk.bad_desks import LIES, answering, lying

from .test_langchain import edit

GIVEN = {"threadId": "t", "runId": "1", "messages": [{"id": "u", "role": "user", "content": "Pay."}]}
ARGUMENTS = {"order": "4711", "amount": 40.0}
TAKES = {"type": "object", "properties": {"approved": {}, "editedArgs": {}, "reason": {}}, "required": ["approved"]}
WAITS = {"id": "int-c", "reason": "tool_call", "toolCallId": "c", "responseSchema": TAKES}


WRITTEN = json.dumps(ARGUMENTS)


def called(id_="c", name="refund", arguments=WRITTEN):
    """The events of a call, its arguments in pieces."""
    return [
        {"type": "TOOL_CALL_START", "toolCallId": id_, "toolCallName": name, "parentMessageId": "a"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": id_, "delta": arguments[:7]},
        {"type": "TOOL_CALL_ARGS", "toolCallId": id_, "delta": arguments[7:]},
        {"type": "TOOL_CALL_END", "toolCallId": id_},
    ]


def ended(*interrupts):
    return {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}


def resumed(url, *events, given=GIVEN):
    """What a run that says these events is resumed with; None where it is not."""
    inputs = []

    async def start(asked):
        inputs.append(asked)
        for event in events if len(inputs) == 1 else [{"type": "RUN_FINISHED", "outcome": {"type": "success"}}]:
            yield event

    async def run():
        gate = Gate("Refund agent", wait=2, client=AsyncClient(url, "cs_test"))
        assert [event async for event in gate.run(start, given)]

    asyncio.run(run())
    return inputs[1] if len(inputs) > 1 else None


def test_an_approval_and_a_denial_are_both_answers():
    with answering(lying(lambda said: None)) as yes, answering(lying(LIES["denied"])) as no:
        approved, denied = resumed(yes, *called(), ended(WAITS)), resumed(no, *called(), ended(WAITS))
    [answer] = approved["resume"]
    assert (answer["interruptId"], answer["status"]) == ("int-c", "resolved")
    assert answer["payload"] == {"approved": True, "editedArgs": ARGUMENTS}
    [answer] = denied["resume"]
    assert answer["payload"] == {"approved": False, "reason": "Denied by Rosa."}
    assert approved["threadId"] == "t" and approved["runId"] != "1"
    call = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": WRITTEN}}
    assert approved["messages"] == [*GIVEN["messages"], {"id": "a", "role": "assistant", "toolCalls": [call]}]


def test_an_edit_is_given_where_it_is_taken_and_refuses_elsewhere():
    with answering(lying(edit)) as url:
        [taken] = resumed(url, *called(), ended(WAITS))["resume"]
        [bare] = resumed(url, *called(), ended(WAITS | {"responseSchema": None}))["resume"]
    assert taken["payload"] == {"approved": True, "editedArgs": ARGUMENTS | {"amount": 4.5}}
    assert bare["payload"]["approved"] is False and "4.5" in bare["payload"]["reason"]


@pytest.mark.parametrize(
    "events",
    [
        [*called(), ended(WAITS | {"toolCallId": "other"})],
        [*called(), ended(WAITS | {"toolCallId": None})],
        [*called(), *called(arguments="{}"), ended(WAITS)],
        [*called(), ended(WAITS, {"id": "int-2", "reason": "input_required", "message": "Which account?"})],
        [*called(), ended(WAITS | {"responseSchema": {"type": "object", "properties": {"choice": {}}}})],
        [*called(), {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}],
        [*called(), {"type": "RUN_FINISHED", "outcome": "interrupt"}],
        [*called(), {"type": "RUN_FINISHED", "outcome": {"type": "success"}}],
        [*called(), {"type": "RUN_ERROR", "message": "expired"}],
        [*called(), ended(WAITS), {"type": "RUN_FINISHED", "outcome": {"type": "cancelled"}}],
        called(),
    ],
)
def test_whatever_is_not_about_one_call_is_left_to_whoever_runs_it(events):
    """The desk would say yes to everything."""
    with answering(lying(lambda said: None)) as url:
        assert resumed(url, *events) is None


def test_what_earlier_runs_said_is_the_call_too():
    """The call is in the messages that the run was given, and its arguments are no JSON: that is a no."""
    call = {"id": "c", "type": "function", "function": {"name": "refund", "arguments": "{"}}
    given = GIVEN | {"messages": [{"id": "a", "role": "assistant", "toolCalls": [call]}]}
    with answering(lying(lambda said: None)) as url:
        [answer] = resumed(url, ended(WAITS), given=given)["resume"]
    assert answer["payload"]["approved"] is False and given["messages"][0]["toolCalls"] == [call]
