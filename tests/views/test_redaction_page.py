"""The redaction page: what is ticked is kept, what was removed is looked for, and only reviewers come here."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Session
from sessions_app.services.log import events, links
from tests.html import on_one_line
from tests.services.files import vcon
from tests.services.imports.test_imports import BY, drop
from tests.signing.make import ed_key, public_pem, rsa_key
from vcon_app.models import Redaction
from vcon_app.services.exports import redactions
from vcon_app.services.trust import anchors

from .build import session_of, words
from .test_query_counts import queries

pytestmark = pytest.mark.usefixtures("document_storage")
SECRET = "My card is 4711 0815 2342"


@pytest.fixture
def session_with_secret(workspace) -> Session:
    drop(workspace, vcon(SECRET, "Thank you", f"So, {SECRET}?"), "chat.vcon")
    return Session.objects.get()


def at(session, *path: str) -> str:
    return "/".join(["", "sessions", str(session.pk), "redact", *path, ""])


def rules() -> list[dict]:
    return Redaction.objects.get().rules


def test_ticks_are_kept_and_taken_back(reviewer, session_with_secret):
    sent = {"seen": [1, 2, 3], "remove": ["1:event", "3:text", "9:event", "2:stone"], "q": "", "kind": "messages"}
    answer = reviewer.post(at(session_with_secret, "events"), sent)
    assert (answer.status_code, answer.url) == (302, f"{at(session_with_secret)}?kind=messages")
    assert rules() == [{"what": "event", "seq": 1}, {"what": "text", "seq": 3}]
    assert 'value="1:event" checked' in on_one_line(reviewer.get(at(session_with_secret)))
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": []})
    assert rules() == [{"what": "text", "seq": 3}]


def test_a_click_answers_with_the_panel_alone(reviewer, session_with_secret):
    answer = reviewer.post(
        at(session_with_secret, "events"), {"seen": [1], "remove": ["1:event"]}, headers={"HX-Request": "true"}
    )
    assert answer.status_code == 200
    assert "1 event ticked" in words(answer)
    assert "<html" not in answer.content.decode()


def test_kinds_and_words_are_kept_beside_the_ticks(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [2], "remove": ["2:text"]})
    reviewer.post(at(session_with_secret, "kinds"), {"what": ["people", "title", "stone"]})
    reviewer.post(at(session_with_secret, "words"), {"add": "4711"})
    assert {rule["what"] for rule in rules()} == {"text", "people", "title", "containing"}
    assert "1 event ticked, 2 of what is ticked here, 1 search" in words(reviewer.get(at(session_with_secret)))
    reviewer.post(at(session_with_secret, "kinds"), {"what": ["title"]})
    reviewer.post(at(session_with_secret, "words"), {"drop": "4711"})
    assert {rule["what"] for rule in rules()} == {"text", "title"}
    reviewer.post(at(session_with_secret, "discard"))
    assert not Redaction.objects.exists()


def test_parts_removed_by_a_rule_are_marked_at_their_events(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "words"), {"add": "0815"})
    page = reviewer.get(at(session_with_secret)).content.decode()
    assert page.count("is-implied") == 2


def test_words_narrow_the_list_and_can_be_removed_at_once(reviewer, session_with_secret):
    page = reviewer.get(at(session_with_secret), {"q": "CARD"})
    assert (page.content.decode().count('class="redact-row"'), "Remove every place that contains" in words(page)) == (
        2,
        True,
    )
    assert "Nothing of this kind contains" in words(reviewer.get(at(session_with_secret), {"q": "%"}))


def test_too_short_a_word_is_refused_in_words(reviewer, session_with_secret):
    answer = reviewer.post(at(session_with_secret, "words"), {"add": "x"}, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert "2 to 200 characters" in words(answer)
    assert "2 to 200 characters" in words(reviewer.post(at(session_with_secret, "words"), {"add": "x"}, follow=True))


def test_the_file_is_made_held_back_and_made_again_without_what_was_found(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII Redaction", "signed": "false"}, follow=True)
    assert "Removed words still stand in 1 place of this file" in words(held)
    assert "Removed from event 1 . Still in event 3 : /dialog/2/body" in words(held)
    assert "Download" not in words(held)
    path = held.redirect_chain[-1][0]
    ready = reviewer.post(f"{path}more/", follow=True)
    assert "Nothing that was removed stands in this file any more" in words(ready)
    again = Redaction.objects.order_by("-pk").first()
    assert "4711 0815" not in json.dumps(json.loads(redactions.open_file(again).read()))


def test_what_is_made_again_leaves_what_was_chosen_meanwhile(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII Redaction"}, follow=True)
    reviewer.post(at(session_with_secret, "words"), {"add": "Thank"})
    assert not Redaction.objects.filter(export=None).exclude(rules=[{"what": "containing", "words": "Thank"}]).exists()
    again = reviewer.post(f"{held.redirect_chain[-1][0]}more/", follow=True)
    assert "Nothing that was removed stands in this file any more" in words(again)
    assert Redaction.objects.get(export=None).rules == [{"what": "containing", "words": "Thank"}]
    assert Redaction.objects.exclude(export=None).count() == 2


def test_choosing_again_begins_with_what_was_chosen_for_the_file(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII Redaction"}, follow=True)
    reviewer.post(at(session_with_secret, "words"), {"add": "Thank"})
    page = reviewer.post(f"{held.redirect_chain[-1][0]}choose/", follow=True)
    assert "1 event ticked, 1 search" in words(page)
    assert 'value="1:text" checked' in on_one_line(page)


def test_a_file_was_made_when_it_was_made(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1, 3], "remove": ["1:text", "3:text"]})
    days_ago = timezone.now() - timedelta(days=3)
    Redaction.objects.update(created_at=days_ago)
    made = reviewer.post(at(session_with_secret, "make"), {"type": "PII Redaction"}, follow=True)
    assert "3 days ago" not in words(made)
    assert Redaction.objects.get().created_at > days_ago


def test_what_is_made_again_is_encrypted_for_the_same_people(reviewer, session_with_secret):
    court = anchors.add(session_with_secret.workspace, public_pem(rsa_key()), name="Court", by=BY)
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII", "encrypt_for": [str(court.pk)]}).url
    assert "signed by us, encrypted for Court" in words(reviewer.post(f"{held}more/", follow=True))
    anchors.remove(court, by=BY)
    refused = reviewer.post(f"{held}more/", follow=True)
    assert "no trust anchor of this workspace" in words(refused), "never without the encryption that was chosen"
    assert Redaction.objects.exclude(export=None).count() == 2


def test_what_cannot_be_signed_any_more_is_told_and_not_made_again(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII", "signed": "true"}).url
    Session.objects.update(status=Session.Status.RUNNING)
    assert "this session still goes on" in words(reviewer.post(f"{held}more/", follow=True))


def test_a_reviewer_may_accept_what_was_found(reviewer, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1], "remove": ["1:text"]})
    held = reviewer.post(at(session_with_secret, "make"), {"type": "PII"}, follow=True)
    done = reviewer.post(f"{held.redirect_chain[-1][0]}accept/", follow=True)
    assert "accepted 1 place that still says what was removed" in words(done)
    assert "Download the redacted vCon" in words(done)


def test_redaction_page_offers_encryption_for_a_trust_anchor(reviewer, session_with_secret):
    court = anchors.add(session_with_secret.workspace, public_pem(rsa_key()), name="Court", by=BY)
    anchors.add(session_with_secret.workspace, public_pem(ed_key()), name="Press", by=BY)
    page = on_one_line(reviewer.get(at(session_with_secret, "preview")))
    assert f'value="{court.pk}">' in page and "RSA-OAEP needs an RSA key" in page
    reviewer.post(at(session_with_secret, "words"), {"add": "4711 0815"})
    made = reviewer.get(
        reviewer.post(at(session_with_secret, "make"), {"type": "PII", "encrypt_for": [str(court.pk)]}).url
    )
    assert "signed by us, encrypted for Court" in words(made)
    refused = reviewer.post(at(session_with_secret, "make"), {"type": "PII", "encrypt_for": ["nobody"]})
    assert (refused.status_code, "no trust anchor" in words(refused)) == (422, True)


def test_redaction_without_rules_or_type_is_refused_on_the_page(reviewer, session_with_secret):
    answer = reviewer.post(at(session_with_secret, "make"), {"type": "PII"})
    assert (answer.status_code, "nothing is chosen" in words(answer)) == (422, True)
    reviewer.post(at(session_with_secret, "kinds"), {"what": ["title"]})
    answer = reviewer.post(at(session_with_secret, "make"), {"type": " "})
    assert (answer.status_code, "what kind of redaction it is" in words(answer)) == (422, True)


def test_only_reviewers_open_the_redaction_page(viewer, charlie, reviewer, session_with_secret):
    made = (
        reviewer.post(at(session_with_secret, "kinds"), {"what": ["title"]})
        and reviewer.post(at(session_with_secret, "make"), {"type": "x"}).url
    )
    for path in ("", "preview", "events", "kinds", "words", "discard", "make"):
        method = "get" if path in ("", "preview") else "post"
        where = at(session_with_secret, path) if path else at(session_with_secret)
        assert getattr(viewer, method)(where).status_code == 403, path
        assert getattr(charlie, method)(where).status_code == 404, path
    for path, method in ((made, "get"), (f"{made}accept/", "post"), (f"{made}more/", "post")):
        assert getattr(viewer, method)(path).status_code == 403
        assert getattr(charlie, method)(path).status_code == 404


def test_the_session_page_leads_here_for_who_may(reviewer, viewer, session_with_secret):
    page = f"/dashboard/sub-agents/{session_with_secret.agent_id}/chat/{session_with_secret.pk}"
    assert f'href="{at(session_with_secret)}"' in reviewer.get(page).content.decode()
    assert f'href="{at(session_with_secret)}?event=2"' in reviewer.get(f"{page}?event=2").content.decode()
    assert at(session_with_secret) not in viewer.get(f"{page}?event=2").content.decode()


def test_the_page_begins_at_the_event_it_was_called_for(reviewer, session_with_secret):
    page = reviewer.get(at(session_with_secret), {"event": "3"}).content.decode()
    assert ('value="3:event"' in page, 'value="2:event"' in page) == (True, False)


def test_a_large_session_is_shown_in_pages_with_as_many_queries_as_a_small_one(reviewer, agent):
    small, large = session_of(agent, "Small"), session_of(agent, "Large")
    new = [
        EventDraft(kind="tool_call", key=f"c{n}", tool=ToolDraft(call_id=f"c{n}", name="look", arguments={"n": n}))
        for n in range(150)
    ]
    events.append(large.pk, new, origin=links.RUNTIME)
    for session in (small, large):
        reviewer.post(at(session, "words"), {"add": "look it up"})
        reviewer.post(at(session, "kinds"), {"what": ["arguments"]})
        reviewer.get(at(session))
    assert queries(reviewer, at(small)) == queries(reviewer, at(large)) <= 15
    first = reviewer.get(at(large)).content.decode()
    assert first.count('class="redact-row"') == 50
    assert 'href="?after=50"' in first
    assert reviewer.get(at(large), {"after": "150"}).content.decode().count('class="redact-row"') == 2


def test_hostile_text_is_only_shown(reviewer, workspace):
    drop(workspace, vcon("<script>alert(1)</script>\u202e", "b", subject="<b>x"), "chat.vcon")
    session = Session.objects.get()
    page = reviewer.get(at(session), {"q": "<script>"}).content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_a_session_from_a_redacted_file_shows_it_and_where(reviewer, workspace, session_with_secret):
    reviewer.post(at(session_with_secret, "events"), {"seen": [1, 3], "remove": ["1:text", "3:event"]})
    reviewer.post(at(session_with_secret, "make"), {"type": "PII <b>Redaction"})
    data = redactions.open_file(Redaction.objects.select_related("export__session").get()).read()
    [link] = drop(workspace, data, "redacted.vcon").session_links.all()
    page = reviewer.get(f"/dashboard/sub-agents/{link.session.agent_id}/chat/{link.session.pk}")
    assert "Parts of this were removed before it came here ( PII <b>Redaction )" in words(page)
    assert words(page).count("content removed or absent") >= 2
    assert "unredacted" not in words(page)


def test_shells_of_a_trace_are_marked_at_their_events(reviewer, workspace, agent):
    session = session_of(agent, "Large")
    new = [
        EventDraft(kind="reasoning", key="r", text="a secret plan"),
        EventDraft(kind="agent_message", key="m", text="Done"),
    ]
    events.append(session.pk, new, origin=links.RUNTIME)
    session.refresh_from_db()
    redactions.make(session, [{"what": "reasoning"}, {"what": "text", "seq": 4}], "PII", by=BY)
    data = redactions.open_file(Redaction.objects.select_related("export__session").get()).read()
    [link] = drop(workspace, data, "redacted.vcon").session_links.all()
    page = reviewer.get(f"/dashboard/sub-agents/{link.session.agent_id}/chat/{link.session.pk}")
    assert "removed before it came here" in words(page)
    assert page.content.decode().count("Removed before it came here: text") == 2
