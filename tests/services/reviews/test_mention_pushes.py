"""Who is named in a comment is told in their browsers: once each, and nothing of what was written."""

from __future__ import annotations

import pytest
from django.utils import timezone

from sessions_app.models import Mention, PushSubscription, Session
from sessions_app.services import audit
from sessions_app.services.notices import choices
from sessions_app.services.reviews import comments, mention_pushes
from tests.services.notices.test_push import browser, member, rosa, service, subscribed

__all__ = ["browser", "rosa", "service"]


@pytest.fixture
def ada(workspace):
    return member(workspace, "ada")


def say(session, author, words: str):
    return comments.add(session.pk, author, words, by=audit.COMMAND)


def send_all() -> None:
    """As workers and sweep would, some time later."""
    PushSubscription.objects.update(next_at=None)
    Mention.objects.exclude(push_at=None).update(push_at=timezone.now())
    for pk in Mention.objects.values_list("pk", flat=True):
        mention_pushes.send(pk)


def test_each_browser_is_told_once_without_what_was_written(session, service, rosa, browser, ada):
    Session.objects.filter(pk=session.pk).update(title="Hush title")
    other = subscribed(service, rosa)
    said = say(session, ada, "@rosa look at this secret")
    for _ in range(2):
        send_all()
    for told in (browser, other):
        (push,) = told.pushes
        assert push.told["asked"]["title"] == "ada mentioned you in a comment"
        assert push.told["asked"]["url"].endswith(f"/chat/{session.pk}?comment={said.pk}#comment-{said.pk}")
        assert "secret" not in str(push.told) and "Hush" not in str(push.told)


def test_a_browser_that_did_not_take_it_is_told_later_and_the_other_not_again(session, service, rosa, browser, ada):
    other = subscribed(service, rosa)
    say(session, ada, "@rosa look")
    service.answers = [(503, {})]
    send_all()
    assert (len(browser.pushes), len(other.pushes)) == (0, 1)
    send_all()
    assert (len(browser.pushes), len(other.pushes)) == (1, 1) and Mention.objects.get().push_at is None


def test_who_chose_otherwise_or_has_read_it_is_not_told(session, rosa, browser, ada):
    choices.choose(rosa, mail=False, least_risk="", push_mentions=False)
    say(session, ada, "@rosa look")
    send_all()
    choices.choose(rosa, mail=False, least_risk="")
    say(session, ada, "@rosa look again")
    comments.read_mentions(rosa, session)
    send_all()
    assert browser.pushes == [] and not Mention.objects.exclude(push_at=None).exists()


def test_what_was_lost_is_swept_up_and_given_up_in_the_end(session, service, rosa, browser, ada):
    say(session, ada, "@rosa look")
    assert mention_pushes.sweep() == 1
    service.answers = [(503, {})] * 20
    for _ in range(len(mention_pushes.WAITS) + 1):
        assert Mention.objects.get().push_at is not None
        send_all()
    assert Mention.objects.get().push_at is None and browser.pushes == []
