"""A model of the OpenAI Agents SDK that asks for refunds, and then is done."""

from __future__ import annotations

from typing import Any

from agents.testing import ScriptedModel, assistant_message, function_call


def model(calls: list[dict[str, Any]]) -> ScriptedModel:
    asked = [function_call("refund", given, call_id=f"call_{number}") for number, given in enumerate(calls)]
    return ScriptedModel([asked, [assistant_message("Done.")]])


def told(model: ScriptedModel) -> list[str]:
    items = model.calls[-1].input
    return [str(item["output"]) for item in items if isinstance(item, dict) and item.get("type", "").endswith("output")]
