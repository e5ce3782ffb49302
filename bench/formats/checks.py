"""What has to hold of each file of the corpus, without a database: each check gives the fault it finds, or None."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from io import BytesIO
from typing import Any

from tests.formats.vcon.shape import core_faults, vac_faults
from vcon_app import registry
from vcon_app.drafts import Draft, EventDraft, Finding, FormatError, Losses, SessionDraft

from . import corpus
from .corpus import File

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
OPTIONS: dict[str, Any] = {
    "uuid": "0199d2aa-4c00-8fff-9f3c-5a1d0e7b2cff", "created_at": AT, "generated_at": AT, "product_version": "1.0",
    "origin": "https://desk.example",
}  # fmt: skip
CENT_FRACTION = Decimal("0.000001")
NOT_ADDED_UP = {
    "codex/jazzyalex__agent-sessions/small.jsonl": "one line of each type and no session; the last of its totals is 0",
    "standard_session.json": "its totals count the cached tokens twice, which no file of Gemini CLI does; it is told",
    "cont-1.json": "its final_metrics count the file before it and three helpers too; it is told",
}
"""Files that state a total which their own records do not have."""

NOT_BY_VCON = {
    "copilot-cli/jazzyalex__agent-sessions/small.jsonl": "every id in it is the same, so results find another call",
}
"""Files whose events come back otherwise, and why nothing else can be."""


def sessions_of(drafts: Iterable[Draft]) -> list[tuple[SessionDraft, list[EventDraft]]]:
    """Each session as it is known at the end of the file, with its events."""
    found: dict[str, tuple[SessionDraft, list[EventDraft]]] = {}
    events: list[EventDraft] = []
    for draft in drafts:
        if isinstance(draft, SessionDraft):
            events = found.get(draft.external_id, (draft, []))[1]
            found[draft.external_id] = (draft, events)
        elif isinstance(draft, EventDraft):
            events.append(draft)
    return list(found.values())


@dataclass
class Reading:
    """A file and what its reader makes of it; ``refusal`` instead of drafts where it says it cannot."""

    file: File
    refusal: str = ""
    drafts: list[Draft] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            self.drafts = list(registry.get(self.file.format).read(BytesIO(self.file.data)))
        except FormatError as error:
            self.refusal = str(error)

    @cached_property
    def sessions(self) -> list[tuple[SessionDraft, list[EventDraft]]]:
        return sessions_of(self.drafts)

    @property
    def rules(self) -> set[str]:
        return {draft.rule for draft in self.drafts if isinstance(draft, Finding)}

    def cost(self) -> Decimal:
        """As stated, of each response once."""
        events = enumerate(corpus.events_of(self.drafts))
        stated = {event.request or f"#{number}": event.cost for number, event in events if event.cost is not None}
        return sum(stated.values(), Decimal(0))


Check = Callable[[Reading], str | None]
"""The fault, "" when there is none; None when the check does not apply to the file."""


def imported(reading: Reading) -> str | None:
    """A transcript is read; other files may be refused with a reason."""
    return reading.refusal if reading.file.entry.get("bytes") else ""


def records(reading: Reading) -> str | None:
    return _compared(reading, ("records", "tool_calls", "requests"))


def tokens(reading: Reading) -> str | None:
    return _compared(reading, tuple(corpus.NAMES)) if "tokens" in reading.file.entry else None


def _compared(reading: Reading, names: tuple[str, ...]) -> str | None:
    if "records" not in reading.file.entry:
        return None
    wrong = corpus.miscounted(reading.file, reading.drafts).items()
    return ", ".join(f"{name} {ours:,} for {theirs:,}" for name, (ours, theirs) in wrong if name in names)


def detected(reading: Reading) -> str | None:
    """Claimed by its own format alone; what that refuses may be claimed by nobody."""
    names = corpus.claims(reading.file.name)
    if any(one.unclaimed and reading.file.name.endswith(one.file) for one in corpus.DIFFERENCES):
        return "" if names == () else f"claimed by {names}"
    right = names == (reading.file.format,) or (reading.refusal and names == ())
    return "" if right else f"claimed by {' and '.join(names) or 'nobody'}"


def oracle(reading: Reading) -> str | None:
    """The totals that the file states itself."""
    check = ORACLES.get(reading.file.format)
    if check is None or any(reading.file.name.endswith(name) for name in NOT_ADDED_UP):
        return None
    return check(reading)


def _codex(reading: Reading) -> str | None:
    final = reading.file.entry.get("final_total")
    if final is None:
        return None
    found = corpus.tokens_in(reading.drafts)
    ours = (found["input"] + found["cache_read"], found["cache_read"], found["output"], found["reasoning"])
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    return "" if ours == tuple(final[name] for name in names) else f"{ours} for {final}"


def _cost(reading: Reading) -> str | None:
    stated, ours = Decimal(str(reading.file.entry["cost"])), reading.cost()
    return "" if abs(ours - stated) < CENT_FRACTION else f"{ours} $ for {stated}"


def _gemini(reading: Reading) -> str | None:
    return "responses do not add up to their totals" if "gemini-cli.total" in reading.rules else ""


def _atif(reading: Reading) -> str | None:
    final, found = reading.file.entry["final_metrics"], corpus.tokens_in(reading.drafts)
    ours = (found["input"] + found["cache_read"], found["output"])
    stated = (final["total_prompt_tokens"], final["total_completion_tokens"])
    return _cost(reading) if ours == stated else f"{ours} for {stated}"


ORACLES: dict[str, Check] = {
    "codex": _codex,
    "opencode": _cost,
    "gemini-cli": _gemini,
    "atif": _atif,
    "swe-agent": _cost,
}


def vcon_is_sound(reading: Reading) -> str | None:
    """Against core-04. What a file of this very format says wrongly is handed on as it was, so those are left out."""
    if reading.refusal or reading.file.format == "vcon":
        return None
    return "; ".join(fault for one in reading.sessions for fault in _core_faults(_written("vcon", *one))[:1])


def _core_faults(written: bytes) -> list[str]:
    """An attachment must name a dialog (s4.4); without any it says 0, which the schema takes and the export tells."""
    made = json.loads(written)
    faults = core_faults(made)
    return faults if made["dialog"] else [fault for fault in faults if not fault.endswith(": dialog 0")]


def vac_is_sound(reading: Reading) -> str | None:
    """Against the CDDL of VAC-00."""
    if reading.refusal:
        return None
    return "; ".join(f for one in reading.sessions for f in vac_faults(json.loads(_written("vac", *one)))[:1])


def _written(format: str, session: SessionDraft, events: list[EventDraft]) -> bytes:
    return b"".join(registry.get(format).write(session, events, Losses(), options=OPTIONS))


CHECKS: dict[str, Check] = {
    "imported": imported,
    "records": records,
    "tokens": tokens,
    "detected": detected,
    "own totals": oracle,
    "vCon sound": vcon_is_sound,
    "VAC sound": vac_is_sound,
}
