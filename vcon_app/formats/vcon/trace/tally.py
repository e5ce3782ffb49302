"""Models, tokens and cost of the entries, counted once per response."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...common.values import text_or_none
from ..file import Notes, point
from . import usage
from .steps import Step
from .traces import Trace

REQUESTS = ("requestId", "request-id", "request_id", "messageId", "message-id")
"""Native ids of a model response; its entries repeat the id, and the usage with it."""
CHARACTERS_PER_TOKEN = 8
"""A model's text has about four characters a token; with fewer than half the tokens the count cannot be true."""


class Tally:
    """Gives steps their model, usage, cost and request."""

    def __init__(self, trace: Trace, notes: Notes) -> None:
        self.models: dict[str, None] = {}
        self._model, self._notes = trace.model, notes
        self._family = usage.provider_family(trace.provider, trace.model, trace.client.get("name"))
        self._running: tuple[Step, dict[str, Any]] | None = None
        self._spoken: dict[str, int] = {}
        self._responses: dict[str, list[Step]] = {}
        self._families: dict[str | None, str | None] = {}
        self._last: tuple[Any, str | None] | None = None

    def read_usage(self, step: Step, entry: dict[str, Any]) -> None:
        """Read ``model-id`` and ``token-usage`` of an entry."""
        model = text_or_none(entry["model-id"]) if "model-id" in entry else None
        if model and model != "unknown":
            step.model = model
            self.models[model] = None
        elif model:
            step.for_writer["model"] = model
        native = step.for_writer.get("native")
        if native:
            step.request = next((value for name in REQUESTS if (value := text_or_none(native.get(name)))), None)
        if isinstance(raw := entry.get("token-usage"), dict):
            self._usage(step, raw)
        elif raw is not None:
            step.for_writer["usage"] = raw
        if native and "requestId" in native:
            self._compare_with_stated(step)

    def _usage(self, step: Step, raw: dict[str, Any]) -> None:
        step.for_writer["usage"] = raw
        pointer = f"{step.pointer}/token-usage"
        if total := usage.cumulative(raw):
            self._running = step, total
            return
        family = self._families.get(step.model)
        if family is None:
            family = self._families[step.model] = usage.provider_family(None, step.model, None) or self._family
        step.usage = usage.read_usage(raw, family, self._notes, pointer)
        step.cost = usage.read_cost(raw, self._notes, pointer)
        self._assume_model(step)
        if step.usage and not step.request and self._last == (raw, step.model):
            self._notes.info(
                "R76",
                pointer,
                "The same token counts stand on two entries in a row and no request id tells "
                "whether they are one response; both are counted.",
                "repeat",
            )
        self._last = (raw, step.model) if step.usage else self._last

    def _assume_model(self, step: Step) -> None:
        """Counts without a model are those of the session's, unless the entry says that it is unknown."""
        if step.usage and step.model is None and self._model and "model" not in step.for_writer:
            step.model, step.for_writer["model"] = self._model, ""

    def _compare_with_stated(self, step: Step) -> None:
        size = len(step.text) + (len(str(step.tool.arguments)) if step.tool and step.kind == "tool_call" else 0)
        self._spoken[step.request or ""] = self._spoken.get(step.request or "", 0) + size
        if step.usage:
            self._responses.setdefault(step.request or "", []).append(step)

    def finish(self) -> None:
        """What only the end tells: the last running total, and counts that were only placeholders."""
        if self._running is not None:
            step, total = self._running
            counted = usage.read_usage(total, self._family, self._notes, point(step.pointer, "token-usage"))
            step.usage = replace(counted, quality="aggregate") if counted else None
            self._assume_model(step)
        low = 0
        for request, steps in self._responses.items():
            output = max(step.usage.output_tokens or 0 for step in steps if step.usage)
            if output * CHARACTERS_PER_TOKEN < self._spoken[request]:
                low += 1
                for step in steps:
                    step.usage = replace(step.usage, quality="placeholder") if step.usage else None
        if low:
            self._notes.warn(
                "R76",
                "",
                f"The output tokens of {low} responses are far too low for their text: this recorder "
                "noted them when the answer began (Claude Code 2.0 did). True numbers are higher.",
            )
