"""Lawful basis and consent attachments: what was granted, until when, and whether they hold together."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from ....drafts import Json
from ...common.times import moment_of
from ...common.values import text_or_none
from ..file import Container, Notes, canonical, point, shown
from ..trace import Clock
from .attachments import Attachments

BASES = ("consent", "contract", "legal_obligation", "vital_interests", "public_task", "legitimate_interests")
HASHES: dict[str, Callable[[bytes], Any]] = {
    "sha-256": hashlib.sha256,
    "sha-3-256": hashlib.sha3_256,
    "blake2b-256": lambda data: hashlib.blake2b(data, digest_size=32),
}
"""draft-howe-vcon-lawful-basis-02 s5.3."""
SKEW = 300
"""Seconds of clock difference that expiry allows (lawful-basis s6.2)."""


def grants_of(vcon: Container, found: Attachments, notes: Notes) -> dict[str, list[dict[str, Json]]]:
    """``lawful_basis`` and (legacy) ``consent`` entries as shown with the session."""
    told: dict[str, list[dict[str, Json]]] = {}
    for index, purpose, content in found.grants:
        pointer = vcon.at("attachments", index)
        body = content.value if content.kind == "json" and isinstance(content.value, dict) else None
        if body is None:
            notes.warn("R98", pointer, f"This {purpose} attachment holds no object; nothing is granted by it.")
            continue
        if purpose == "lawful_basis":
            _check(body, pointer, vcon, notes)
        told.setdefault(purpose, []).append(_summary(body, vcon.attachments[index], pointer))
    return told


def _summary(body: dict[str, Any], item: dict[str, Any], pointer: str) -> dict[str, Json]:
    names = ("lawful_basis", "expiration", "purpose_grants", "consents", "terms_of_service", "status_interval")
    return {
        **{name: body[name] for name in names if name in body},
        **({"purpose_grants": _readable(body["purpose_grants"])} if "purpose_grants" in body else {}),
        "party": item.get("party"),
        "pointer": pointer,
        "proofs": len(body["proof_mechanisms"]) if isinstance(body.get("proof_mechanisms"), list) else 0,
    }


def _check(body: dict[str, Any], pointer: str, vcon: Container, notes: Notes) -> None:
    where = point(pointer, "body")
    basis = body.get("lawful_basis")
    if basis not in BASES:
        notes.warn("R98", where, f"lawful_basis is {shown(basis)}, none of {', '.join(BASES)} (lawful-basis s5.1).")
    if "expiration" not in body:
        notes.warn("R98", where, "expiration is missing; it is required, null for indefinite (lawful-basis s5.1).")
    _check_purposes(body.get("purpose_grants"), where, notes)
    _check_expiry(body, where, vcon, notes)
    _check_digest(body, where, notes)


def _check_purposes(grants: Json, where: str, notes: Notes) -> None:
    """Check the purposes: what is not plainly granted is not granted (lawful-basis s6.4)."""
    if not isinstance(grants, list):
        notes.warn("R98", where, "purpose_grants is missing or no array: nothing is granted.")
        return
    clock = Clock(notes)
    for index, grant in enumerate(grants):
        place = point(where, "purpose_grants", index)
        if not isinstance(grant, dict) or not text_or_none(grant.get("purpose")):
            notes.warn("R98", place, f"{shown(grant)} names no purpose: nothing is granted by it.")
        elif type(grant.get("granted")) is not bool:
            notes.warn(
                "R98",
                point(place, "granted"),
                f"granted is {shown(grant.get('granted'))} for {shown(grant['purpose'])}, neither true nor false: "
                "it counts as not granted.",
            )
        else:
            clock.date(grant.get("granted_at"), point(place, "granted_at"))


def _readable(grants: Json) -> list[Json]:
    """The grants that say yes or no; of others only the purpose is told."""
    found = [grant for grant in grants if isinstance(grant, dict)] if isinstance(grants, list) else []
    return [
        grant
        if type(grant.get("granted")) is bool
        else {key: value for key, value in grant.items() if key != "granted"}
        for grant in found
    ]


def _check_expiry(body: dict[str, Any], where: str, vcon: Container, notes: Notes) -> None:
    """Against the vCon's own time: whether it has expired by now is for whoever shows or exports it."""
    expires = Clock(notes).date(body.get("expiration"), point(where, "expiration")).at
    written = moment_of(vcon.top.get("updated_at") or vcon.top.get("created_at")).at
    if expires and written and (written - expires).total_seconds() > SKEW:
        notes.error(
            "R98",
            point(where, "expiration"),
            f"The lawful basis expired on {shown(body['expiration'])}, before this "
            "vCon was written; it must not be processed under it (lawful-basis s6.2).",
        )


def _check_digest(body: dict[str, Any], where: str, notes: Notes) -> None:
    """The draft does not say whether the field itself is hashed too: both are tried."""
    stated = body.get("content_hash")
    if not isinstance(stated, dict):
        return
    where = point(where, "content_hash")
    make = HASHES.get(text_or_none(stated.get("algorithm")) or "")
    if make is None or text_or_none(stated.get("canonicalization")) != "jcs":
        notes.warn(
            "R98",
            where,
            f"content_hash uses {shown(stated.get('algorithm'))} and {shown(stated.get('canonicalization'))}; "
            "not supported, so the grant is not checked.",
        )
        return
    without = {key: value for key, value in body.items() if key != "content_hash"}
    if text_or_none(stated.get("value")) not in (
        make(canonical(without)).hexdigest(),
        make(canonical(body)).hexdigest(),
    ):
        notes.error(
            "R98",
            where,
            "content_hash does not match the grant, with or without the field itself: one of them was "
            "changed after the other.",
        )
