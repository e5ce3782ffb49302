"""A workspace with an agent that takes its turns here, and things that fire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sessions_app.models import Schedule, WebhookEndpoint
from sessions_app.services import audit
from sessions_app.services.triggers import schedules, webhook_endpoints

INES = audit.Actor("member", "m", "Ines")
TEXT = "Write the report"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.fixture
def make_schedule(scripted_agent) -> Callable[..., Schedule]:
    """A schedule; ``due`` is when it fires next."""

    def make(due: str | None = None, **fields: Any) -> Schedule:
        defaults = {"name": "Morning report", "cron": "0 9 * * *", "timezone": "Europe/Berlin", "input_text": TEXT}
        made = schedules.create(scripted_agent, by=INES, **defaults | fields)
        if due:
            Schedule.objects.filter(pk=made.pk).update(next_run_at=at(due), updated_at=at(due))
            made.refresh_from_db()
        return made

    return make


@pytest.fixture
def make_endpoint(scripted_agent) -> Callable[..., tuple[WebhookEndpoint, str]]:
    """An endpoint and the secret that was made for it."""

    def make(scheme: str = "generic", name: str = "orders", **fields: Any) -> tuple[WebhookEndpoint, str]:
        return webhook_endpoints.create(
            scripted_agent.workspace_id, name, scheme, by=INES, **{"agent": scripted_agent} | fields
        )

    return make
