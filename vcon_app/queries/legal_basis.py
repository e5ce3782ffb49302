"""Legal basis that a session's file states: draft-howe-vcon-lawful-basis-02, and the older consent-00."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.utils.dateparse import parse_datetime

from sessions_app.models import Session

SKEW = timedelta(minutes=5)
"""Clock difference that expiry allows (lawful-basis s6.2)."""
HANDING_ON = "agent_session_redistribution"
PURPOSES = {
    "agent_session_recording": "recording", "agent_session_analysis": "analysis", HANDING_ON: "redistribution",
}  # fmt: skip
"""Those of draft-howe-vcon-agent-session, in words."""
State = Literal["granted", "denied", "not stated"]


@dataclass(frozen=True, slots=True)
class Grant:
    """One purpose, and whether the data may be used for it."""

    purpose: str
    state: State
    conditions: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return PURPOSES.get(self.purpose, self.purpose)


@dataclass(frozen=True, slots=True)
class Basis:
    """Legal basis in one attachment: the ground, the purposes, and until when."""

    kind: str
    """``consent``, ``contract``, ``legitimate_interests`` …, ``""`` when it does not say."""
    grants: tuple[Grant, ...]
    expires: datetime | None
    is_indefinite: bool
    """It says that it does not expire; otherwise, without ``expires``, it does not say when."""
    is_expired: bool
    is_legacy: bool = False
    """A consent attachment of draft-howe-vcon-consent-00."""


def bases_of(session: Session, now: datetime) -> list[Basis]:
    """Legal bases that the session was imported with; empty when none is stated."""
    stated = session.metadata
    return [
        _basis(one, now, is_legacy=name == "consent")
        for name in ("lawful_basis", "consent")
        for one in (stated.get(name) if isinstance(stated.get(name), list) else ())
        if isinstance(one, dict)
    ]


def redistribution_state(bases: list[Basis]) -> str:
    """May it be handed on? ``granted``, ``denied``, ``expired``, ``missing``; ``""`` where no basis is stated.

    The most restrictive one wins, and none is a denial (lawful-basis s6.4).
    """
    if not bases:
        return ""
    found = [
        (grant.state, basis.is_expired) for basis in bases for grant in basis.grants if grant.purpose == HANDING_ON
    ]
    states = {state for state, _ in found}
    if "denied" in states:
        return "denied"
    if "granted" not in states:
        return "missing"
    return "expired" if any(expired for _, expired in found) else "granted"


def _basis(stated: dict[str, Any], now: datetime, *, is_legacy: bool) -> Basis:
    expires = _moment(stated.get("expiration"), now)
    grants = stated.get("consents" if is_legacy else "purpose_grants")
    return Basis(
        kind="consent" if is_legacy else _text(stated.get("lawful_basis")),
        grants=tuple(_grant(one) for one in (grants if isinstance(grants, list) else ()) if isinstance(one, dict)),
        expires=expires,
        is_indefinite="expiration" in stated and stated["expiration"] is None,
        is_expired=bool(expires and now - expires > SKEW),
        is_legacy=is_legacy,
    )


def _grant(stated: dict[str, Any]) -> Grant:
    conditions = stated.get("conditions")
    return Grant(
        _text(stated.get("purpose")) or "a purpose that is not named",
        _state(stated),
        tuple(_text(one) for one in (conditions if isinstance(conditions, list) else [conditions]) if one),
    )


def _state(stated: dict[str, Any]) -> State:
    if "status" in stated and "granted" not in stated:  # consent-00 s5.4
        return "granted" if stated["status"] == "granted" else "denied"
    granted = stated.get("granted")
    return "granted" if granted is True else "denied" if granted is False else "not stated"


def _moment(value: Any, now: datetime) -> datetime | None:
    try:
        found = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=now.tzinfo) if found and found.tzinfo is None else found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:200]
