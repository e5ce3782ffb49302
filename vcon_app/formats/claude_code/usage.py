"""What a response cost beside its tokens, and a check of the stated output against the text in the file."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from ...drafts import Finding
from ..common.values import dict_of, number_of, scalars_of

OPEN_RESPONSES = 64
"""Responses whose lines may still follow; Claude Code writes the lines of one response close together."""
PRICED = ("speed", "service_tier")
MOST_DOLLARS = 10**6
"""More than any response costs: a larger number in a file is nonsense and counts as not stated."""
CHARACTERS_PER_TOKEN = 8
"""Text of a model has about four characters a token; below half of that the count cannot be true."""


def usage_data(message: dict[str, Any]) -> dict[str, Any]:
    """Other members of the usage object that have a price: speed, tier, server tools, calls inside the request."""
    usage = message["usage"]
    data = {}
    if "speed" in usage or usage.get("service_tier") != "standard":
        data = scalars_of({name: usage[name] for name in PRICED if name in usage})
        if data.get("service_tier") == "standard":
            del data["service_tier"]
    server = usage.get("server_tool_use")
    if server and (tools := {k: v for k, v in scalars_of(dict_of(server)).items() if v}):
        data["server_tool_use"] = tools
    rounds = usage.get("iterations")
    if isinstance(rounds, list) and len(rounds) > 1:  # the tokens of those before are not in the other counts
        data["iterations"] = [scalars_of(dict_of(item)) for item in rounds[:20]]
    return data


def cost_of(value: Any) -> Decimal | None:
    """US dollars stated by the recorder (``costUSD``, Claude Code before about 1.0.9)."""
    number = number_of(value, MOST_DOLLARS)
    return None if number is None else Decimal(str(number))


class Outputs:
    """Compares the stated output of each response with the text that stands in the file.

    Versions 2.0.x to 2.1.4x wrote only the first count of the stream (1 to 8 tokens); nothing in the
    file has the true number.
    """

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, int]] = {}
        self._responses = 0
        self._short = 0

    def add(self, request: str, characters: int, output_tokens: int) -> bool:
        """Add one line of a response: its visible characters and the output it states.

        Whether that is too little for what was seen of the response so far; a later line may state more.
        """
        # Popped and set again: the dict keeps the order of use, so the oldest response is closed first.
        before, known = self._open.pop(request, (0, 0))
        seen, stated = self._open[request] = before + characters, known if known > output_tokens else output_tokens
        if len(self._open) > OPEN_RESPONSES:
            self._close(next(iter(self._open)))
        return _is_short(seen, stated)

    def finding(self) -> Finding | None:
        """The verdict over the file: a finding when most responses state less than half of their text."""
        for request in list(self._open):
            self._close(request)
        # A few short ones prove nothing; when most are short, the recorder is at fault.
        if not self._short or self._short * 2 <= self._responses:
            return None
        return Finding(
            "claude-code.placeholder-output", "warning", "",
            "output tokens are under-reported by the recorder: "
            f"{self._short} of {self._responses} responses state fewer tokens "
            f"than 1/{CHARACTERS_PER_TOKEN} of their visible characters",
        )  # fmt: skip

    def _close(self, request: str) -> None:
        characters, tokens = self._open.pop(request)
        if characters:
            self._responses += 1
            self._short += _is_short(characters, tokens)


def _is_short(characters: int, tokens: int) -> bool:
    return tokens < characters / CHARACTERS_PER_TOKEN
