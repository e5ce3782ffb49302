"""What happens to one hostile file: it is recognised, read, made storable, and now and then looked through for what no
event shows, verified and written out.

Needs Django (``django.setup()``), and no database.
"""

from __future__ import annotations

import io
import logging
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from itertools import islice
from typing import Any, BinaryIO, get_args

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from sessions_app.services.log.sanitise import identifier, json_text, plausible, storable, text
from vcon_app import registry
from vcon_app.drafts import (
    PHASES,
    ActorKind,
    Draft,
    EventDraft,
    Finding,
    FormatError,
    Kind,
    Losses,
    SessionDraft,
    Signature,
)
from vcon_app.formats.common.head import DAMAGE
from vcon_app.formats.common.jsonio import loads
from vcon_app.formats.common.zips import is_zip
from vcon_app.formats.contract import Reader, SigningWriter, Unsealer, Verifier
from vcon_app.formats.rest_of_file import Shown, TooLarge, rest_of
from vcon_app.services.documents import archives
from vcon_app.signing.keys import Anchor, anchor_of
from vcon_app.signing.signers import Signer

ALLOWED = (FormatError, *DAMAGE)
"""What a reader may raise: an import tells these as a file that cannot be read."""
AT = datetime(2026, 6, 1, tzinfo=UTC)
MEMBERS = 20
"""Of an archive that are read."""
WRITTEN = 2_000
"""Events of a session that are written out."""
OPTIONS: dict[str, Any] = {
    "uuid": "0199d2aa-4c00-8fff-9f3c-5a1d0e7b2cff", "created_at": AT, "generated_at": AT, "product_version": "1.0",
    "origin": "https://desk.example", "document": "0" * 64,
    "costs": {0: {"amount": Decimal("0.1"), "unpriced_tokens": 3}},
}  # fmt: skip


class Wrong(AssertionError):
    """A draft that no reader may yield."""


class _Strict(logging.Handler):
    """Detection survives a format that fails on a file, and logs it; here that is a failure."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            raise record.exc_info[1]


def be_strict() -> None:
    """From now on a fault in ``detect`` is raised."""
    logger = logging.getLogger(registry.__name__)
    logger.addHandler(_Strict())
    logger.propagate = False


def run(data: bytes, format: str | None, *, thorough: random.Random | None = None) -> None:
    """Do with a file what an import does, and read it as ``format`` too, as a person may ask for.

    ``thorough``: also as everything that claims it and as another format drawn at random, looked through for the rest
    of the file, verified, unsealed and written out in every format. Raises whatever is a fault of ours.
    """
    source = io.BytesIO(data)
    names = set(_claimed(source)) | ({format} if format in registry.readers() else set())
    if is_zip(source):
        _read_archive(source)
    if thorough:
        names.add(thorough.choice(sorted(registry.readers())))
    for name in sorted(names):
        _read(registry.get(name), source, thorough)


def _claimed(source: BinaryIO) -> list[str]:
    try:
        return [registry.detect(source)[0]]
    except registry.Ambiguous as error:
        return error.names
    except registry.Unrecognised:
        return []


def _read_archive(source: BinaryIO) -> None:
    try:
        if not archives.is_archive(source, "auto"):
            return
        archive = archives.open_archive(source)
        members = archives.contents_of(archive).members
    except FormatError:
        return
    for member in members[:MEMBERS]:
        try:
            with archive.open(member) as file:
                for name in _claimed(file):
                    _read(registry.get(name), file, None)
        except FormatError:
            continue


def _read(format: Any, source: BinaryIO, thorough: random.Random | None) -> None:
    held: list[tuple[SessionDraft, list[EventDraft]]] = []
    signed = False
    source.seek(0)
    try:
        for draft in format.read(source):
            signed |= isinstance(draft, Signature) and draft.state != "unsigned"
            stored = _stored(draft)
            if thorough and isinstance(stored, SessionDraft):
                held.append((stored, []))
            elif thorough and isinstance(stored, EventDraft) and len(held[-1][1]) < WRITTEN:
                held[-1][1].append(stored)
    except ALLOWED:
        pass
    if signed or thorough:
        _check_signature(format, source)
    for session, events in held[:1]:
        _look_through(source, session, events, alone=len(held) == 1)
    for session, events in held[:3]:
        _write_all(session, events, thorough)


def _look_through(source: BinaryIO, session: SessionDraft, events: list[EventDraft], *, alone: bool) -> None:
    """For everything else in the file, as the page of a session does."""
    source.seek(0)
    with suppress(TooLarge, *ALLOWED):
        rest_of(source, Shown(session, events, []), alone=alone)


def _check_signature(format: Any, source: BinaryIO) -> None:
    anchors, keys, _ = _keys()
    if isinstance(format, Verifier):
        source.seek(0)
        with suppress(*ALLOWED):
            format.verify(source, anchors, AT)
    if isinstance(format, Unsealer):
        source.seek(0)
        with suppress(*ALLOWED):
            format.unseal(source, keys)


def _write_all(session: SessionDraft, events: list[EventDraft], dice: random.Random) -> None:
    for format in registry.writers().values():
        declared = format.SPEC.options
        chosen = {one.name: dice.choice(one.choices)[0] if one.choices else False for one in declared}
        written = b"".join(format.write(session, events, Losses(), options=OPTIONS | chosen))
        signer = _keys()[2]
        if isinstance(format, SigningWriter) and format.signs_with(signer):
            written = format.sign(written, signer, AT, OPTIONS)
        if isinstance(format, Reader):
            for draft in islice(_allowed(format.read(io.BytesIO(written))), 2 * WRITTEN):
                _stored(draft)


def _allowed(drafts: Iterator[Draft]) -> Iterator[Draft]:
    try:
        yield from drafts
    except ALLOWED:
        return


@cache
def _keys() -> tuple[list[Anchor], list[rsa.RSAPrivateKey], Signer]:
    """An anchor, keys that open what is encrypted, and a signer."""
    ours, decrypts = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
    pem = ours.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    return [anchor_of(pem.decode(), "us")], [decrypts], Signer(ours)


# --- drafts as the database would give them back ---


def _stored(draft: Draft) -> Draft:
    """Raises ``Wrong``, or what storing it would raise."""
    if isinstance(draft, EventDraft):
        return _stored_event(draft)
    if isinstance(draft, SessionDraft):
        return _stored_session(draft)
    if isinstance(draft, Finding):
        if draft.severity not in ("error", "warning", "info") or not draft.rule:
            raise Wrong(f"{draft!r}")
        storable([draft.path, draft.message])
    return draft


def _stored_session(draft: SessionDraft) -> SessionDraft:
    if not draft.external_id or draft.phase not in (None, *PHASES):
        raise Wrong(f"{draft.external_id!r} {draft.phase!r}")
    for at in (draft.started_at, draft.ended_at):
        _check_time(at)
    return replace(
        draft,
        external_id=identifier(draft.external_id),
        parent_external_id=identifier(draft.parent_external_id),
        **{name: text(getattr(draft, name)) for name in ("title", "agent_name", "summary", "user_id", "model")},
        tags=tuple(map(identifier, draft.tags)),
        **{name: _through(getattr(draft, name)) for name in ("metadata", "record")},
    )


def _stored_event(draft: EventDraft) -> EventDraft:
    if draft.kind not in get_args(Kind) or draft.actor_kind not in get_args(ActorKind) or not draft.key:
        raise Wrong(f"kind {draft.kind!r}, actor {draft.actor_kind!r}, key {draft.key!r}")
    if type(draft.depth) is not int or draft.depth < 0:
        raise Wrong(f"depth {draft.depth!r}")
    _check_time(draft.at)
    event, tool = plausible(draft), draft.tool
    if tool:
        tool = replace(
            tool, call_id=identifier(tool.call_id), arguments=_through(tool.arguments), result=_through(tool.result),
            **{name: text(getattr(tool, name)) for name in ("name", "server", "status")},
        )  # fmt: skip
    return replace(
        event,
        tool=tool,
        request=identifier(event.request),
        **{name: text(getattr(event, name)) for name in ("key", "parent", "actor_name", "text", "model", "pointer")},
        data=_through(event.data) or {},
    )


def _check_time(at: datetime | None) -> None:
    if at is not None and at.tzinfo is None:
        raise Wrong(f"a time without a zone: {at!r}")


def _through(value: Any) -> Any:
    """JSON into a column and out of it."""
    written = json_text(value)
    return None if written is None else loads(written.encode())[0]
