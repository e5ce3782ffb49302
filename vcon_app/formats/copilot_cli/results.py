"""Results of calls: text, outcome, and facts that the text does not have."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from ..common.values import bounded, dict_of, number_of, text_of

REFUSED = re.compile(
    r"(?:denied|rejected) by (?:the )?user|user (?:denied|rejected|declined)|permission (?:was )?denied", re.I
)
HEAD = 500


@dataclass(slots=True)
class Result:
    text: str
    status: str | None
    facts: dict[str, Any] = field(default_factory=dict)


def result_of(data: dict[str, Any], size: int) -> Result:
    """The result of a ``tool.execution_complete`` event. ``size`` is that of its line, in bytes."""
    result, error = dict_of(data.get("result")), dict_of(data.get("error"))
    told = (result.get("content"), result.get("text_result_for_llm"), error.get("message"), data.get("error"))
    text = next(filter(None, map(text_of, told)), "")
    detailed = text_of(result.get("detailedContent"))
    facts: dict[str, Any] = {}
    if detailed and detailed != text:
        facts["diff" if detailed.lstrip().startswith(("diff --git", "--- ")) else "detailed"] = bounded(detailed, size)
    metrics = dict_of(dict_of(data.get("toolTelemetry")).get("metrics"))
    if (milliseconds := number_of(metrics.get("durationMs"), 10**12)) is not None:
        facts["duration_ms"] = milliseconds
    if code := text_of(error.get("code"))[:100]:
        facts["error_code"] = code
    success = {"success": True, "failure": False}.get(text_of(result.get("result_type")), data.get("success"))
    return Result(text, _status(success, code, text), facts)


def _status(success: Any, code: str, text: str) -> str | None:
    if success is True:
        return "ok"
    if success is not False:
        return None
    if code in ("denied", "rejected") or REFUSED.search(text[:HEAD]):
        return "denied"
    return "cancelled" if code in ("cancelled", "aborted", "interrupted") else "error"
