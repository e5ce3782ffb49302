"""Seed 000: what goes out again, as the same record or as one that says what it was made from."""

from __future__ import annotations

import json

from ..desk import SeedDesk
from ..files import seed, traced
from ..row import Checks, row
from .vcon_agents import OPUS, USED, own

FAITHFUL = [{"type": "user", "content": "zqasked"}, USED | {"model-id": OPUS}]


@row("0.77", "uuid, created_at and updated_at of the same record survive; a derived one says from what")
def identity(desk: SeedDesk) -> Checks:
    file = own(traced(FAITHFUL), 77) | {"updated_at": "2026-01-02T00:00:00Z"}
    one = desk.imported(file)
    written = one.export("vcon")
    for name in ("uuid", "created_at", "updated_at"):
        yield name, written.get(name) == file[name]
    yield "once more", one.export("vcon")["uuid"] == file["uuid"]
    other = desk.imported(own(seed(), 0x177))
    derived = other.export("vcon")
    yield "a derived one has a uuid of its own", derived["uuid"] != other.json["metadata"]["vcon"]["uuid"]
    yield "and says from what", derived["amended"]["uuid"] == other.json["metadata"]["vcon"]["uuid"]
    yield "a choice makes another", one.export("vcon", children="true", bodies="string")["uuid"] != file["uuid"]


@row("0.206", "VAC of the session, and its original to the byte")
def other_forms(desk: SeedDesk) -> Checks:
    file = own(seed(), 93)
    one = desk.imported(file)
    yield "VAC", "zqsaid" in one.written("vac").decode()
    yield "original", json.loads(one.written("original")) == file
    for format in ("markdown", "html", "jsonl", "llmfeed"):
        yield format, "zqsaid" in one.written(format).decode()


@row("0.94", "llmfeed names each part of the vCon that it has no place for")
def named_losses(desk: SeedDesk) -> Checks:
    file = own(seed(zqtop={"a": "zqvalue"}), 94)
    file["analysis"].append({"type": "sentiment", "vendor": "v", "encoding": "json", "body": {"mood": "zqmood"}})
    lost = desk.imported(file).lost("llmfeed")
    for word in ("zqtop", "sentiment", "stir"):
        yield word, word in lost


@row("0.207", "a rebuilt vCon comes back as the same events")
def again(desk: SeedDesk) -> Checks:
    one = desk.imported(own(traced(FAITHFUL), 95))
    back = desk.imported(one.export("vcon", bodies="string"), "again.json")
    same = ("kind", "text", "at", "usage", "model")
    yield "events", [[e[k] for k in same] for e in one.events] == [[e[k] for k in same] for e in back.events]
