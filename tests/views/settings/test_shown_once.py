"""What is shown once waits, encrypted, for the page that shows it, and for no other."""

from __future__ import annotations

import re

import pytest
from django.contrib.sessions.models import Session

from sessions_app.models import ApiKey
from sessions_app.views.settings import shown_once

KEY = {"name": "robot", "role": "agent"}


def shown(answer) -> list[str]:
    return re.findall(r'id="secret">(cs_[^<]+)<', answer.content.decode())


def test_a_key_waits_for_its_page_and_is_then_gone(admin):
    assert admin.post("/settings/keys/", KEY).url == "/settings/#keys"
    assert "cs_" not in str(admin.session[shown_once.KEY]), "it waits encrypted"
    assert shown(admin.get("/triggers/")) == [] and shown(admin.head("/settings/")) == []
    (secret,) = shown(admin.get("/settings/"))
    assert admin.session[shown_once.KEY] == {}
    assert shown(admin.get("/settings/")) == []
    assert ApiKey.objects.count() == 1 and secret not in str([one.get_decoded() for one in Session.objects.all()])


@pytest.mark.parametrize("change", ["time", "key"])
def test_what_waited_too_long_or_cannot_be_read_is_not_shown(admin, monkeypatch, settings, change):
    admin.post("/settings/keys/", KEY)
    if change == "time":
        monkeypatch.setattr(shown_once, "SECONDS", 0)
    else:
        waiting = admin.session
        waiting[shown_once.KEY] = {"/settings/": "of another key"}
        waiting.save()
    answer = admin.get("/settings/")
    assert answer.status_code == 200 and shown(answer) == []
    assert admin.session[shown_once.KEY] == {}


def test_two_that_wait_are_shown_each_on_its_page(admin):
    admin.post("/settings/keys/", KEY)
    hook = admin.post("/settings/webhooks/new/", {"name": "ops", "url": "https://ops.example.com/in"}).url
    assert "whsec_" in admin.get(hook).content.decode()
    assert len(shown(admin.get("/settings/"))) == 1
