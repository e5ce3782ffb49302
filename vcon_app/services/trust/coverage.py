"""What a signature covers: which events of a session, so that nobody takes others for signed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any
from uuid import UUID

from sessions_app.models import Event
from vcon_app.models import ImportedSession

UNSIGNED = ("unsigned", "encrypted")
"""States of what carries no signature, or none that can be seen."""
VERIFIED = ("valid", "valid_untrusted", "valid_expired")
"""States of what is as it was signed, whoever signed it."""


def is_signed(state: str) -> bool:
    """Whether a file in this state carries a signature, however little it is worth."""
    return state not in UNSIGNED


def was_signed(session_id: UUID) -> bool:
    """Whether a session has events of a signed file."""
    read = ImportedSession.objects.filter(session_id=session_id, events__gt=0, signature__has_key="state")
    return read.exclude(signature__state__in=UNSIGNED).exists()


def with_coverage(signature: dict[str, Any], link: ImportedSession) -> dict[str, Any]:
    """The signature of a file with ``covers``, the events of its session that were verified, where any were."""
    covered = _covered(signature, link)
    return signature | {"covers": covered} if covered else signature


def _covered(signature: dict[str, Any], link: ImportedSession) -> dict[str, int] | None:
    if signature["state"] not in VERIFIED or link.first_seq is None or link.last_seq is None:
        return None
    if not signature.get("uncovered"):
        return {"first_seq": link.first_seq, "last_seq": link.last_seq}
    return _longest_run(_seqs_of_covered_parts(signature["uncovered"], link))


def _seqs_of_covered_parts(uncovered: Collection[str], link: ImportedSession) -> Iterable[int]:
    """Events of the file outside of the parts that its signature leaves out (an llmfeed chooses what it covers)."""
    place = f"{link.member}: " if link.member else ""
    rows = Event.objects.filter(session_id=link.session_id, seq__range=(link.first_seq, link.last_seq))
    for seq, pointer in rows.order_by("seq").values_list("seq", "pointer").iterator():
        part = _part(pointer.removeprefix(place))
        if part and part not in uncovered:
            yield seq


def _part(pointer: str) -> str:
    """The member at the top of a file that a JSON pointer leads into (RFC 6901, section 4)."""
    return pointer.removeprefix("/").split("/", 1)[0].replace("~1", "/").replace("~0", "~")


def _longest_run(seqs: Iterable[int]) -> dict[str, int] | None:
    """One range is what can be said in few words; of several the longest, so that no gap is claimed."""
    runs = [[seq for _, seq in run] for _, run in groupby(enumerate(seqs), key=lambda pair: pair[1] - pair[0])]
    if not runs:
        return None
    longest = max(runs, key=len)
    return {"first_seq": longest[0], "last_seq": longest[-1]}
