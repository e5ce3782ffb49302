"""Long values that a reader leaves in the original leave again with an export, unless something was taken out."""

from __future__ import annotations

import copy
import json

from sessions_app.models import Session
from tests.formats.vcon.clean import CLEAN
from vcon_app.drafts import Losses
from vcon_app.services.exports import export_jobs, writing
from vcon_app.services.exports.job import new_job

from .test_same_record import exported

LONG = "QUJD" * 100_000
"""Of a recording, as base64url."""


def session_of(import_document) -> Session:
    file = copy.deepcopy(CLEAN)
    file["dialog"].append(
        {"type": "recording", "start": "2026-04-01T09:00:00Z", "parties": [0], "mediatype": "audio/wav",
         "encoding": "base64url", "body": LONG},
    )  # fmt: skip
    file["analysis"].append({"type": "wtf_transcription", "vendor": "v", "dialog": 0, "encoding": "json",
                             "body": {"transcript": {"text": "words " * 60_000}}})  # fmt: skip
    return Session.objects.get(import_links__imported=import_document(file))


def test_a_recording_and_a_transcription_too_long_to_be_kept_leave_from_the_original(import_document):
    session = session_of(import_document)
    written = exported()
    (recording,) = [one for one in written["dialog"] if one["type"] == "recording"]
    (transcription,) = [one for one in written["analysis"] if one["type"] == "wtf_transcription"]
    assert recording["body"] == LONG and len(transcription["body"]["transcript"]["text"]) == 360_000
    told = {row["what"] for row in export_jobs.report(session, "vcon")}
    assert not told & {"long strings", "body of a dialog", "body of a analysis"}
    assert "body" not in json.loads(exported_shared(session))["dialog"][-1]


def exported_shared(session: Session) -> bytes:
    """As a writer is asked that may not look at the original: for a redaction, or a shared page."""
    job = new_job(session, "vcon", {})
    return b"".join(writing._written(job, job.writer, Losses(), writing.writer_options(job)))
