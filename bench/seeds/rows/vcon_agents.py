"""Seed 000: who the agent is, which model it ran on and where, on the page, in prices and in what goes out."""

from __future__ import annotations

import json
from typing import Any

from ..desk import SeedDesk
from ..files import PARTIES, seed, traced
from ..row import Checks, row

USED: dict[str, Any] = {"type": "assistant", "content": "zqx", "token-usage": {"input": 1000, "output": 100}}
OPUS = "claude-opus-4-7"
VERBATIM: dict[str, Any] = {
    "parties": [
        {"name": "Customer", "role": "customer"},
        {"name": "Claude", "role": "agent", "meta": {"agent_session": {
            "model_id": OPUS, "provider": "anthropic", "recording_agent": "claude-code/1.5.0",
            "environment": "production"}}},
    ],
}  # fmt: skip


def own(file: dict[str, Any], number: int) -> dict[str, Any]:
    """The same file as another vCon: two with one uuid, or one session id, are one session."""
    other = json.loads(json.dumps(file).replace(r"\"session-id\": \"s\"", rf"\"session-id\": \"s{number}\""))
    return other | {"uuid": f"0199d2aa-4c00-8b1e-9f3c-5a1d0e7b{number:04x}"}


def trace_of(exported: dict[str, Any]) -> dict[str, Any]:
    """The agent trace of a written vCon."""
    return next(one for one in exported["analysis"] if one["type"] == "agent_trace")


def record_of(exported: dict[str, Any]) -> dict[str, Any]:
    body = trace_of(exported)["body"]
    return json.loads(body) if isinstance(body, str) else body


@row("0.201", "an agent is a party with role agent")
def party(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 1))
    yield "agent of the session", one.json["agent"]["name"] == "Ada"
    yield "role in the export", any(p.get("role") == "agent" for p in one.export("vcon")["parties"])


@row("0.5", "meta.agent_session.model_id is shown")
def model_shown(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 5) | VERBATIM)
    yield "API models", one.json["models"] == [OPUS]
    yield "page", OPUS in one.page


@row("0.6", "model_id prices entries that name no model")
def model_prices(desk: SeedDesk) -> Checks:
    one = desk.imported(own(traced([USED]), 6))
    yield "tokens", one.json["usage"]["total_tokens"] == 1100
    yield "priced", one.json["cost"]["basis"] == "priced" and not one.json["cost"]["unpriced_tokens"]


@row("0.8", "model_id, provider and product leave in the trace")
def model_leaves(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 8) | VERBATIM)
    exported = one.export("vcon")
    meta = record_of(exported)["session"]["agent-meta"]
    yield "model-id", meta["model-id"] == OPUS
    yield "product", trace_of(exported)["product"] == OPUS
    yield "VAC", OPUS in one.written("vac").decode()


@row("0.10", "provider leaves in the trace")
def provider(desk: SeedDesk) -> Checks:
    exported = desk.imported(own(seed(), 10)).export("vcon")
    yield "model-provider", record_of(exported)["session"]["agent-meta"]["model-provider"] == "anthropic"
    yield "vendor", trace_of(exported)["vendor"] == "anthropic"


@row("0.11", "recording_agent is shown, also beside one of the trace")
def recorder(desk: SeedDesk) -> Checks:
    one = desk.imported(own(traced([USED], {"recording-agent": "other/1"}), 11))
    yield "that of the trace", "other" in one.about
    yield "that of the party", "zqrecorder/9.8.7" in one.about
    yield "searchable", "zqrecorder" in desk.page(f"/sessions/{one.id}/file-parts?q=zqrecorder")


@row("0.13", "recording_agent leaves in VAC and llmfeed")
def recorder_leaves(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 13))
    yield "VAC", "zqrecorder" in one.written("vac").decode()
    yield "llmfeed", "zqrecorder" in one.written("llmfeed").decode()


@row("0.15", "environment of the party is shown: cwd, branch, the rest")
def environment(desk: SeedDesk) -> Checks:
    one = desk.imported(own(traced([USED], environment={"cwd": "/zqtrace"}), 15))
    for word in ("/zq/cwd", "zqbranch", "zqother", "/zqtrace"):
        yield word, word in one.about


@row("0.16", "environment of a second agent is shown")
def second(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 16))
    yield "page", "zqsecond" in one.about
    yield "vCon", "zqsecond" in one.written("vcon").decode()


@row("0.19", "unknown members of meta.agent_session, and other meta (0.20), are shown and kept")
def unknown_meta(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 19))
    for word in ("zqodd", "zqmeta"):
        yield f"{word} on the page", word in one.about
        yield f"{word} in the export", word in one.written("vcon").decode()


@row("0.23", "stir, gmlpos, civicaddress, org, timezone and other details of a party are shown and kept")
def details(desk: SeedDesk) -> Checks:
    parties = [PARTIES[0] | {"gmlpos": "zqgml", "civicaddress": {"country": "zqcountry"}, "dept": "zqdept",
                             "contact_list": "zqlist", "jCard": ["vcard", [["fn", {}, "text", "zqcard"]]]},
               *PARTIES[1:]]  # fmt: skip
    one = desk.imported(own(seed(), 23) | {"parties": parties})
    for word in ("zqstir", "zqgml", "zqcountry", "zqorg", "zqdept", "zqlist", "zqzone", "zqcard"):
        yield f"{word} on the page", word in one.about
        yield f"{word} in the export", word in one.written("vcon").decode()


@row("0.26", "vendor and product identify the agent where no party does")
def product(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(), 26) | {"parties": PARTIES[:1]})
    yield "models", one.json["models"] == [OPUS]
    yield "leaves", trace_of(one.export("vcon"))["product"] == OPUS


@row("0.27", "schema identifies the trace format, is shown and leaves again")
def schema(desk: SeedDesk) -> Checks:
    same = desk.imported(own(traced([USED]), 27))
    yield "shown", "https://example.org/zqschema" in same.about
    yield "kept for a record of the same shape", trace_of(same.export("vcon"))["schema"].endswith("/zqschema")
    other = desk.imported(own(seed(), 0x127))
    yield "said where the shape changes", "zqschema" in other.lost("vcon")
    yield "kept where the shape changes", "zqschema" in other.written("vcon").decode()


@row("0.31", "a body in JWE: the session says that it cannot be read")
def sealed(desk: SeedDesk) -> Checks:
    file = own(seed(), 31)
    file["analysis"][0] |= {"encoding": "jwe", "body": {"ciphertext": "AAAA", "iv": "AAAA", "tag": "AAAA",
                                                        "protected": "eyJhbGciOiJub25lIn0"}}  # fmt: skip
    one = desk.imported(file)
    yield "in the state of the signature", "encrypted" in one.json["signature"]["detail"]
    yield "on the page", "are encrypted and cannot be read here" in one.page
    yield "in the facts", "not known here" in one.about


@row("0.56", "the model of a sub-agent is among the models, also without usage")
def sub_agent_model(desk: SeedDesk) -> Checks:
    entries = [USED | {"model-id": OPUS},
               {"type": "tool-call", "call-id": "c1", "name": "Task", "input": {},
                "children": [{"type": "assistant", "content": "zqsub", "model-id": "claude-haiku-4-5"}]},
               {"type": "tool-result", "call-id": "c1", "output": "done"}]  # fmt: skip
    one = desk.imported(own(traced(entries), 56))
    yield "models", set(one.json["models"]) == {OPUS, "claude-haiku-4-5"}
    yield "page", "claude-haiku-4-5" in one.about


@row("0.57", "session format, sandboxes, record id and version are shown")
def record_members(desk: SeedDesk) -> Checks:
    record = {"version": "zqversion", "created": "2026-01-01T00:00:00Z", "vcs": {"type": "git", "branch": "zqvcs"}}
    one = desk.imported(own(traced([USED], record, sandboxes=["zqbox"], format="zqformat"), 57))
    for word in ("zqversion", "zqbox", "zqformat", "zqvcs", "zqrecord"):
        yield word, word in one.about
