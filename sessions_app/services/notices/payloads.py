"""Bodies of outgoing webhooks: an approval or a stop as the API shows it, with what looks like a secret masked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from django.utils.module_loading import import_string

from sessions_app.models import Approval, Stop
from sessions_app.rendering.masking import MASK, mask, names_secret

APPROVAL = "sessions_app.api.schemas.approvals.Approval"
STOP = "sessions_app.api.schemas.stops.Stop"
"""Forms of the API, which stands above the services: named as tasks are, not imported, so that there is one form."""
MOST_BYTES = 256_000
"""Of a body; beyond it the arguments are left out, and ``data.cut`` says so. Receivers commonly take a megabyte."""


def body(type_: str, at: datetime, data: dict[str, Any]) -> str:
    """``{"type", "timestamp", "data"}`` as JSON, as Standard Webhooks recommends it."""
    return orjson.dumps({"type": type_, "timestamp": _time(at), "data": data}).decode()


def of_approval(type_: str, at: datetime, approval: Approval) -> str:
    """Body about an approval as it stands. Reads its votes."""
    written = body(type_, at, {"approval": masked(as_json(approval))})
    if len(written.encode()) <= MOST_BYTES:
        return written
    return body(type_, at, {"approval": _without_arguments(masked(as_json(approval))), "cut": True})


def of_stop(type_: str, at: datetime, stop: Stop) -> str:
    """Body about a stop."""
    return body(type_, at, {"stop": masked(_shown_by_api(STOP, stop))})


def as_json(approval: Approval) -> dict[str, Any]:
    """The approval as the API shows it."""
    return _shown_by_api(APPROVAL, approval)


def _shown_by_api(form: str, row: Approval | Stop) -> dict[str, Any]:
    shown: dict[str, Any] = import_string(form).from_row(row).model_dump(mode="json")
    return shown


def masked(value: Any) -> Any:
    """A JSON value with what looks like a secret masked, in keys too, and under names that say that it is one."""
    if isinstance(value, str):
        return mask(value)[0]
    if isinstance(value, list):
        return [masked(one) for one in value]
    if isinstance(value, dict):
        return {mask(name)[0]: MASK if names_secret(name) and one else masked(one) for name, one in value.items()}
    return value


def _without_arguments(approval: dict[str, Any]) -> dict[str, Any]:
    approval["tool"]["arguments"] = approval["call"]["arguments"] = None
    approval["context"] = approval["context"][:1_000]
    for said in (*approval["votes"], *filter(None, [approval["decision"]])):
        said["arguments"] = None
    return approval


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
