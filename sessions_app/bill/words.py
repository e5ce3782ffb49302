"""What a bill says in words. A name of strangers stands apart, for the page to mark it as theirs."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.rendering import numbers, text

from .places import Place

CLASSES = {
    "input": ("Input", "Tokens that were not in a cache"),
    "cache_read": ("Cache read", "Tokens that were in the cache: the context so far, read again by each request"),
    "cache_write": ("Cache write", "Written to the cache; for how long is not stated, the price is that of 5 minutes"),
    "cache_write_5m": ("Cache write, 5 min", "Written to the cache for five minutes"),
    "cache_write_1h": ("Cache write, 1 h", "Written to the cache for an hour"),
    "output": ("Output", "What the model wrote, without reasoning where that is stated apart"),
    "reasoning": ("Reasoning", "Output that the model thought before it answered"),
    "request": ("Fee per request", "What the provider charges for a request whatever its size"),
    "stated": ("Reported, not divided", "Amounts of the recorder, which does not say what they are for"),
    "other_table": ("Computed earlier, not divided", "Priced with another version of the price table"),
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
    tokens, name = f"{numbers.tokens(place.tokens)} tokens", text.first_line(place.name, 60)
    times = _times(place.requests)
    match place.kind:
        case "lost":
            return _lost(place, tokens, name)
        case "context":
            each = numbers.money(place.amount / place.requests)
            what = "is reported to cost" if place.reason else "pays for reading it"
            return Sentence(f"Context of up to {tokens}: each of {times} {what} about {each}")
        case "result":
            return Sentence(f"Result of about {tokens} of ", name or "an unnamed tool", f" carried along for {times}")
        case "begin" if place.reason == "first":
            return Sentence(f"Beginning of a context: {tokens} of instructions, tools and messages")
        case "begin":
            return Sentence(f"New context after it was made smaller: {tokens} sent anew")
        case "sub_agent":
            return Sentence("Sub-agent ", name or "without a name", f": {times}")
        case "stated" if place.reason:
            return Sentence("Amount that the recorder reports for this response and those before it")
        case "stated":
            return Sentence(f"Response of {tokens} in and out, at what the recorder reports")
    return Sentence(f"Long answer: {tokens} of output")


def _lost(place: Place, tokens: str, name: str) -> Sentence:
    if place.reason == "model":
        return Sentence("Cache lost as the model changed to ", name or "one without a name", f": {tokens} sent again")
    if place.reason == "pause":
        pause = numbers.duration((place.seconds or 0) * 1000)
        return Sentence(f"Cache lost after a pause of {pause}: {tokens} sent again")
    return Sentence(
        f"Cache lost without a pause: {tokens} sent again. What stands first in the prompt may have changed"
    )


def _times(number: int) -> str:
    return f"{number:,} request{'' if number == 1 else 's'}"


def share(per_mille: int | None) -> str:
    """``78.6 %`` of the whole bill."""
    return numbers.UNKNOWN if per_mille is None else f"{per_mille / 10:.1f} %"
