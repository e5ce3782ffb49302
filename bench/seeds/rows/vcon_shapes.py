"""Seed 000: where a vCon may say the same thing otherwise: versions, names, bodies, parties, several traces."""

from __future__ import annotations

import base64
import copy
import gzip
import json
from functools import partial
from typing import Any

from ..desk import SeedDesk
from ..files import MESSAGES, PARTIES, document, seed, traced
from ..row import Checks, row
from .vcon_agents import OPUS, USED, VERBATIM, own, record_of, trace_of
from .vcon_traces import SAID, texts

STARTED = {"session-start": "2026-01-01T00:00:00Z", "session-end": "2026-01-01T00:10:00Z"}
SYNTAXES: dict[str, dict[str, Any]] = {
    "0.4.0": {"vcon": "0.4.0"},
    "0.3.0": {"vcon": "0.3.0"},
    "0.0.1": {"vcon": "0.0.1"},
    "no version": {"vcon": None},
}
SPEAKERS: tuple[tuple[str, list[dict[str, Any]]], ...] = (
    ("role and content", [{"role": "user", "content": "zqasked"}, {"role": "assistant", "content": "zqsaid"}]),
    ("type and content", [{"type": "user", "content": "zqasked"}, {"type": "assistant", "content": "zqsaid"}]),
    ("type and text", [{"type": "user", "text": "zqasked"}, {"type": "assistant", "text": "zqsaid"}]),
    ("kind and message", [{"kind": "user", "message": "zqasked"}, {"kind": "assistant", "message": "zqsaid"}]),
    ("human and ai", [{"role": "human", "content": "zqasked"}, {"role": "ai", "content": "zqsaid"}]),
    ("sender and text", [{"sender": "user", "text": "zqasked"}, {"sender": "assistant", "text": "zqsaid"}]),
    (
        "blocks of text",
        [
            {"role": "user", "content": [{"type": "text", "text": "zqasked"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "zqsaid"}]},
        ],
    ),
)
USAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("VAC", {"token-usage": {"input": 1000, "output": 100}}),
    ("snake_case", {"token_usage": {"input_tokens": 1000, "output_tokens": 100}}),
    ("Anthropic", {"usage": {"input_tokens": 1000, "output_tokens": 100}}),
    ("OpenAI", {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}),
    ("camelCase", {"tokenUsage": {"inputTokens": 1000, "outputTokens": 100}}),
    ("Gemini", {"usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": 100}}),
)
PARTY_MEMBERS = ("tel", "mailto", "sip", "did", "uuid", "role", "validation")


@row("0.208", "every version of the container is read")
def versions(desk: SeedDesk) -> Checks:
    for number, (name, member) in enumerate(SYNTAXES.items()):
        file = own(seed(), 0x1000 + number) | member
        yield name, texts(desk.imported({key: value for key, value in file.items() if value is not None})) == SAID


@row("0.209", "a trace is read whether or not the extension is declared, and the export declares it")
def declared(desk: SeedDesk) -> Checks:
    file = own(seed(), 0x1010)
    del file["extensions"]
    one = desk.imported(file)
    yield "read", texts(one) == SAID
    yield "declared on the way out", "agent_session" in one.export("vcon")["extensions"]


@row("0.210", "text of a message under each of its names")
def speakers(desk: SeedDesk) -> Checks:
    for number, (name, messages) in enumerate(SPEAKERS):
        yield f"{name}, seed's trace", texts(desk.imported(own(seed(messages), 0x1020 + number))) == SAID
        yield f"{name}, VAC", texts(desk.imported(own(traced(messages), 0x1040 + number))) == SAID


@row("0.211", "tokens of a message under each of their names")
def usages(desk: SeedDesk) -> Checks:
    for number, (name, usage) in enumerate(USAGES):
        one = desk.imported(own(traced([{"type": "assistant", "content": "x", **usage}]), 0x1060 + number))
        found = one.json["usage"]
        yield name, (found["input_tokens"], found["output_tokens"]) == (1000, 100)


@row("0.212", "cache and reasoning tokens are counted apart, and none twice")
def cache(desk: SeedDesk) -> Checks:
    usage = {"input": 1000, "output": 100, "cached": 400, "reasoning": 30}
    one = desk.imported(own(traced([USED | {"token-usage": usage}]), 0x1070))
    found = one.json["usage"]
    yield "reasoning", found["reasoning_tokens"] == 30
    yield "cache", found["cache_read_tokens"] == 400
    parts = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    yield "they add up", sum(found[part] or 0 for part in parts) == found["total_tokens"]


@row("0.213", "a cost that the file states is taken as recorded")
def recorded(desk: SeedDesk) -> Checks:
    usage = {"input": 1000, "output": 100, "cost": 0.25}
    one = desk.imported(own(traced([USED | {"token-usage": usage}]), 0x1071))
    yield "cost", one.json["cost"]["amount"] == "0.250000"
    yield "basis", one.json["cost"]["basis"] == "recorded"


@row("0.214", "provider and environment of the example are shown")
def provider(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 0x1072) | VERBATIM)
    for word in ("anthropic", "production", "claude-code"):
        yield word, word in one.about


@row("0.215", "provider, recording agent and environment leave in the vCon")
def party_leaves(desk: SeedDesk) -> Checks:
    parties = desk.imported(own(seed(), 0x1073) | VERBATIM).export("vcon")["parties"]
    yield (
        "the block as it came",
        VERBATIM["parties"][1]["meta"]["agent_session"]
        in [(party.get("meta") or {}).get("agent_session") for party in parties],
    )


@row("0.216", "an address of a party is shown and kept")
def addresses(desk: SeedDesk) -> Checks:
    parties = [PARTIES[0] | {name: f"zq{name}" for name in PARTY_MEMBERS}, *PARTIES[1:]]
    one = desk.imported(own(seed(), 0x1074) | {"parties": parties})
    for name in PARTY_MEMBERS:
        yield f"{name} on the page", f"zq{name}" in one.about
        yield f"{name} in the export", f"zq{name}" in one.written("vcon").decode()


@row("0.217", "the person of a session is the party that is no agent")
def person(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 0x1075))
    yield "name of the event", one.of_kind("user_message")[0]["actor"] == {"kind": "person", "name": "Ida"}
    yield "agent's name", one.of_kind("agent_message")[0]["actor"]["name"] == "Ada"


@row("0.219", "a trace that hangs at no dialog, or at several")
def hanging(desk: SeedDesk) -> Checks:
    for number, dialog in enumerate((None, [0], [])):
        file = own(seed(), 0x1080 + number)
        file["analysis"][0] |= {"dialog": dialog}
        file["analysis"][0] = {key: value for key, value in file["analysis"][0].items() if value is not None}
        yield str(dialog), texts(desk.imported(file)) == SAID


@row("0.220", "a vCon without a trace is a session of its dialog")
def dialog_only(desk: SeedDesk) -> Checks:
    file = own(seed(), 0x1084) | {"analysis": []}
    file["dialog"].append(file["dialog"][0] | {"originator": 1, "body": "zqsaid", "start": "2026-01-01T00:00:05Z"})
    one = desk.imported(file)
    yield "said", texts(one) == SAID
    yield "times", one.json["started_at"].startswith("2026-01-01T00:00:00")


@row("0.221", "what dialog and trace both say is there once")
def doubles(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 0x1085))
    yield "prompt", texts(one).count("zqasked") == 1
    yield "turns", one.json["turn_count"] == 1


@row("0.222", "start, end, working directory and branch of the trace")
def session_facts(desk: SeedDesk) -> Checks:
    environment = {"working-dir": "/zqdir", "vcs": {"type": "git", "revision": "zqrevision", "branch": "zqbranch2"}}
    one = desk.imported(own(traced([USED], environment=environment, **STARTED), 0x1086))
    yield "start", one.json["started_at"].startswith("2026-01-01T00:00:00")
    yield "end", one.json["ended_at"].startswith("2026-01-01T00:10:00")
    for word in ("/zqdir", "zqrevision", "zqbranch2"):
        yield word, word in one.about
    written = record_of(one.export("vcon"))["session"]
    yield "start leaves", written["session-start"].startswith("2026-01-01T00:00:00")
    yield "environment leaves", "zqrevision" in json.dumps(written)


@row("0.223", "the session id of the trace is the session's own")
def ids(desk: SeedDesk) -> Checks:
    one = desk.imported(own(traced([USED]), 0x1087))
    yield "external_id", one.json["external_id"] == f"s{0x1087}"
    yield "leaves", record_of(one.export("vcon"))["session"]["session-id"] == f"s{0x1087}"


@row("0.224", "a subject is the title")
def subject(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 0x1088) | {"subject": "zqsubject"})
    yield "API", one.json["title"] == "zqsubject"
    yield "page", "zqsubject" in one.page
    yield "leaves", one.export("vcon")["subject"] == "zqsubject"


@row("0.225", "two agents of one conversation speak under their names")
def two_agents(desk: SeedDesk) -> Checks:
    entries = [{"type": "assistant", "content": "zqone", "agent-id": "Ada"},
               {"type": "assistant", "content": "zqtwo", "agent-id": "Sub"}]  # fmt: skip
    said = desk.imported(own(traced(entries), 0x1089)).of_kind("agent_message")
    yield "texts", [event["text"] for event in said] == ["zqone", "zqtwo"]
    yield "names", len({event["actor"]["name"] for event in said}) == 2


@row("0.226", "a body that cannot be read is a finding, and the rest is there")
def broken(desk: SeedDesk) -> Checks:
    file = own(seed(), 0x1090)
    file["analysis"][0]["body"] = "{not json"
    taken = desk.taken(file)
    yield "done", taken["status"] == "done"
    yield "said where", any("/analysis/0" in finding["path"] for finding in taken["findings"])
    yield "the dialog", "zqasked" in desk.imported(file).page


@row("0.227", "a packed file, one with a byte order mark, and one in a list are read")
def wrapped(desk: SeedDesk) -> Checks:
    packed = gzip.compress(json.dumps(own(seed(), 0x1091)).encode())
    yield "gzip", texts(desk.imported(packed, "zq.vcon.json.gz")) == SAID
    marked = b"\xef\xbb\xbf" + json.dumps(own(seed(), 0x1092)).encode()
    yield "byte order mark", texts(desk.imported(marked)) == SAID


@row("0.228", "no file is refused without saying which value and what now")
def refused(desk: SeedDesk) -> Checks:
    for name, data in (("nothing", b""), ("half", json.dumps(seed()).encode()[:300]), ("no object", b"[1, 2]")):
        found = desk.taken(data, f"zq{name}.json")
        yield name, found["status"] == "failed" and len(found["error"] or "") > 20


def _same_words(number: int, mediatype: str, encoding: str, desk: SeedDesk) -> Checks:
    body = json.loads(seed()["analysis"][0]["body"])
    packed = base64.urlsafe_b64encode(json.dumps(body).encode()).decode().rstrip("=")
    given = {"json": body, "none": json.dumps(body), "base64url": packed}[encoding]
    file = own(seed(), number)
    file["analysis"][0] |= {"encoding": encoding, "body": given, "mediatype": mediatype}
    one = desk.imported(file)
    yield "texts", texts(one) == SAID
    again = desk.imported(one.export("vcon", bodies="string"), "again.json")
    yield "and back", texts(again) == SAID


for _place, _encoding in enumerate(("json", "none", "base64url")):
    _check = partial(_same_words, 0x10A0 + _place, "application/json", _encoding)
    row(f"0.{229 + _place}", f"a trace with encoding {_encoding} comes in, and back")(_check)


@row("0.232", "dialects of a record: as VAC, wrapped as an adapter does; what is none is said")
def dialects(desk: SeedDesk) -> Checks:
    entries = [{"type": "user", "content": "zqasked"}, {"type": "assistant", "content": "zqsaid"}]
    session = {"session-id": "s", "entries": entries}
    bodies = {
        "VAC": {"id": "r", "version": "1", "session": session},
        "wrapped": {"verifiable-agent-record": {"id": "r", "session-trace": session}},
        "snake_case": {"id": "r", "session": {"session_id": "s", "entries": entries}},
        "messages": {"session_trace": {"messages": entries}},
    }
    for number, (name, body) in enumerate(bodies.items()):
        yield name, texts(desk.imported(own(document(copy.deepcopy(body)), 0x10B0 + number))) == SAID
    for number, body in enumerate(({"messages": entries}, entries, session)):
        taken = desk.taken(own(document(copy.deepcopy(body)), 0x10B8 + number))
        yield f"bare {number}: said in words", "none of the known shapes" in str(taken["findings"])


@row("0.233", "product and vendor of the trace are shown and leave as they came")
def vendor(desk: SeedDesk) -> Checks:
    file = own(seed(), 0x10C0)
    file["analysis"][0] |= {"vendor": "zqvendor2", "product": "zqproduct2"}
    one = desk.imported(file)
    for word in ("zqvendor2", "zqproduct2"):
        yield f"{word} on the page", word in one.about
    written = trace_of(one.export("vcon"))
    yield "vendor leaves", written["vendor"] == "zqvendor2"
    yield "product leaves", "zqproduct2" in json.dumps(written)


@row("0.234", "messages with tool calls in the seed's two lists: paired, counted, in order")
def two_lists(desk: SeedDesk) -> Checks:
    calls = [{"id": "c1", "name": "zqtool", "input": {"a": 1}, "result": "zqresult",
              "timestamp": "2026-01-01T00:00:03Z"}]  # fmt: skip
    timed = [message | {"timestamp": f"2026-01-01T00:00:0{1 + 4 * n}Z"} for n, message in enumerate(MESSAGES)]
    one = desk.imported(own(document({"session_trace": {"messages": timed, "tool_calls": calls}}), 0x10C1))
    yield "kinds", [event["kind"] for event in one.events if event["at"]] == [
        "user_message", "tool_call", "tool_result", "agent_message"
    ]  # fmt: skip
    yield "calls", one.json["tool_call_count"] == 1
    yield "result on the page", "zqresult" in one.page
    yield "model", one.json["models"] == [OPUS]
