"""Seed 000: the prompts, tool calls, results, files and reasoning of a trace: each is an event that a reader sees."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..desk import SeedDesk
from ..files import traced
from ..row import Checks, row
from .vcon_agents import OPUS, own

CALL: dict[str, Any] = {"type": "tool-call", "call-id": "c1", "name": "zqtool", "input": {"zqargument": "zqvalue"}}
RESULT: dict[str, Any] = {"type": "tool-result", "call-id": "c1", "output": "zqoutput"}


def only(entries: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """A vCon of a trace with these entries, in which nothing else was said."""
    file = own(traced(entries), number)
    del file["analysis"][0]["dialog"]
    return file | {"dialog": []}


@dataclass(frozen=True)
class Told:
    """Entries of a trace, and what becomes of them."""

    number: str
    claim: str
    entries: list[dict[str, Any]]
    kinds: list[str]
    words: tuple[str, ...]
    """On the page, in the search where they are text, and in the vCon that goes out."""
    of: dict[str, Any] = field(default_factory=dict)
    """Members of the session, as the API has them."""


TOLD = (
    Told("0.240", "a prompt", [{"type": "user", "content": "zqprompt"}], ["user_message"], ("zqprompt",),
         {"turn_count": 1}),
    Told("0.241", "an answer and its model", [{"type": "assistant", "content": "zqreply", "model-id": OPUS}],
         ["agent_message"], ("zqreply", OPUS), {"models": [OPUS]}),
    Told("0.242", "a thought", [{"type": "reasoning", "content": "zqthinking"}], ["reasoning"], ("zqthinking",)),
    Told("0.243", "a thought that is sealed", [{"type": "reasoning", "encrypted": "zqsealed", "subject": "zqsubject"}],
         ["reasoning"], ("zqsubject",)),
    Told("0.244", "a call and what it gave", [CALL, RESULT], ["tool_call", "tool_result"],
         ("zqtool", "zqargument", "zqvalue", "zqoutput"),
         {"tool_call_count": 1, "error_count": 0, "tools_invoked": ["zqtool"]}),
    Told("0.245", "a call that failed", [CALL, RESULT | {"is-error": True}], ["tool_call", "tool_result"],
         ("zqoutput",), {"error_count": 1}),
    Told("0.246", "a call that was denied", [CALL, RESULT | {"status": "denied"}], ["tool_call", "tool_result"],
         ("zqoutput", "denied")),
    Told("0.247", "a call that nobody answered", [CALL], ["tool_call"], ("zqtool",), {"tool_call_count": 1}),
    Told("0.248", "a result whose call is not there", [RESULT], ["tool_result"], ("zqoutput",)),
    Told("0.249", "a result that is no text", [CALL, RESULT | {"output": {"zqmember": ["zqitem"]}}],
         ["tool_call", "tool_result"], ("zqmember", "zqitem")),
    Told("0.250", "arguments that are no object", [CALL | {"input": "zqargumenttext"}], ["tool_call"],
         ("zqargumenttext",)),
    Told("0.251", "a system prompt", [{"type": "system", "content": "zqsystem"}], ["system"], ("zqsystem",)),
    Told("0.252", "an error of the session",
         [{"type": "system-event", "event-type": "error", "data": {"message": "zqfault"}}], ["error"], ("zqfault",),
         {"error_count": 1}),
    Told("0.253", "an event of the system that nobody named before",
         [{"type": "system-event", "event-type": "zqevent", "data": {"zqdetail": "zqheld"}}], ["system"],
         ("zqevent", "zqheld")),
    Told("0.254", "an entry of a kind that nobody named before", [{"type": "zqkind", "zqmember": "zqcontent"}],
         ["unknown"], ("zqkind", "zqcontent")),
    Told("0.255", "a member that nobody named before", [{"type": "user", "content": "zqa", "zqextra": "zqkept"}],
         ["user_message"], ("zqa",)),
    Told("0.256", "a call inside the message that makes it",
         [{"type": "assistant", "content": [{"type": "text", "text": "zqbefore"},
                                            {"type": "tool_use", "id": "c1", "name": "zqtool", "input": {"a": "zqb"}}]},
          {"type": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "zqafter"}]}],
         ["agent_message", "tool_call", "tool_result"], ("zqbefore", "zqb", "zqafter")),
    Told("0.257", "calls as OpenAI lists them",
         [{"type": "assistant", "content": "zqx", "tool_calls": [
             {"id": "c1", "type": "function", "function": {"name": "zqtool", "arguments": "{\"a\": \"zqb\"}"}}]},
          {"role": "tool", "tool_call_id": "c1", "content": "zqgiven"}],
         ["agent_message", "tool_call", "tool_result"], ("zqtool", "zqb", "zqgiven"), {"tools_invoked": ["zqtool"]}),
    Told("0.258", "what a sub-agent did, below its call",
         [CALL | {"name": "Task", "children": [{"type": "assistant", "content": "zqchild"}]}, RESULT],
         ["tool_call", "agent_message", "tool_result"], ("zqchild",)),
    Told("0.259", "text that is code of a page, as text",
         [{"type": "user", "content": "<script>zqscript()</script><b>zqbold</b>"}], ["user_message"],
         ("<script>zqscript()</script>", "<b>zqbold</b>")),
)  # fmt: skip


def _seen(number: int, told: Told, desk: SeedDesk) -> Checks:
    one = desk.imported(only(told.entries, number))
    found = [event["kind"] for event in one.events if event["kind"] not in ("status",)]
    yield f"kinds {found}", [kind for kind in found if kind in told.kinds] == told.kinds
    details = " ".join(desk.page(f"{one.path}/events/{event['seq']}") for event in one.events)
    written = one.written("vcon").decode()
    for word in told.words:
        yield f"{word} on the page", word in one.page or word in details
        yield (
            f"{word} in the vCon",
            json.dumps(word)[1:-1].replace('"', "") in written.replace("\\", "").replace('"', "") or word in written,
        )
        yield (
            f"{word} in the log that goes out",
            word in json.dumps([json.loads(line) for line in one.written("jsonl").splitlines()]),
        )
    for name, value in told.of.items():
        yield f"{name} {one.json[name]}", one.json[name] == value


for _place, _told in enumerate(TOLD):
    row(_told.number, f"{_told.claim}: an event, on the page and in what goes out")(
        partial(_seen, 0x2000 + _place, _told)
    )


@row("0.260", "a member that nobody named before is in the inspector and goes out again")
def extra(desk: SeedDesk) -> Checks:
    one = desk.imported(only([{"type": "user", "content": "zqa", "zqextra": "zqkept"}], 0x2100))
    seq = one.of_kind("user_message")[0]["seq"]
    yield "inspector", "zqkept" in desk.page(f"{one.path}/events/{seq}/kept")
    yield "vCon", "zqkept" in one.written("vcon").decode()


@row("0.261", "what a sub-agent did is deeper than its call, and part of the turn")
def depth(desk: SeedDesk) -> Checks:
    entries = [{"type": "user", "content": "zqgo"},
               CALL | {"name": "Task", "children": [{"type": "assistant", "content": "zqchild"}, CALL | {
                   "call-id": "c2", "name": "zqinner"}, RESULT | {"call-id": "c2"}]}, RESULT]  # fmt: skip
    one = desk.imported(only(entries, 0x2101))
    call, child = one.of_kind("tool_call")[0], one.of_kind("agent_message")[0]
    yield "deeper", child["depth"] == call["depth"] + 1
    yield "below its call", child["parent_seq"] == call["seq"]
    yield "one turn", {event["turn"] for event in one.events if event["kind"] != "status"} == {1}
    yield "tools", set(one.json["tools_invoked"]) == {"Task", "zqinner"}
    yield "calls", one.json["tool_call_count"] == 2


@row("0.262", "each event leads to its place in the file")
def place(desk: SeedDesk) -> Checks:
    one = desk.imported(only([{"type": "user", "content": "zqhere"}], 0x2102))
    event = one.of_kind("user_message")[0]
    yield "pointer", event["source"]["pointer"].startswith("/analysis/0/body")
    yield "shown", "zqhere" in desk.page(f"/sessions/{one.id}/events/{event['seq']}/source")


@row("0.263", "text of prompts, answers, calls and results is found")
def searched(desk: SeedDesk) -> Checks:
    words = ("zqfindprompt", "zqfindanswer", "zqfindargument", "zqfindresult")
    entries = [{"type": "user", "content": words[0]}, {"type": "assistant", "content": words[1]},
               CALL | {"input": {"a": words[2]}}, RESULT | {"output": words[3]}]  # fmt: skip
    one = desk.imported(only(entries, 0x2103))
    for word in words:
        found = desk.call(f"/api/v1/sessions?q={word}")["items"]
        yield f"{word} by the API", [item["id"] for item in found] == [one.id]
        yield f"{word} on the page of the list", one.id in desk.html(f"/sessions/?q={word}")


@row("0.264", "times of entries: in order, each on its event, and how long a call took")
def times(desk: SeedDesk) -> Checks:
    entries = [CALL | {"timestamp": "2026-01-01T00:00:01.500Z"}, RESULT | {"timestamp": "2026-01-01T00:00:04Z"}]
    one = desk.imported(only(entries, 0x2104))
    yield "at", [event["at"][:19] for event in one.of_kind("tool_call", "tool_result")] == [
        "2026-01-01T00:00:01", "2026-01-01T00:00:04"
    ]  # fmt: skip
    yield "took", "2.5 s" in desk.page(f"{one.path}?lens=tools") or "2.5 s" in one.page


@row("0.265", "numbers of time: seconds, milliseconds, and a zone are the same moment")
def clocks(desk: SeedDesk) -> Checks:
    said = (1767225600, 1767225600000, "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:00.000000Z")
    for number, value in enumerate(said):
        one = desk.imported(only([{"type": "user", "content": "zqt", "timestamp": value}], 0x2110 + number))
        yield str(value), (one.of_kind("user_message")[0]["at"] or "").startswith("2026-01-01T00:00:00")


@row("0.266", "a long text is whole on the page that is asked for it, and in what goes out")
def long(desk: SeedDesk) -> Checks:
    text = "zqbegin " + "word " * 40_000 + "zqfinish"
    one = desk.imported(only([{"type": "assistant", "content": text}], 0x2120))
    seq = one.of_kind("agent_message")[0]["seq"]
    yield "whole", "zqfinish" in desk.page(f"{one.path}/events/{seq}/whole")
    yield "vCon", "zqfinish" in one.written("vcon").decode()
    yield "said that it is long", "zqbegin" in one.page


@row("0.267", "a hostile text turns nothing round and breaks no line")
def hostile(desk: SeedDesk) -> Checks:
    one = desk.imported(only([{"type": "user", "content": "zqsafe\u202ezqturned"}], 0x2121))
    yield "text", "zqsafe" in one.page
    yield "no bare override", "\u202e" not in one.html or "<bdi" in one.html or "untrusted" in one.html
