"""Checkpoints are taken out of the database: into a file beside the documents, to a time-stamping authority, a witness.

Each step is done once and tried again until it is; what is left to do stands in the row, not in a message.
"""

from __future__ import annotations

import base64
import fcntl
import json
import logging
import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx2
from django.conf import settings
from django.utils import timezone

from sessions_app.models import Checkpoint, CheckpointPublication

from ..documents import storage
from ..trust import own_keys
from .timestamps import BadStamp, NotStamped, stamp

log = logging.getLogger(__name__)
AT_ONCE = 200
CLAIMED_FOR = timedelta(minutes=2)
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=30), timedelta(hours=1)
SECONDS = 15


class NotTaken(Exception):
    """A witness did not take a checkpoint; the message says why."""


def file_name(number: int) -> str:
    """Name of a checkpoint's file: a thousand to a folder."""
    return f"{number // 1_000:06}/{number:09}.json"


def number_of(name: str) -> int | None:
    """The checkpoint that a file is of; None for what is no checkpoint's file."""
    stem, dot, suffix = name.rpartition("/")[2].partition(".")
    return int(stem) if dot and suffix == "json" and stem.isdecimal() else None


def publish_due() -> int:
    """Do what is left to be done of the checkpoints, the oldest first; how many were seen to."""
    now = timezone.now()
    due = CheckpointPublication.objects.filter(next_try_at__lte=now).order_by("pk").values_list("pk", flat=True)
    numbers = list(due[:AT_ONCE])
    for number in numbers:
        # Compare-and-set: of two workers at once one has it, and what a killed one left is due again in two minutes.
        claimed = CheckpointPublication.objects.filter(pk=number, next_try_at__lte=now)
        if claimed.update(next_try_at=now + CLAIMED_FOR):
            _publish(CheckpointPublication.objects.select_related("checkpoint").get(pk=number))
    return len(numbers)


def _publish(publication: CheckpointPublication) -> None:
    faults = []
    for step in (_store, _stamp, _witness):
        try:
            step(publication)
        except (OSError, NotStamped, BadStamp, NotTaken) as fault:
            faults.append(str(fault) or type(fault).__name__)
    publication.fault = "; ".join(faults)
    publication.failures = publication.failures + 1 if faults else 0
    wait = min(FIRST_WAIT * 2 ** min(publication.failures, 10), LONGEST_WAIT)
    publication.next_try_at = timezone.now() + wait if faults else None
    publication.save()
    if faults:
        log.warning("checkpoint %s is not everywhere yet: %s", publication.pk, publication.fault)


def _store(publication: CheckpointPublication) -> None:
    """Write the file. One that is there already stays: who could write over it could rewrite what it proves."""
    if publication.stored_at:
        return
    kept, name = storage.of_checkpoints(), file_name(publication.pk)
    if not kept.exists(name):
        _write(kept, name, json.dumps(document_of(publication.checkpoint)).encode())
    publication.stored_at = timezone.now()


def _stamp(publication: CheckpointPublication) -> None:
    if publication.timestamp_token is not None or not settings.TIMESTAMP_URL:
        return
    token, at = stamp(settings.TIMESTAMP_URL, publication.checkpoint.header.encode())
    _write(storage.of_checkpoints(), f"{file_name(publication.pk).removesuffix('.json')}.tsr", token)
    publication.timestamp_token, publication.timestamped_at = token, at


def _witness(publication: CheckpointPublication) -> None:
    if publication.witnessed_at or not settings.WITNESS:
        return
    said = statement_of(publication.checkpoint)
    path = witness_file()
    if path:
        _append_line(path, json.dumps(said))
    else:
        _post(settings.WITNESS, said)
    publication.witnessed_at = timezone.now()


def witness_file() -> Path | None:
    """The file that checkpoints are appended to, where the witness is one."""
    parts = urlsplit(settings.WITNESS or "")
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def statement_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """What a witness is given: enough to prove later that this header was signed, and nothing of what it covers."""
    return {"header": checkpoint.header, "hash": checkpoint.hash, "signature": checkpoint.signature}


def document_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """The file of a checkpoint: its statement, the key that signed it, and every head."""
    heads = checkpoint.heads.order_by("position").values_list("kind", "chain_id", "seq", "hash")
    return statement_of(checkpoint) | {
        "key": own_keys.signer().public_pem.decode(),
        "heads": [[kind, str(chain), seq, hash_] for kind, chain, seq, hash_ in heads],
    }


def _write(kept: storage.Storage, name: str, content: bytes) -> None:
    with storage.incoming(kept) as incoming:
        incoming.file.write(content)
        incoming.keep(name)


def _append_line(path: Path, line: str) -> None:
    """One line, whole: several hosts may append to one file."""
    with path.open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(f"{line}\n")
        file.flush()
        os.fsync(file.fileno())


def _post(url: str, said: dict[str, Any]) -> None:
    try:
        answer = httpx2.post(url, json=said, timeout=SECONDS)
    except httpx2.HTTPError as fault:
        raise NotTaken(f"the witness does not answer ({type(fault).__name__})") from None
    if not answer.is_success:
        raise NotTaken(f"the witness answers {answer.status_code}")


def first_fault() -> str | None:
    """Why the first checkpoint that is not everywhere it belongs is not; the doctor asks."""
    failed = CheckpointPublication.objects.exclude(fault="").filter(next_try_at__isnull=False).order_by("pk").first()
    return f"checkpoint {failed.pk} is not everywhere yet: {failed.fault}" if failed else None


def token_text(token: bytes | memoryview | None) -> str | None:
    """A time stamp for a JSON file: base64 of its DER."""
    return base64.b64encode(bytes(token)).decode() if token else None
