"""What docs/triggers.md says is what happens: its times, its sender, its tables."""

from __future__ import annotations

import re
from urllib.request import Request

import pytest
from django.test import Client

from sessions_app.models import TriggerRun, WebhookDelivery
from sessions_app.models.triggers import WhenAsking
from sessions_app.services.triggers import cron_times, webhook_payloads, webhook_signatures
from tests.places import DOCS

from .conftest import at

PAGE = (DOCS / "triggers.md").read_text()


def block(language: str) -> str:
    return re.search(rf"```{language}\n(.+?)```", PAGE, re.S)[1]


@pytest.mark.parametrize("line", block("times").splitlines())
def test_documented_cron_examples_have_the_documented_times(line):
    zone, cron, after, told = re.fullmatch(r"(\S+)\s+(.+?)\s+after (\S+)\s+(.+)", line).groups()
    found = cron_times.upcoming(cron, zone, at(after), 2)
    assert [f"{time:%Y-%m-%d %H:%M %Z}" for time in found] == told.split(", ")


def test_documented_sender_is_accepted_and_its_repeat_is_a_duplicate(make_endpoint):
    endpoint, secret = make_endpoint("generic")

    def answered(request: Request) -> Client:
        """The request of the page, given to the test client instead of the network."""
        headers = dict(request.header_items())
        answer = Client().generic("POST", request.selector, request.data, headers.pop("Content-type"), headers=headers)
        assert answer.status_code == 200, answer.content
        answer.read = lambda: answer.content
        return answer

    page: dict = {}
    exec(block("python"), page)  # noqa: S102 - the page's own example, run as its reader would
    page["urlopen"] = answered
    url = f"http://testserver/hooks/{endpoint.hook_id}"
    first = page["send"](url, secret, {"order": 4711}, "a")
    assert page["send"](url, secret, {"order": 4711}, "a") == first | {"duplicate": True}
    delivery = WebhookDelivery.objects.get()
    assert first.keys() == {"delivery", "session", "duplicate"} and first["delivery"] == str(delivery.pk)
    assert (delivery.payload, delivery.verified) == ({"order": 4711}, True)


def test_documented_tables_name_every_scheme_and_status():
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
    assert told == set(webhook_signatures.CHECKS) | set(TriggerRun.Status.values) | {"when_asking", *WhenAsking.values}
    named = {name.lower() for name in re.findall(r"`([\w-]+)`", PAGE)}
    ids = {name for names in webhook_payloads.HEADERS_OF_ID.values() for name in names} | set(webhook_payloads.ANY_ID)
    assert ids <= named
