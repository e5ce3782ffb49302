"""What a hook of a coding agent answers: finds the client and the event that a command line names.

Everything here may raise: ``hook.main`` makes a refusal of it.
"""

from __future__ import annotations

import time

from . import plain_json

try:  # without the enumerations of ``signal``, which take 5 ms
    import _signal as signal  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    import signal  # type: ignore[no-redef, unused-ignore]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_INPUT = 64 << 20
HOLD = 3540.0
"""Seconds that a call may wait for a decision, unless ``--hold`` says otherwise."""
GRACE = 15
"""Seconds after which a hook that still runs ends itself: less than what the client gives it beyond ``--hold``."""


class Options:
    """Of the command line: ``CLIENT EVENT [--hold SECONDS] [--defer]``. Raises ``ValueError`` for anything else."""

    def __init__(self, arguments: list[str]) -> None:
        self.client, self.event, *more = arguments
        self.hold, self.defers = HOLD, False
        while more:
            name = more.pop(0)
            if name == "--hold" and more:
                self.hold = float(more.pop(0))
            elif name == "--defer":
                self.defers = True
            else:
                raise ValueError(f"the hook knows no {name}")
        if not 0 <= self.hold <= 7 * 24 * 3600:
            raise ValueError(f"--hold {self.hold} is not between 0 and {7 * 24 * 3600} seconds")


def answer(arguments: list[str], given: bytes) -> bytes:
    """The decision to print, as one line of JSON."""
    started = time.monotonic()
    options = Options(arguments)
    if hasattr(signal, "alarm"):  # whatever hangs, a name server for instance: the client's own time-out may let it run
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(options.hold) + GRACE)
    event = _event(given)
    said = _decide(options, event, started)
    text = plain_json.dumps(said).encode()
    if plain_json.loads(text) != said or not _is_decision(said):
        raise ValueError("what would be said is no decision")
    return text + b"\n"


def _is_decision(said: Any) -> bool:
    """Whether a client would take it as one: what it does not know it takes as nothing, and lets the call run."""
    output = said["hookSpecificOutput"]
    if output["hookEventName"] == "PreToolUse":
        return output["permissionDecision"] in ("allow", "deny", "defer")
    return output["hookEventName"] == "PermissionRequest" and output["decision"]["behavior"] in ("allow", "deny")


def _event(given: bytes) -> dict[str, Any]:
    if len(given) > MAX_INPUT:
        raise ValueError(f"the call is larger than {MAX_INPUT >> 20} MB")
    event = plain_json.loads(given)
    if not isinstance(event, dict):
        raise ValueError("the hook was given no JSON object")
    return event


def _decide(options: Options, event: dict[str, Any], started: float) -> dict[str, Any]:
    if options.client == "claude-code":
        from .claude_code import gate

        return gate.decide(options, event, started)
    if options.client == "codex":
        from .codex import gate as codex

        return codex.decide(options, event, started)
    raise ValueError(f"there is no hook for {options.client}")
