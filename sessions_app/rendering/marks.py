"""Marks: the short words for how something stands, with the tone and the icon in which a page shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """``tone`` is waits, wrong, done, note or quiet, as in ``static/css``; ``icon`` a name of ``static/icons.svg``."""

    words: str
    tone: str = "quiet"
    icon: str = ""

    @property
    def css(self) -> str:
        """The class of the words where they stand without a badge around them."""
        return "quiet" if self.tone == "quiet" else f"is-{self.tone}"


STATES = {
    "waits": Mark("needs approval", "waits", "waits"),
    "pending": Mark("needs approval", "waits", "waits"),
    "snoozed": Mark("snoozed", "quiet", "waits"),
    "deciding": Mark("decided", "done", "done"),
    "running": Mark("running", "note", "running"),
    "queued": Mark("queued", "quiet", "waits"),
    "done": Mark("done", "done", "done"),
    "failed": Mark("failed", "wrong", "wrong"),
    "crashed": Mark("crashed", "wrong", "wrong"),
    "timed_out": Mark("timed out", "wrong", "wrong"),
    "completed": Mark("completed", "quiet", "done"),
    "run_cancelled": Mark("cancelled", "quiet", "close"),
    "idle": Mark("idle", "quiet", "idle"),
    "archived": Mark("archived", "quiet", "archived"),
    "approved": Mark("approved", "done", "done"),
    "approved_edited": Mark("approved, edited", "done", "done"),
    "answered": Mark("answered", "done", "done"),
    "auto_allowed": Mark("allowed by a rule", "done", "done"),
    "denied": Mark("denied", "wrong", "close"),
    "auto_denied": Mark("denied by a rule", "wrong", "close"),
    "expired": Mark("expired, so denied", "quiet", "waits"),
    "cancelled": Mark("withdrawn", "quiet", "close"),
    "settled_elsewhere": Mark("decided elsewhere", "quiet", "idle"),
    "error": Mark("error", "wrong", "wrong"),
    "warning": Mark("warning", "waits", "wrong"),
    "info": Mark("note", "note", "note"),
    "valid": Mark("verified", "done", "done"),
    "valid_untrusted": Mark("valid, signer not trusted", "waits", "wrong"),
    "valid_expired": Mark("valid, certificate expired", "waits", "wrong"),
    "invalid": Mark("does not verify", "wrong", "wrong"),
    "uncheckable": Mark("could not be checked", "note", "note"),
    "unsigned": Mark("unsigned", "quiet", "idle"),
    "encrypted": Mark("encrypted", "note", "key"),
}
"""Of sessions, approvals, imports, findings and signatures, by the word that the database keeps."""

TRIGGER_RUNS = {
    "started": Mark("started", "done", "done"),
    "skipped": Mark("skipped", "quiet", "close"),
    "failed": Mark("failed", "wrong", "wrong"),
}

OUTCOMES = {
    "error": Mark("failed", "wrong", "wrong"),
    "denied": Mark("denied", "wrong", "close"),
    "cancelled": Mark("cancelled", "waits", "close"),
    "none": Mark("no result"),
}
"""Of tool calls, by their status; a call that went well is not marked."""

DELIVERIES = {
    "delivered": Mark("delivered", "done", "done"),
    "queued": Mark("waiting for the agent to pick it up"),
    "sending": Mark("being delivered"),
    "uncertain": Mark("perhaps delivered: the runtime is asked", "waits", "waits"),
    "stale": Mark("not taken: the agent does not wait for it any more"),
    "failed": Mark("not delivered: the turn was given up", "wrong", "wrong"),
    "nobody": Mark("the agent did not pick it up"),
    "elsewhere": Mark("not taken: answered elsewhere before"),
}
NOTHING_TO_DELIVER = Mark("nothing to deliver")
EXECUTIONS = {
    "running": Mark("being executed", "note", "running"),
    "refused": Mark("refused when it was to be executed"),
    "succeeded": Mark("executed", "done", "done"),
    "errored": Mark("executed, and failed", "wrong", "wrong"),
}
NOT_EXECUTED = Mark("not executed")
NOT_REPORTED = Mark("the agent has not reported a result")


def state_of(word: str) -> Mark:
    """The mark of a state; one that is not known here is shown as its word."""
    return STATES.get(word) or Mark(word.replace("_", " "), "quiet", "idle")
