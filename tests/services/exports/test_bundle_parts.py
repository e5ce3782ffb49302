"""A bundle of a session: what is gathered for it, that it verifies, and that it comes back as the same session."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Session
from sessions_app.queries.sessions import provenance
from sessions_app.services import audit, workspaces
from sessions_app.services.approvals import requests
from tests.formats.written.test_bundle import members, packed
from tests.signing import make
from tests.signing.make import ec_key, private_pem
from vcon_app.formats import bundle
from vcon_app.formats.common.zips import Archive
from vcon_app.models import Export, Import, SourceDocument
from vcon_app.queries import sources
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.services.imports import import_jobs
from vcon_app.services.trust import anchors, own_keys, signatures, verification
from vcon_app.signing.keys import fingerprint

from ..build import append, user
from ..documents.test_archives import TWO
from ..documents.test_archives import packed as zipped
from ..files import OWNER, transcript, vcon
from ..imports.test_imports import BY, drop, keys
from ..stored import stored

pytestmark = pytest.mark.django_db
OTHER = "7d1c2a90-55aa-4c11-8f00-9a8b7c6d5e4f"


def handed_over(session: Session, format: str = "bundle", **options) -> bytes:
    session.refresh_from_db()
    done = export_jobs.start_export(session, format, by=BY, options=options)
    assert (done.status, done.error) == (Export.Status.DONE, None)
    return export_jobs.open_file(done).read()


def verified(data: bytes, tmp_path, workspace) -> verification.Verdict:
    path = tmp_path / "handed.zip"
    path.write_bytes(data)
    return verification.check_file(path, anchors.keyring(workspace.pk).anchors)


@pytest.fixture
def imported_session(workspace) -> Session:
    drop(workspace, transcript(6), "../clock?.jsonl")
    return Session.objects.get()


def test_a_bundle_verifies_here_by_our_own_key(workspace, imported_session, tmp_path):
    found = verified(handed_over(imported_session), tmp_path, workspace)
    assert (found.signature.state, found.signature.signer, found.findings) == ("valid", "this installation", [])


def test_bundle_holds_the_original_and_the_audit_records(workspace, imported_session):
    requests.request(imported_session, requests.Question("issue_refund", {"order": "4711"}), by=BY)
    drop(workspace, transcript(2, OTHER), "other.jsonl")
    held = members(handed_over(imported_session))
    assert held["original/clock_.jsonl"] == transcript(6)
    entries = [json.loads(json.loads(line)["entry"]) for line in held["audit.jsonl"].splitlines()]
    assert [entry["action"] for entry in entries] == ["import.started", "approval.requested", "session.exported"]
    told = json.loads(held["manifest.json"])
    assert told["session"] == {
        "id": str(imported_session.pk), "external_id": OWNER, "title": imported_session.title, "agent": "Claude Code",
        "events": imported_session.last_seq,
    }  # fmt: skip
    assert told["original"]["document"] == told["original"]["sha256"] == SourceDocument.objects.first().sha256
    assert (told["exported"]["by"], told["audit"]["rows"]) == ("Ines", 3)


def test_the_hash_of_each_record_is_that_of_the_audit_log(workspace, imported_session):
    lines = [json.loads(line) for line in members(handed_over(imported_session))["audit.jsonl"].splitlines()]
    log = dict(AuditEntry.objects.filter(workspace=workspace).values_list("seq", "hash"))
    assert [line["hash"] for line in lines] == [log[line["seq"]] for line in lines] != []
    assert not list(audit.broken_rows(workspace.pk))


def test_vcon_in_the_bundle_equals_the_separate_export(imported_session):
    alone = json.loads(handed_over(imported_session, "vcon"))
    told = json.loads(members(handed_over(imported_session))["manifest.json"])
    assert told["vcon"] == {"path": "session.vcon", "uuid": alone["uuid"], "signed": True}


def test_a_session_that_began_here_is_handed_over_without_an_original(workspace, session, tmp_path):
    append(session, user("Hello"))
    data = handed_over(session)
    assert json.loads(members(data)["manifest.json"])["original"] is None
    assert verified(data, tmp_path, workspace).signature.state == "valid"


def test_bundle_of_a_running_session_has_an_unsigned_vcon(session):
    append(session, user("Hello"))
    Session.objects.update(phase=Session.Phase.ACTIVE)
    assert "goes on" in json.loads(members(handed_over(session))["manifest.json"])["vcon"]["why_not"]


def test_asking_for_a_signature_changes_nothing(imported_session):
    assert members(handed_over(imported_session, signed=True))["manifest.jws"]


def test_unusable_signing_key_fails_before_anything_is_written(imported_session, settings, tmp_path):
    settings.SIGNING_KEY = tmp_path / "none.pem"
    with pytest.raises(export_options.CannotExport, match="cannot be used"):
        export_jobs.start_export(imported_session, "bundle", by=BY)
    assert not Export.objects.exists()


def test_a_large_original_is_left_to_a_worker(imported_session, monkeypatch):
    monkeypatch.setattr(export_jobs, "INLINE_BYTES", 10)
    waiting = export_jobs.start_export(imported_session, "bundle", by=BY)
    assert waiting.status == Export.Status.QUEUED
    export_jobs.run(waiting.pk)
    waiting.refresh_from_db()
    assert waiting.status == Export.Status.DONE


# --- and back ---------------------------------------------------------------------------------------------------


def moved(data: bytes) -> Import:
    """Import a bundle where nobody has its session."""
    elsewhere = workspaces.create_workspace("elsewhere", "Elsewhere", by=BY)
    return drop(elsewhere, data, "clock.bundle.zip")


def arrived() -> Session:
    return Session.objects.get(workspace__slug="elsewhere")


def test_a_bundle_is_imported_once_from_its_original(workspace, imported_session):
    before = keys(imported_session)
    done = moved(handed_over(imported_session))
    assert (done.status, done.error, done.format, done.findings) == (Import.Status.DONE, None, "bundle", [])
    session = arrived()
    assert (session.source_format, session.external_id, keys(session)) == ("claude-code", OWNER, before)
    link = done.session_links.get()
    assert (link.member, link.events) == ("original/clock_.jsonl", 6)
    assert (done.signature["state"], done.signature["signer"]) == ("valid", "this installation")
    assert provenance.provenance_of([session.pk])[session.pk].signature["state"] == "valid"
    assert provenance.provenance_of([session.pk])[session.pk].format == "claude-code"
    assert handed_over(session, "original") == transcript(6)


def test_where_the_session_is_known_a_bundle_adds_nothing(workspace, imported_session):
    done = drop(workspace, handed_over(imported_session), "clock.bundle.zip")
    assert (done.events, Session.objects.count()) == (0, 1)


def test_without_an_original_its_vcon_is_imported(workspace, session):
    append(session, user("Hello"))
    done = moved(handed_over(session))
    assert (done.format, done.session_links.get().member) == ("bundle", "session.vcon")
    assert arrived().source_format == "vcon"


def test_a_bundle_of_somebody_unknown_is_genuine_and_no_more(workspace, imported_session, settings, tmp_path):
    data = handed_over(imported_session)
    theirs = own_keys.signer()
    settings.SIGNING_KEY = tmp_path / "own.key"
    settings.SIGNING_KEY.write_text(private_pem(ec_key()))
    done = moved(data)
    assert done.signature["state"] == "valid_untrusted"
    anchors.add(done.workspace, theirs.public_pem.decode(), name="The other desk", by=BY)
    assert signatures.check_again(done.workspace_id) == 1
    done.refresh_from_db()
    assert (done.signature["state"], done.session_links.get().signature["state"]) == ("valid", "valid")


def test_a_bundle_that_was_changed_comes_in_and_cannot_be_overlooked(workspace, imported_session):
    held = members(handed_over(imported_session))
    held["losses.json"] += b" "
    done = moved(packed(held))
    assert (done.status, done.signature["state"]) == (Import.Status.DONE, "invalid")
    assert "losses.json" in done.signature["detail"]
    assert [finding["path"] for finding in done.findings if finding["rule"] == "bundle"] == ["losses.json"]
    session = arrived()
    assert provenance.provenance_of([session.pk])[session.pk].signature["state"] == "invalid"


def test_a_bundle_without_its_original_is_refused_with_the_reason(workspace, imported_session):
    held = members(handed_over(imported_session))
    del held["original/clock_.jsonl"]
    done = drop(workspace, packed(held), "clock.bundle.zip")
    assert done.status == Import.Status.FAILED and "original/clock_.jsonl" in done.error


# --- sessions out of a zip --------------------------------------------------------------------------------------


def test_the_original_of_a_session_out_of_a_zip_is_its_member(workspace):
    drop(workspace, zipped(TWO), "all.zip")
    for external_id, name in ((OWNER, "a/one.jsonl"), ("0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "two.vcon")):
        session = Session.objects.get(external_id=external_id)
        done = export_jobs.start_export(session, "original", by=BY)
        assert export_jobs.open_file(done).read() == TWO[name]
        assert (done.filename, done.size) == (name.rpartition("/")[2], len(TWO[name]))


def test_a_bundle_of_a_session_out_of_a_zip_holds_the_member_and_names_the_archive(workspace, tmp_path):
    done = drop(workspace, zipped(TWO), "all.zip")
    data = handed_over(Session.objects.get(external_id=OWNER))
    assert members(data)["original/one.jsonl"] == TWO["a/one.jsonl"]
    told = json.loads(members(data)["manifest.json"])["original"]
    assert (told["document"], told["member"]) == (done.document.sha256, "a/one.jsonl")
    assert verified(data, tmp_path, workspace).signature.state == "valid"


def test_bundle_stores_no_second_copy_of_the_original(workspace):
    drop(workspace, zipped(TWO), "all.zip")
    assert SourceDocument.objects.count() == 1
    assert stored(SourceDocument.objects.get()).exists()


def test_of_a_session_in_several_members_the_one_that_added_last_is_the_original(workspace):
    drop(workspace, zipped({"a.jsonl": transcript(2), "b.jsonl": transcript(6), "c.jsonl": transcript(4)}), "all.zip")
    session = Session.objects.get()
    assert session.import_links.count() == 3
    assert handed_over(session, "original") == transcript(6)


def test_a_bad_signature_of_one_member_marks_its_own_session_alone(workspace):
    signer = make.recorder(dates=(make.START, timezone.now() + timedelta(days=3650)))
    signed = make.signed(make.VCON, signer)
    changed = signed | {"payload": make.b64(json.dumps(make.VCON | {"uuid": OTHER}).encode())}
    files = {"good.vcon": json.dumps(signed).encode(), "bad.vcon": json.dumps(changed).encode()}
    done = drop(workspace, zipped(files | {"c.jsonl": transcript(2)}), "all.zip")
    assert done.signature["state"] == "invalid"
    found = provenance.provenance_of([link.session_id for link in links(done)])
    states = {link.member: found[link.session_id].signature["state"] for link in links(done)}
    assert states == {"good.vcon": "valid_untrusted", "bad.vcon": "invalid", "c.jsonl": "unsigned"}
    anchors.add(workspace, signer.pem, by=BY)
    signatures.check_again(workspace.pk)
    states = {link.member: link.signature["state"] for link in links(done)}
    assert states == {"good.vcon": "valid", "bad.vcon": "invalid", "c.jsonl": "unsigned"}


def test_remarks_of_a_session_out_of_a_zip_are_those_of_its_member(workspace):
    odd = transcript(2) + b"{broken}\n" + transcript(3)
    done = drop(workspace, zipped({"fine.jsonl": transcript(2, OTHER), "odd.jsonl": odd, "a.txt": b"milk"}), "all.zip")
    told = {link.member: {row["path"] for row in sources.findings_of(link)} for link in links(done)}
    assert told == {"fine.jsonl": set(), "odd.jsonl": {"odd.jsonl: L3"}}
    assert "a.txt" in {row["path"] for row in done.findings}


def links(done: Import):
    return done.session_links.order_by("pk")


def test_the_same_zip_again_knows_its_members(workspace):
    archive = zipped(TWO)
    first = drop(workspace, archive, "all.zip")
    again = import_jobs.start_import(workspace, "again.zip", [archive], by=BY)
    assert [(link.member, link.signature) for link in links(again)] == [
        (link.member, link.signature) for link in links(first)
    ]


def test_an_archive_that_only_looks_like_a_bundle_of_vcons_is_none_of_ours():
    data = zipped({"manifest.json": b'{"format": "vcon-bundle"}', "session.vcon": vcon("Hello")})
    assert not bundle.is_bundle(Archive(io.BytesIO(data)))
    assert zipfile.is_zipfile(io.BytesIO(data))


def test_our_key_is_part_of_what_signatures_are_checked_against(workspace):
    before = anchors.keyring(workspace.pk)
    ours = own_keys.signer()
    after = anchors.keyring(workspace.pk)
    assert before.anchors == ()
    assert [fingerprint(one.key) for one in after.anchors] == [fingerprint(ours.key.public_key())]
    assert before.stamp != after.stamp
