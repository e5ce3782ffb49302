"""Marks: the short words for how something stands, with the tone and the icon in which a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sessions_app.phrases import gettext as _

from .text import first_line


@dataclass(frozen=True, slots=True)
class Mark:
    """``tone`` is waits, wrong, done, note or quiet, as in ``static/css``; ``icon`` a name of ``static/icons.svg``."""

    words: str
    """A phrase, for a page to translate; the bare word of a state that is not known."""
    tone: str = "quiet"
    icon: str = ""

    @property
    def css(self) -> str:
        """The class of the words where they stand without a badge around them."""
        return "quiet" if self.tone == "quiet" else f"is-{self.tone}"


STATES = {
    "waits": Mark(_("needs approval"), "waits", "waits"),
    "pending": Mark(_("needs approval"), "waits", "waits"),
    "snoozed": Mark(_("snoozed"), "quiet", "waits"),
    "deciding": Mark(_("decided"), "done", "done"),
    "running": Mark(_("running"), "note", "running"),
    "queued": Mark(_("queued"), "quiet", "waits"),
    "done": Mark(_("done"), "done", "done"),
    "failed": Mark(_("failed"), "wrong", "wrong"),
    "crashed": Mark(_("crashed"), "wrong", "wrong"),
    "timed_out": Mark(_("timed out"), "wrong", "wrong"),
    "completed": Mark(_("completed"), "quiet", "done"),
    "broke_off": Mark(_("broke off"), "wrong", "wrong"),
    "ended_in_error": Mark(_("ended in error"), "wrong", "wrong"),
    "no_result": Mark(_("no result yet"), "quiet", "idle"),
    "no_reply": Mark(_("no reply"), "quiet", "idle"),
    "run_cancelled": Mark(_("cancelled"), "quiet", "close"),
    "idle": Mark(_("idle"), "quiet", "idle"),
    "archived": Mark(_("archived"), "quiet", "archived"),
    "approved": Mark(_("approved"), "done", "done"),
    "approved_edited": Mark(_("approved, edited"), "done", "done"),
    "answered": Mark(_("answered"), "done", "done"),
    "auto_allowed": Mark(_("allowed by a rule"), "done", "done"),
    "denied": Mark(_("denied"), "wrong", "close"),
    "auto_denied": Mark(_("denied by a rule"), "wrong", "close"),
    "expired": Mark(_("expired, so denied"), "quiet", "waits"),
    "cancelled": Mark(_("withdrawn"), "quiet", "close"),
    "settled_elsewhere": Mark(_("decided elsewhere"), "quiet", "idle"),
    "error": Mark(_("error"), "wrong", "wrong"),
    "warning": Mark(_("warning"), "waits", "wrong"),
    "info": Mark(_("note"), "note", "note"),
    "valid": Mark(_("verified"), "done", "done"),
    "valid_untrusted": Mark(_("valid, signer not trusted"), "waits", "wrong"),
    "valid_expired": Mark(_("valid, certificate expired"), "waits", "wrong"),
    "invalid": Mark(_("does not verify"), "wrong", "wrong"),
    "uncheckable": Mark(_("could not be checked"), "note", "note"),
    "unsigned": Mark(_("unsigned"), "quiet", "idle"),
    "encrypted": Mark(_("encrypted"), "note", "key"),
}
"""Of sessions, approvals, imports, findings and signatures, by the word that the database keeps."""

ENDINGS = {
    "broke_off": _("Its file ends in the middle of a call"),
    "no_result": _("Its file ends in the middle of a call, and was written a moment ago: it may go on"),
    "ended_in_error": _("Its file ends with an error"),
    "no_reply": _("Its file ends with a prompt that has no reply"),
}
"""How the file of a session ends that nobody called completed."""

TRIGGER_RUNS = {
    "started": Mark(_("started"), "done", "done"),
    "skipped": Mark(_("skipped"), "quiet", "close"),
    "failed": Mark(_("failed"), "wrong", "wrong"),
}

OUTCOMES = {
    "error": Mark(_("failed"), "wrong", "wrong"),
    "denied": Mark(_("denied"), "wrong", "close"),
    "cancelled": Mark(_("cancelled"), "waits", "close"),
    "none": Mark(_("no result")),
}
"""Of tool calls, by their status; a call that went well is not marked."""

DELIVERIES = {
    "delivered": Mark(_("delivered"), "done", "done"),
    "queued": Mark(_("waiting for the agent to pick it up")),
    "sending": Mark(_("being delivered")),
    "uncertain": Mark(_("perhaps delivered: the runtime is asked"), "waits", "waits"),
    "stale": Mark(_("not taken: the agent does not wait for it any more")),
    "failed": Mark(_("not delivered: the turn was given up"), "wrong", "wrong"),
    "nobody": Mark(_("the agent did not pick it up")),
    "elsewhere": Mark(_("not taken: answered elsewhere before")),
}
NOTHING_TO_DELIVER = Mark(_("nothing to deliver"))
EXECUTIONS = {
    "running": Mark(_("being executed"), "note", "running"),
    "refused": Mark(_("refused when it was to be executed")),
    "succeeded": Mark(_("executed"), "done", "done"),
    "errored": Mark(_("executed, and failed"), "wrong", "wrong"),
}
NOT_EXECUTED = Mark(_("not executed"))
NOT_REPORTED = Mark(_("the agent has not reported a result"))


def state_of(word: str) -> Mark:
    """The mark of a state; one that is not known here is shown as its word."""
    return STATES.get(word) or Mark(word.replace("_", " "), "quiet", "idle")


def risk_in_words(risk: str, terms: Mapping[str, Any]) -> str:
    """``high, says the agent``, or ``high, by the rule`` whose ``terms`` say the same, a phrase: an agent that calls
    its own call harmless is not the desk. "" where nobody says one.
    """
    if not risk:
        return ""
    if terms.get("risk") == risk:
        return _("%(risk)s, by the rule", risk=first_line(risk, 40))
    return _("%(risk)s, says the agent", risk=first_line(risk, 40))
