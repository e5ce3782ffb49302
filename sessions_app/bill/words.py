"""What a bill says in words. A name of strangers stands apart, for the page to mark it as theirs."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.phrases import Phrase, ngettext
from sessions_app.phrases import gettext as _
from sessions_app.rendering import numbers, text

from .places import Place

CLASSES = {
    "input": (_("Input"), _("Tokens that were not in a cache")),
    "cache_read": (_("Cache read"), _("Tokens that were in the cache: the context so far, read again by each request")),
    "cache_write": (
        _("Cache write"),
        _("Written to the cache; for how long is not stated, the price is that of 5 minutes"),
    ),
    "cache_write_5m": (_("Cache write, 5 min"), _("Written to the cache for five minutes")),
    "cache_write_1h": (_("Cache write, 1 h"), _("Written to the cache for an hour")),
    "output": (_("Output"), _("What the model wrote, without reasoning where that is stated apart")),
    "reasoning": (_("Reasoning"), _("Output that the model thought before it answered")),
    "request": (_("Fee per request"), _("What the provider charges for a request whatever its size")),
    "stated": (_("Reported, not divided"), _("Amounts of the recorder, which does not say what they are for")),
    "other_table": (_("Computed earlier, not divided"), _("Priced with another version of the price table")),
}
"""Name and explanation of each class of a bill."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """Words before a name, the name, and words behind it."""

    before: str
    name: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.before}{self.name}{self.after}"


def sentence(place: Place) -> Sentence:
    """Why a place cost what it cost."""
    tokens, name = _tokens(place.tokens), text.first_line(place.name, 60)
    times = _times(place.requests)
    match place.kind:
        case "lost":
            return _lost(place, tokens, name)
        case "context":
            values = {"tokens": tokens, "times": times, "each": numbers.money(place.amount / place.requests)}
            if place.reason:
                return Sentence(
                    _("Context of up to %(tokens)s: each of %(times)s is reported to cost about %(each)s", **values)
                )
            return Sentence(
                _("Context of up to %(tokens)s: each of %(times)s pays for reading it about %(each)s", **values)
            )
        case "result":
            after = _(" carried along for %(times)s", times=times)
            return Sentence(_("Result of about %(tokens)s of ", tokens=tokens), name or _("an unnamed tool"), after)
        case "begin" if place.reason == "first":
            said = _("Beginning of a context: %(tokens)s of instructions, tools and messages", tokens=tokens)
            return Sentence(said)
        case "begin":
            return Sentence(_("New context after it was made smaller: %(tokens)s sent anew", tokens=tokens))
        case "sub_agent":
            return Sentence(_("Sub-agent "), name or _("without a name"), _(": %(times)s", times=times))
        case "stated" if place.reason:
            return Sentence(_("Amount that the recorder reports for this response and those before it"))
        case "stated":
            return Sentence(_("Response of %(tokens)s in and out, at what the recorder reports", tokens=tokens))
    return Sentence(_("Answer of %(tokens)s", tokens=tokens))


def _lost(place: Place, tokens: str, name: str) -> Sentence:
    if place.reason == "model":
        before, after = _("Cache lost as the model changed to "), _(": %(tokens)s sent again", tokens=tokens)
        return Sentence(before, name or _("one without a name"), after)
    if place.reason == "pause":
        pause = numbers.duration((place.seconds or 0) * 1000)
        return Sentence(_("Cache lost after a pause of %(pause)s: %(tokens)s sent again", pause=pause, tokens=tokens))
    return Sentence(
        _(
            "Cache lost without a pause: %(tokens)s sent again. What stands first in the prompt may have changed",
            tokens=tokens,
        )
    )


def _tokens(number: int | None) -> Phrase:
    return _("%(number)s tokens", number=numbers.tokens(number))


def _times(number: int) -> Phrase:
    return ngettext("%(shown)s request", "%(shown)s requests", number, shown=f"{number:,}")


def share(per_mille: int | None) -> str:
    """``78.6 %`` of the whole bill."""
    return numbers.UNKNOWN if per_mille is None else f"{per_mille / 10:.1f} %"
