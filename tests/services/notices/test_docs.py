"""What the page on notices tells a receiver to do."""

from __future__ import annotations

import re
import time

import pytest

from sessions_app.services.notices import (
    announcing,
    choices,
    outgoing_messages,
    payloads,
    push,
    standard_webhooks,
    subscriptions,
)
from tests.places import DOCS

PAGE = (DOCS / "notices.md").read_text()


def test_the_recipe_for_receivers_accepts_what_is_sent_and_nothing_else():
    recipe: dict = {}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.S)[1], recipe)  # noqa: S102
    secret, body = standard_webhooks.new_secret(), b'{"type": "stop.made"}'
    headers = standard_webhooks.headers(secret, "m1", int(time.time()), body)
    recipe["check"](secret, headers, body)
    for wrong in ((secret, headers, body + b" "), (standard_webhooks.new_secret(), headers, body)):
        with pytest.raises(AssertionError):
            recipe["check"](*wrong)


def test_the_page_names_every_event_and_limit():
    assert set(re.findall(r"`((?:approval|stop)\.[a-z]+)`", PAGE)) == set(announcing.EVENTS)
    assert f"{payloads.MOST_BYTES:,} bytes" in PAGE and f"within {outgoing_messages.SECONDS:.0f} seconds" in PAGE
    words = {5: "5 s", 60: "1 min", 300: "5 min", 1800: "30 min"} | {
        hours * 3600: f"{hours} h" for hours in range(2, 25)
    }
    said = ", ".join(words[wait] for wait in outgoing_messages.WAITS[:-1])
    assert f"{said} and {words[outgoing_messages.WAITS[-1]]}, then given up" in PAGE


def test_the_page_says_how_members_are_told():
    *minutes, last = map(str, filter(None, choices.DIGESTS))
    assert f"within {', '.join(minutes)} or {last} minutes" in PAGE
    assert f"within {choices.MARGIN.seconds // 60} minutes after it" in PAGE
    assert f"one push in {push.PAUSE.seconds} seconds" in PAGE
    assert subscriptions.MOST == 10 and "up to\nten of a member" in PAGE
    longest = outgoing_messages.FIRST_PAUSE * 2**outgoing_messages.DOUBLINGS
    assert f"{outgoing_messages.AT_ONCE} posts at a time" in PAGE
    assert f"double up to {longest // 60} min {longest % 60} s" in PAGE
