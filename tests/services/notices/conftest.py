"""What tests of notices start from: a receiver on loopback that the operator has listed, and a webhook to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sessions_app.models import OutgoingWebhook
from sessions_app.services import audit
from sessions_app.services.notices import outgoing_webhooks
from tests.fakes.webhook_receiver import Receiver, receiver


@pytest.fixture
def listener(settings) -> Iterator[Receiver]:
    settings.PRIVATE_HOSTS = {("127.0.0.1", None)}
    with receiver() as known:
        yield known


@pytest.fixture
def webhook(workspace, listener) -> OutgoingWebhook:
    made, _ = outgoing_webhooks.create(workspace.id, "ops", listener.url, [], by=audit.SYSTEM)
    return made
