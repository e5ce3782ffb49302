"""The way out on the page of a session: formats, what can be chosen, what gets lost, who took it, and may it go."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.utils.html import escape

from sessions_app.models import AuditEntry, Session
from sessions_app.services import audit
from tests.html import on_one_line
from tests.signing.make import ec_key, owner, private_pem, public_pem, rsa_key
from vcon_app.models import Export
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.services.trust import anchors

from .build import asked, path_of, said, session_with

HAND_ON = "agent_session_redistribution"
FETCHED = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def completed_session(agent, settings, tmp_path) -> Session:
    settings.DATA_DIR = tmp_path
    settings.SIGNING_KEY, settings.SIGNING_CERTIFICATES = tmp_path / "own.key", tmp_path / "own.pem"
    settings.SIGNING_KEY.write_text(private_pem(rsa_key()))
    settings.SIGNING_CERTIFICATES.write_text(owner("desk.example", rsa_key()).pem)
    return session_with(agent, [asked("a", "Where is it?"), said("b", "Under way.")], phase="completed")


def page(client, session: Session) -> str:
    """The page of a session, and what its menu fetches behind it."""
    formats = client.get(f"/sessions/{session.pk}/export/formats", **FETCHED)
    return on_one_line(client.get(path_of(session))) + on_one_line(formats)


def way(html: str, format: str) -> str:
    """The form of one format."""
    found = re.search(rf'<form (?:(?!</form>).)*name="format" value="{format}".*?</form>', html, re.DOTALL)
    return found[0]


def basis(session: Session, granted=True, expiration="2099-01-01T00:00:00Z", kind="contract") -> None:
    grants = [{"purpose": "agent_session_analysis", "granted": True}]
    grants += [{"purpose": HAND_ON, "granted": granted}] if granted is not None else []
    session.metadata = {"lawful_basis": [{"lawful_basis": kind, "expiration": expiration, "purpose_grants": grants}]}
    session.save()


def test_every_format_is_one_form_that_works_without_javascript(viewer, completed_session):
    html = page(viewer, completed_session)
    for format in export_options.formats_of(completed_session):
        form = way(html, format)
        assert f'<form method="get" action="/api/v1/sessions/{completed_session.pk}/export">' in form
        assert f"<b>{format}</b>" in form or format in ("html", "bundle", "original")


def test_three_ways_stand_first_in_words_and_the_formats_behind_them(viewer, completed_session):
    html = page(viewer, completed_session)
    shown, behind = html.split('<details class="out-more"')
    assert "<b>Share a page</b>" in shown and "<b>Hand over</b>" in shown
    assert "<b>vcon</b>" not in shown and "<b>vcon</b>" in behind and "<b>Share a page</b>" not in behind


def test_the_formats_behind_them_are_fetched_when_they_are_opened(viewer, completed_session):
    html, path = on_one_line(viewer.get(path_of(completed_session))), f"/sessions/{completed_session.pk}/export/formats"
    assert f'hx-get="{path}"' in html and f'href="{path}"' in html and "<b>vcon</b>" not in html
    alone = on_one_line(viewer.get(path))
    assert alone.startswith("<!doctype html>") and "<b>vcon</b>" in alone and "<b>Share a page</b>" not in alone


def test_the_formats_of_another_workspace_are_not_there(charlie, completed_session):
    assert charlie.get(f"/sessions/{completed_session.pk}/export/formats").status_code == 404


def test_choices_stand_only_where_they_apply(viewer, completed_session):
    html = page(viewer, completed_session)
    assert '<select name="bodies"><option value="json">' in way(html, "vcon")
    assert {'name="signed"', 'name="verdicts"'} <= set(re.findall(r'name="\w+"', way(html, "vcon")))
    assert set(re.findall(r'name="\w+"', way(html, "markdown"))) == {'name="format"'}


def test_export_form_sends_the_options_that_the_service_accepts(viewer, completed_session):
    form = way(page(viewer, completed_session), "vcon")
    names = set(re.findall(r' name="(\w+)"', form)) - {"format", "encrypt_for"}
    for name in names:
        for value in re.findall(rf'name="{name}" value="(\w+)"', form) or re.findall(r'<option value="(\w+)"', form):
            assert export_jobs.report(completed_session, "vcon", {name: value}) == []


def test_recipients_are_the_trust_anchors_and_who_cannot_receive_says_why(viewer, completed_session, workspace):
    ana = anchors.add(workspace, public_pem(rsa_key(4)), name="Ana <b>", by=audit.COMMAND)
    bo = anchors.add(workspace, public_pem(ec_key()), name="Bo", by=audit.COMMAND)
    years = datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)
    anchors.add(workspace, owner("Cy", rsa_key(5), dates=years).pem, by=audit.COMMAND)
    form = way(page(viewer, completed_session), "vcon")
    assert f'name="encrypt_for" value="{ana.pk}">' in form and "Ana &lt;b&gt;" in form
    assert f'name="encrypt_for" value="{bo.pk}" disabled>' in form
    assert "Cy: its certificate expired on 1 January 2021" in form


def test_running_session_is_not_offered_signed(viewer, completed_session):
    completed_session.phase = Session.Phase.ACTIVE
    completed_session.save()
    form = way(page(viewer, completed_session), "vcon")
    assert "It can be signed when the session has ended." in form
    assert 'name="signed"' not in form and 'name="encrypt_for"' not in form


@pytest.mark.parametrize(
    ("stated", "words", "tone"),
    [
        ({}, "the file grants redistribution", "quiet"),
        ({"granted": False}, "the file denies redistribution", "is-wrong"),
        ({"granted": None}, "no grant to redistribute", "is-wrong"),
        ({"expiration": "2020-01-01T00:00:00Z"}, "redistribution expired", "is-wrong"),
    ],
)
def test_legal_basis_is_shown_beside_the_export_button(viewer, completed_session, stated, words, tone):
    basis(completed_session, **stated)
    beside = page(viewer, completed_session).split('<details class="dropdown export">')[0].split("basis-line")[1]
    assert words in beside and tone in beside
    assert ("contract until 1 Jan 2099" in beside) == ("expiration" not in stated)
    assert ("contract expired 1 Jan 2020" in beside) == ("expiration" in stated)


def test_each_grant_stands_in_the_panel(viewer, completed_session):
    basis(completed_session, granted=False, kind="<script>")
    html = page(viewer, completed_session)
    panel = html.split('<section class="out-basis">')[1].split("</section>")[0]
    assert "analysis granted" in panel and "redistribution denied" in panel
    assert "&lt;script&gt;" in panel and "<script>" not in panel


def test_missing_legal_basis_is_mentioned_quietly(viewer, completed_session):
    assert "No legal basis is stated." in page(viewer, completed_session)
    assert "basis-line" not in page(viewer, completed_session)
    Session.objects.filter(pk=completed_session.pk).update(origin="import")
    assert "no legal basis stated" in page(viewer, completed_session)


def test_loss_report_is_one_click_away_and_makes_no_export(viewer, completed_session):
    place = f"/sessions/{completed_session.pk}/export/report?format=upg"
    assert f'href="{place}"' in page(viewer, completed_session)
    alone, part = viewer.get(place).content.decode(), viewer.get(place, **FETCHED).content.decode()
    [first, *_] = export_jobs.report(completed_session, "upg")
    assert escape(first["what"]) in part and part.strip() in alone and "<html" in alone and "<html" not in part
    assert not Export.objects.exists()
    assert not AuditEntry.objects.filter(action="session.exported").exists()


def test_the_report_follows_the_choices_and_says_what_cannot_be(viewer, completed_session):
    place = f"/sessions/{completed_session.pk}/export/report"
    fine = viewer.get(f"{place}?format=vcon&bodies=string&signed=true&encrypt_for=x", **FETCHED)
    assert fine.status_code == 200 and "carries everything" in fine.content.decode()
    wrong = viewer.get(f"{place}?format=vcon&bodies=<b>", **FETCHED)
    assert wrong.status_code == 422 and "&lt;b&gt;" in wrong.content.decode()
    assert viewer.get(f"{place}?format=stone").status_code == viewer.get(place).status_code == 422


def test_the_report_of_a_session_elsewhere_is_not_there(charlie, completed_session):
    assert charlie.get(f"/sessions/{completed_session.pk}/export/report?format=html").status_code == 404


def test_earlier_exports_are_listed_with_the_facts_of_the_session(viewer, completed_session):
    assert "Not exported yet." in page(viewer, completed_session)
    by = audit.Actor("member", name="Ada <i>")
    for format, options in (("html", {}), ("vcon", {"bodies": "string", "signed": "true"})):
        export_jobs.start_export(completed_session, format, by=by, options=options)
    assert "Exported 2 times" in page(viewer, completed_session)
    facts = on_one_line(viewer.get(f"{path_of(completed_session)}/facts", **FETCHED))
    listed = re.findall(r"<li>(.*?)</li>", facts.split("<h3>Exports</h3>")[1], re.DOTALL)
    assert [re.sub(r"<[^>]+>", "", row).split("just")[0].strip() for row in listed[:2]] == [
        "vcon, signed, bodies string",
        "html",
    ]
    assert "Ada &lt;i&gt;" in listed[0]


def test_settings_page_shows_anchors_that_can_receive(admin, workspace):
    anchors.add(workspace, public_pem(rsa_key(4)), name="Ana", by=audit.COMMAND)
    anchors.add(workspace, public_pem(ec_key()), name="Bo", by=audit.COMMAND)
    html = admin.get("/settings/").content.decode()
    assert html.count("can receive encrypted exports") == 1
    assert "no encrypted exports: its key is secp256r1" in html


def test_what_nobody_granted_is_handed_on_only_by_who_confirms_it(viewer, completed_session):
    basis(completed_session, granted=False)
    assert 'name="redistribution" value="confirmed" required' in way(page(viewer, completed_session), "vcon")
    basis(completed_session)
    assert "redistribution" not in way(page(viewer, completed_session), "vcon")
