"""Rows of the seeds tried again on what readers and writers make of files of our own: works, partly or missing.

Those of 000 to 002 that a file alone can tell, without a desk; ``python -m bench.seeds.rows`` prints them before the
rows that it tries on a running one.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from vcon_app.drafts import EventDraft, Losses, SessionDraft
from vcon_app.formats import llmfeed, upg, vcon
from vcon_app.formats.file_parts import parts_of

from .files import CHANGE, FEED, MESSAGES, MISSED, PARTIES, document, run, seed, traced


def read(reader: Any, file: dict[str, Any]) -> tuple[SessionDraft, list[EventDraft]]:
    drafts = list(reader.read(io.BytesIO(json.dumps(file).encode())))
    draft = next(one for one in drafts if isinstance(one, SessionDraft))
    return draft, [one for one in drafts if isinstance(one, EventDraft)]


def shown(reader: Any, file: dict[str, Any]) -> str:
    """Values of the part of a file that became no event."""
    draft, _ = read(reader, file)
    return "\n".join(value.text for part in parts_of(reader.SPEC.name, draft.record) for value in part.values)


def agent_meta(file: dict[str, Any]) -> tuple[Any, ...]:
    """Model, provider and product that a vCon written from this one names."""
    draft, events = read(vcon, file)
    options = {"uuid": file["uuid"], "created_at": datetime(2026, 1, 1, tzinfo=UTC)}
    made = json.loads(b"".join(vcon.write(draft, events, Losses(), options=options)))["analysis"][0]
    meta = made["body"]["session"]["agent-meta"]
    return meta["model-id"], meta["model-provider"], made["product"]


def spoken(file: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in read(vcon, file)[1]]


TALK = [("user_message", "zqasked"), ("agent_message", "zqsaid")]
USED = {"type": "assistant", "content": "x", "token-usage": {"input": 1000, "output": 100}}
TIMES = {"session_start": "2026-03-01T10:00:00Z", "session_end": "2026-03-01T11:00:00Z"}
DATED = {"id": "d", "type": "decision", "title": "D", "properties": {"date": "2026-02-01"}}


def _tokens(file: dict[str, Any]) -> tuple[Any, ...]:
    used = [event for event in read(vcon, file)[1] if event.usage]
    return tuple((event.model, event.usage.input_tokens, event.usage.output_tokens) for event in used if event.usage)


def _has(reader: Any, file: dict[str, Any], *words: str) -> list[str]:
    text = shown(reader, file)
    return [word for word in words if word not in text]


ONE = (("claude-opus-4-7", 1000, 100),)
ROWS: dict[str, tuple[Callable[[], Any], Any]] = {
    "0.5 model of the party shown": (lambda: read(vcon, seed())[0].model, "claude-opus-4-7"),
    "0.6 model of the party prices": (lambda: _tokens(traced([USED])), ONE),
    "0.8 model, provider and product leave": (
        lambda: agent_meta(seed()),
        ("claude-opus-4-7", "anthropic", "claude-opus-4-7"),
    ),
    "0.11 recording agent of the party beside that of the trace": (
        lambda: _has(vcon, traced([USED], {"recording-agent": "other/1"}), "zqrecorder/9.8.7"),
        [],
    ),
    "0.15 environment of the party": (
        lambda: _has(vcon, traced([USED], environment={"cwd": "/x"}), "/zq/cwd", "zqbranch"),
        [],
    ),
    "0.16 environment of a second agent": (lambda: _has(vcon, seed(), "zqsecond"), []),
    "0.19 unknown members of meta.agent_session": (lambda: _has(vcon, seed(), "zqodd"), []),
    "0.20 other meta of a party": (lambda: _has(vcon, seed(), "zqmeta"), []),
    "0.23 details of parties": (lambda: _has(vcon, seed(), "zqstir", "zqorg", "zqzone"), []),
    "0.26 product and vendor speak where no party does": (
        lambda: read(vcon, seed(parties=PARTIES[:1]))[0].model,
        "claude-opus-4-7",
    ),
    "0.27 schema shown": (lambda: _has(vcon, seed(), "https://example.org/zqschema"), []),
    "0.34 duration of a call of the adapter": (
        lambda: read(
            vcon,
            document(
                {
                    "verifiable-agent-record": {
                        "session-trace": {
                            "entries": [
                                {"kind": "tool_call", "tool-use-id": "c", "tool-name": "t", "tool-input": {}},
                                {"kind": "tool_result", "tool-use-id": "c", "tool-output": "ok", "duration-ms": 12},
                            ]
                        }
                    }
                }
            ),
        )[1][-1].data.get("duration_ms"),
        12,
    ),
    "0.36 messages of the seed with text and usage": (lambda: (spoken(seed()), _tokens(seed())), (TALK, ONE)),
    "0.37 messages of a record with text": (lambda: spoken(traced(MESSAGES))[:2], TALK),
    "0.39 token_usage and model_id of a message": (
        lambda: _tokens(
            traced(
                [
                    {
                        "type": "assistant",
                        "text": "x",
                        "model_id": "claude-haiku-4-5",
                        "token_usage": {"input_tokens": 7, "output_tokens": 8},
                    }
                ]
            )
        ),
        (("claude-haiku-4-5", 7, 8),),
    ),
    "0.57 record id and sandboxes": (lambda: _has(vcon, traced([USED], sandboxes=["zqbox"]), "zqrecord", "zqbox"), []),
    "0.59 a missed call is no crash": (
        lambda: (
            read(vcon, traced([USED, {"type": "system-event", "event-type": "session-end"}]) | {"dialog": [MISSED]})[
                0
            ].phase
        ),
        "completed",
    ),
    "0.62 path and operation of a changed file": (
        lambda: [
            (event.data["path"], event.data["operation"])
            for event in read(vcon, seed(attachments=[CHANGE]))[1]
            if event.kind == "file_change"
        ],
        [("src/zq.py", "created")],
    ),
    "0.78 unknown members at the top": (lambda: _has(vcon, seed(zqtop={"a": "zqvalue"}), "zqvalue"), []),
    "0.88 bodies of other analyses": (
        lambda: _has(
            vcon,
            (file := seed())
            | {"analysis": [*file["analysis"], {"type": "sentiment", "encoding": "json", "body": {"mood": "zqmood"}}]},
            "zqmood",
        ),
        [],
    ),
    "1.2 a decision moves no start": (
        lambda: [event.at for event in read(upg, run(TIMES, DATED))[1] if event.kind == "note"],
        [None],
    ),
    "1.4 stated turns and errors": (
        lambda: {
            name: read(upg, run({"turns": 917, "error_count": 613}))[0].metadata["upg"][name]
            for name in ("turns", "error_count")
        },
        {"turns": 917, "error_count": 613},
    ),
    "1.17 aliases shown": (lambda: _has(upg, run({}), "zqalias"), []),
    "2.12 outcome and reason of a decision": (
        lambda: [
            (event.data["decision"].get("rejected"), event.data["decision"].get("reason"))
            for event in read(llmfeed, FEED)[1]
            if event.kind == "note"
        ],
        [(True, "zqreason")],
    ),
    "2.16 an output of type message is the agent's": (
        lambda: [event.text for event in read(llmfeed, FEED)[1] if event.kind == "agent_message"],
        ["zqmessage"],
    ),
    "2.17 the base64 of an image is no text": (
        lambda: [event.text for event in read(llmfeed, FEED)[1] if event.data.get("mediatype") == "image/png"],
        [""],
    ),
    "2.28 the goal of the context": (lambda: _has(llmfeed, FEED, "zqgoal"), []),
}


def state_of(check: Callable[[], Any], wanted: Any) -> str:
    """``works``; ``partly`` where some of what is wanted is there; ``missing``."""
    found = check()
    if found == wanted:
        return "works"
    some = (
        isinstance(found, (list, tuple))
        and isinstance(wanted, (list, tuple))
        and set(map(str, found)) & set(map(str, wanted))
    )
    return "partly" if some else "missing"


def main() -> int:
    states = {name: state_of(*row) for name, row in ROWS.items()}
    for name, state in states.items():
        print(f"{state:8}{name}")
    counts = {word: list(states.values()).count(word) for word in ("works", "partly", "missing")}
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 0 if counts["works"] == len(states) else 1


if __name__ == "__main__":
    sys.exit(main())
