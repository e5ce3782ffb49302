"""Seed 000: attachments, analyses and other parts of a vCon, seen and taken away."""

from __future__ import annotations

import base64
from typing import Any

from ..desk import SeedDesk
from ..files import CHANGE, seed, traced
from ..row import Checks, row
from .vcon_agents import own

PNG = base64.b64encode(base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)).decode()  # fmt: skip
ARTIFACT: dict[str, Any] = {
    "purpose": "agent_artifact", "start": "2026-01-01T00:00:00Z", "party": 2, "dialog": 0, "filename": "zqreport.png",
    "mediatype": "image/png", "encoding": "base64url", "body": PNG.replace("+", "-").replace("/", "_").rstrip("="),
}  # fmt: skip
SOUND = {"type": "recording", "start": "2026-01-01T00:00:01Z", "duration": 1, "parties": [0, 1], "originator": 0,
         "mediatype": "audio/wav", "encoding": "base64url", "filename": "zqsound.wav",
         "body": base64.urlsafe_b64encode(b"RIFF$\0\0\0WAVEfmt " + bytes(60)).decode().rstrip("=")}  # fmt: skip


@row("0.52", "an image in a message is seen")
def image(desk: SeedDesk) -> Checks:
    content = [{"type": "text", "text": "zqlook"},
               {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}]  # fmt: skip
    one = desk.imported(own(traced([{"type": "user", "content": content}]), 52))
    yield "the text", "zqlook" in one.page
    yield "an image element or its place", "/media" in one.html


@row("0.62", "a file change says which file and what was done; a diff is a diff")
def change(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(attachments=[CHANGE]), 62))
    yield "path in the row", "src/zq.py" in one.page
    yield "operation in the row", "created" in one.page
    yield "a diff", "diff" in one.html


@row("0.64", "an artifact says its name, is played or taken away (0.65), and who made it (0.70)")
def artifact(desk: SeedDesk) -> Checks:
    file = own(seed(attachments=[ARTIFACT]), 64)
    one = desk.imported(file | {"dialog": [*file["dialog"], SOUND]})
    yield "name", "zqreport.png" in one.page
    yield "maker", any(event["actor"]["name"] == "Sub" for event in one.of_kind("artifact"))
    pictures = [event for event in one.events if "zqreport" in str(event["data"])]
    yield "a place for the image", pictures and "/media" in one.html
    if pictures:
        yield "download", "download" in desk.html(f"{one.path}/events/{pictures[0]['seq']}/media")
    sounds = [event for event in one.events if "zqsound" in str(event["data"])]
    yield "sound", sounds and "<audio" in desk.html(f"{one.path}/events/{sounds[0]['seq']}/media")


@row("0.205", "a snapshot of the environment is shown and leaves")
def snapshot(desk: SeedDesk) -> Checks:
    item = {"purpose": "agent_environment", "start": "2026-01-01T00:00:00Z", "party": 1, "dialog": 0,
            "mediatype": "application/json", "encoding": "json", "body": {"os": "zqsystem"}}  # fmt: skip
    one = desk.imported(own(seed(attachments=[item]), 68))
    yield "page", "zqsystem" in one.about
    yield "vCon", "zqsystem" in one.written("vcon").decode()


@row("0.78", "unknown members at the top are shown and kept")
def top(desk: SeedDesk) -> Checks:
    one = desk.imported(own(seed(zqtop={"a": "zqvalue"}), 78))
    yield "page", "zqvalue" in one.about
    yield "vCon", "zqvalue" in one.written("vcon").decode()
    yield "said", "zqtop" in str(one.file)


@row("0.80", "a lawful basis is shown with registry and proof; a denied redistribution is asked about (0.81)")
def basis(desk: SeedDesk) -> Checks:
    body = {"lawful_basis": "consent", "expiration": "2030-01-01T00:00:00Z",
            "purpose_grants": [{"purpose": "redistribution", "granted": False, "granted_at": "2026-01-01T00:00:00Z"}],
            "registry": {"type": "scitt", "url": "https://example.org/zqregistry"},
            "proof_mechanisms": [{"proof_type": "external_system", "timestamp": "2026-01-01T00:00:00Z",
                                  "proof_data": {"note": "zqproof"}}], "metadata": {"zq": "zqmetadata"}}  # fmt: skip
    item = {"purpose": "lawful_basis", "start": "2026-01-01T00:00:00Z", "party": 0, "dialog": 0,
            "mediatype": "application/json", "encoding": "json", "body": body}  # fmt: skip
    one = desk.imported(own(seed(attachments=[item], extensions=["agent_session", "lawful_basis"]), 80))
    for word in ("zqregistry", "zqproof", "zqmetadata"):
        yield word, word in one.about
    report = desk.call(f"/api/v1/sessions/{one.id}/export/report?format=vcon")
    yield "denied in the report", report["redistribution"] in ("denied", "missing")
    from bench.drills.desk import Refused

    try:
        one.written("vcon", redistribution="check")
        yield "refused when asked about", False
    except Refused as refused:
        yield "refused when asked about", refused.status == 409
    one.written("vcon", redistribution="confirmed")
    yield "in the audit", "redistribution" in str(desk.call("/api/v1/audit?limit=50"))


@row("0.84", "a signature covers what was signed: nobody adds to such a session")
def signature(desk: SeedDesk) -> Checks:
    from bench.drills.desk import Refused

    signed = desk.imported(own(seed(), 84)).written("vcon", signed="true")
    one = desk.imported(signed, "signed.vcon")
    yield "valid", one.json["signature"]["state"] == "valid"
    event = {"client_id": "zq", "kind": "agent_message", "text": "zqforged",
             "actor": {"kind": "agent", "name": "Ada"}}  # fmt: skip
    for path, body in (
        (f"/api/v1/sessions/{one.id}/events", {"events": [event]}),
        (f"{one.rest}/messages", {"text": "zqforged"}),
    ):
        try:
            desk.call(path, body)
            yield f"refused: {path.rsplit('/', 1)[1]}", False
        except Refused as refused:
            yield f"refused: {path.rsplit('/', 1)[1]}", refused.status == 409
    yield "what it covers", one.json["signature"]["covers"]


@row("0.86", "what happened to a record can be proved: the audit chain verifies")
def lifecycle(desk: SeedDesk) -> Checks:
    yield "audit", "intact" in (said := desk.manage("audit", "verify")) or "verif" in said or "ok" in said


@row("0.88", "other analyses are shown with their content")
def analyses(desk: SeedDesk) -> Checks:
    file = own(seed(), 88)
    file["analysis"].append({"type": "sentiment", "dialog": 0, "vendor": "zqvendor", "filename": "zqname",
                             "encoding": "json", "body": {"mood": "zqmood"}})  # fmt: skip
    one = desk.imported(file)
    for word in ("zqmood", "zqvendor", "zqname"):
        yield word, word in one.about
    yield "found", "zqmood" in desk.page(f"/sessions/{one.id}/file-parts?q=zqmood")
    yield "kept", "zqmood" in one.written("vcon").decode()
