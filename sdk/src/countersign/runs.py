"""Which session at the desk a run of a coding agent is, and how much of its transcript is there: a small file per run.

Only a hint of where to send: nothing is allowed because of it.
"""

from __future__ import annotations

import os
import sys

from . import plain_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .answers import Decision
    from .holding import Desk

LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")


def folder() -> str:
    home = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")  # noqa: PTH111, PTH118
    return os.path.join(home, "countersign", "runs")  # noqa: PTH118


def teller(event: dict[str, Any], client: str) -> Callable[[Desk, Decision], None]:
    """Brings what led to a call to the desk, for the card that a person reads now. Failing, it stops nothing."""

    def tell(desk: Desk, decision: Decision) -> None:
        try:
            from . import transcripts

            transcripts.send(desk, client, decision.session_id, event.get("transcript_path"), event["session_id"])
        except Exception as error:
            print(f"countersign: the transcript was not sent: {error}", file=sys.stderr)

    return tell


def note_decision(event: dict[str, Any], decision: Decision) -> None:
    """For what is sent later: the session of this run, and which of its calls may be made."""
    try:
        if decision.session_id and (recall(event["session_id"]) or {}).get("session") != decision.session_id:
            remember(event["session_id"], decision.session_id)
        if decision.allowed and event.get("tool_use_id"):
            note_call(event["session_id"], event["tool_use_id"], decision.approval_id, decision.digest)
    except OSError as error:
        said = "this run cannot be remembered, so that its transcript will not be sent"
        print(f"countersign: {said}: {error}", file=sys.stderr)


def remember(run: str, session: str, lines: int = 0, requests: int = 0) -> None:
    """``lines`` of the transcript are at the desk, and the model requests of the first ``requests`` lines."""
    if not is_name(run):
        return
    os.makedirs(folder(), 0o700, exist_ok=True)  # noqa: PTH103
    written = plain_json.dumps({"session": session, "lines": lines, "requests": requests}).encode()
    path = _path(run)
    new = f"{path}.{os.getpid()}"
    with open(new, "wb") as file:  # noqa: PTH123
        file.write(written)
    os.replace(new, path)  # noqa: PTH105


def note_call(run: str, call: str, approval: str, digest: str) -> None:
    """A call may be made: what came of it is reported under this approval and digest."""
    if is_name(run):
        os.makedirs(folder(), 0o700, exist_ok=True)  # noqa: PTH103
        with open(f"{_path(run)}l", "ab") as file:  # noqa: PTH123
            file.write(plain_json.dumps([call, approval, digest]).encode() + b"\n")


def calls_of(run: str) -> dict[str, tuple[str, str]]:
    """Call -> approval and digest."""
    if not is_name(run):
        return {}
    try:
        with open(f"{_path(run)}l", "rb") as file:  # noqa: PTH123
            rows = [plain_json.loads(line) for line in file if line.endswith(b"\n")]
    except (OSError, ValueError):
        return {}
    return {str(row[0]): (str(row[1]), str(row[2])) for row in rows if isinstance(row, list) and len(row) == 3}


def recall(run: str) -> dict[str, Any] | None:
    """What is known of a run; None where it asked nothing yet."""
    if not is_name(run):
        return None
    try:
        with open(_path(run), "rb") as file:  # noqa: PTH123
            known = plain_json.loads(file.read())
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) and isinstance(known.get("session"), str) else None


def is_name(run: str) -> bool:
    """A run names a file, so that it has to be a name."""
    return 0 < len(run) <= 100 and LETTERS.issuperset(run)


def _path(run: str) -> str:
    return os.path.join(folder(), f"{run}.json")  # noqa: PTH118
