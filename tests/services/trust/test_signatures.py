"""Signatures on their way through the database: kept with the import, shown on the session, checked again."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import AuditEntry, Session
from sessions_app.queries.sessions import provenance
from sessions_app.services import audit, workspaces
from vcon_app.models import Import, TrustAnchor
from vcon_app.services.documents import documents
from vcon_app.services.imports import import_jobs
from vcon_app.services.trust import anchors, signatures

from ...signing.make import (  # fmt: skip
    CORPUS,
    START,
    VCON,
    b64,
    ed_key,
    feed,
    needs_corpus,
    owner,
    private_pem,
    public_pem,
    recorder,
    root,
    rsa_key,
    signed,
)
from ..stored import stored

FAR = timezone.now() + timedelta(days=3650)
LASTING = (START, FAR)
STRANGER = owner("Stranger", rsa_key(2), dates=LASTING)


def by(**more):
    return recorder(dates=LASTING, **more)


def believe(workspace, pem: str, **more) -> TrustAnchor:
    return anchors.add(workspace, pem, by=audit.COMMAND, **more)


def state(imported: Import) -> str:
    imported.refresh_from_db()
    return imported.signature["state"]


def of_session() -> dict:
    session = Session.objects.get()
    return provenance.provenance_of([session.pk])[session.pk].signature


def rules(imported: Import) -> list[str]:
    imported.refresh_from_db()
    return [finding["rule"] for finding in imported.findings]


def test_a_signed_vcon_is_valid_where_its_signer_is_trusted(workspace, import_document):
    believe(workspace, by().pem)
    imported = import_document(signed(VCON, by()))

    assert imported.status == Import.Status.DONE
    assert (state(imported), imported.signature["signer"]) == ("valid", "recorder.example")
    assert imported.signature["until"].startswith(f"{FAR:%Y-%m-%d}")
    assert of_session() == imported.signature | {"covers": {"first_seq": 1, "last_seq": 2}}
    assert "not checked" not in json.dumps(imported.findings)


def test_trust_anchor_of_one_workspace_does_not_count_in_another(workspace, import_document):
    elsewhere = workspaces.create_workspace("elsewhere")
    believe(elsewhere, by().pem)

    assert state(import_document(signed(VCON, by()))) == "valid_untrusted"
    assert state(import_document(signed(VCON, by()), place=elsewhere)) == "valid"


def test_an_unsigned_document_is_unsigned_and_never_checked_again(workspace, import_document):
    imported = import_document(VCON)

    assert imported.signature == {"state": "unsigned", "signer": None, "detail": ""}
    assert imported.checked_against == ""
    believe(workspace, by().pem)
    assert (signatures.sweep(), signatures.check_again(workspace.pk)) == (0, 0)


def test_a_changed_document_is_read_and_called_invalid(workspace, import_document):
    jws = signed(VCON, by())
    jws["payload"] = b64(json.dumps(VCON | {"subject": "Another clock"}).encode())
    imported = import_document(jws)

    assert (imported.status, state(imported)) == (Import.Status.DONE, "invalid")
    assert Session.objects.get().title == "Another clock"
    assert ("R86", "error") in [(one["rule"], one["severity"]) for one in imported.findings]


def test_an_encrypted_vcon_fails_with_its_state_and_keeps_the_bytes(workspace, import_document):
    imported = import_document({"protected": "e30", "recipients": [{}], "iv": "", "ciphertext": "AAAA", "tag": ""})

    assert (imported.status, state(imported)) == (Import.Status.FAILED, "encrypted")
    assert stored(imported.document).exists()


def test_an_anchor_that_is_added_and_removed_changes_what_was_imported(workspace, import_document):
    imported = import_document(signed(VCON, by()))
    remarks = rules(imported)
    anchor = believe(workspace, by().pem)
    assert signatures.check_again(workspace.pk) == 1
    assert (state(imported), of_session()["state"]) == ("valid", "valid")
    assert "R89" in remarks and "R89" not in rules(imported)
    assert signatures.check_again(workspace.pk) == 0

    anchors.remove(anchor, by=audit.COMMAND)
    assert signatures.check_again(workspace.pk) == 1
    assert state(imported) == "valid_untrusted"
    assert rules(imported) == remarks
    told = AuditEntry.objects.order_by("seq").values_list("action", flat=True)
    assert list(told)[-4:] == ["trust.added", "import.signature_changed", "trust.removed", "import.signature_changed"]


def test_signature_check_task_runs_by_its_name(workspace, import_document):
    from vcon_app import tasks

    imported = import_document(signed(VCON, by()))
    believe(workspace, by().pem)
    tasks.check_signatures(str(workspace.pk))

    assert state(imported) == "valid"


def test_signature_check_whose_task_was_lost_is_done_by_the_sweep(workspace, import_document):
    import_document(signed(VCON, by()))
    assert signatures.sweep() == 0
    believe(workspace, by().pem)
    assert signatures.sweep() == 1
    signatures.check_again(workspace.pk)
    assert signatures.sweep() == 0


def test_a_certificate_that_expires_meanwhile_is_noticed(workspace, import_document):
    believe(workspace, root(dates=LASTING).pem)
    imported = import_document(
        signed(VCON, recorder(root(dates=LASTING), dates=(START, timezone.now() + timedelta(seconds=60))))
    )
    assert (state(imported), signatures.sweep()) == ("valid", 0)

    Import.objects.update(signature=imported.signature | {"until": "2026-01-01T00:00:00+00:00"})
    assert signatures.sweep() == 1
    signatures.check_again(workspace.pk)
    assert state(imported) == "valid"  # the certificate itself still stands: only the row said otherwise
    assert signatures.sweep() == 0


def test_an_expired_certificate_is_said_to_be_expired(workspace, import_document):
    believe(workspace, root(dates=LASTING).pem)
    imported = import_document(signed(VCON, recorder(root(dates=LASTING), dates=(START, START + timedelta(days=1)))))

    assert state(imported) == "valid_expired"
    assert "expired on 2025-01-02" in imported.signature["detail"]


def test_a_document_that_is_gone_does_not_keep_the_others_from_being_checked(workspace, import_document):
    gone, there = (
        import_document(signed(VCON, by())),
        import_document(signed(VCON | {"subject": "B", "uuid": "b"}, by())),
    )
    stored(gone.document).unlink()
    believe(workspace, by().pem)
    signatures.check_again(workspace.pk)

    assert (state(gone), state(there)) == ("uncheckable", "valid")
    assert "not in the storage" in gone.signature["detail"]


def test_the_same_bytes_again_have_the_same_signature_and_are_checked_again_too(workspace, import_document):
    jws = signed(VCON, by())
    first, second = import_document(jws), import_document(jws)
    assert second.duplicate_of == first
    believe(workspace, by().pem)
    signatures.check_again(workspace.pk)

    assert (state(first), state(second)) == ("valid", "valid")


def test_a_feed_is_verified_from_its_bytes_not_from_the_database(workspace, import_document):
    """jsonb would give the keys back in another order."""
    believe(workspace, public_pem(ed_key()), origin="https://desk.example")
    imported = import_document(feed(ed_key()) | {"_meta": {}}, "shelf.json")

    assert (state(imported), imported.signature["uncovered"]) == ("valid", ["_meta"])
    with documents.open_document(imported.document) as source:
        assert list(json.load(source))[0] == "feed_type"
    import_jobs.start_import(workspace, "again.json", [stored(imported.document).read_bytes()], by=audit.COMMAND)
    assert state(Import.objects.order_by("pk").last()) == "valid"


def grown(texts: int):
    return VCON | {"dialog": VCON["dialog"][:texts]}


def test_a_session_of_several_files_is_worth_no_more_than_the_worst_of_them(workspace, import_document):
    """Signed files added to sessions before 2026-11-23."""
    believe(workspace, by().pem)
    import_document(signed(grown(1), STRANGER))
    session = Session.objects.get()
    longer = import_document(signed(grown(2), by()))
    longer.session_links.update(session=session)

    assert state(longer) == "valid"
    assert provenance.provenance_of([session.pk])[session.pk].signature["state"] == "valid_untrusted"


def test_a_document_that_added_nothing_lends_its_signature_to_nobody(workspace, import_document):
    believe(workspace, by().pem)
    import_document(signed(grown(2), STRANGER))
    older = import_document(signed(grown(1), by()))

    assert (older.events, state(older), of_session()["state"]) == (0, "valid", "valid_untrusted")


@pytest.mark.parametrize("origin", ["no site", "https://", "https://a\u202eb.example", "x" * 201])
def test_invalid_origin_of_a_trust_anchor_is_refused(workspace, origin):
    with pytest.raises(anchors.Refused, match="origin"):
        believe(workspace, public_pem(ed_key()), origin=origin)


def test_origin_is_accepted_only_for_ed25519_keys(workspace):
    with pytest.raises(anchors.Refused, match="Ed25519; this one is RSA 2048"):
        believe(workspace, public_pem(rsa_key()), origin="https://desk.example")


def test_a_key_is_trusted_once_for_each_origin(workspace):
    believe(workspace, public_pem(ed_key()), name="Desk")
    believe(workspace, public_pem(ed_key()), name="Shelf", origin="https://desk.example")
    with pytest.raises(anchors.Refused, match='already, as "Desk"'):
        believe(workspace, owner("x", ed_key()).pem)
    assert TrustAnchor.objects.count() == 2
    assert AuditEntry.objects.filter(action="trust.added").count() == 2


def test_a_private_key_is_refused_and_nothing_of_it_kept(workspace):
    with pytest.raises(anchors.Refused, match="private key"):
        believe(workspace, by().pem + private_pem(rsa_key()))
    assert not TrustAnchor.objects.exists() and not AuditEntry.objects.exists()


def test_names_of_certificates_cannot_turn_the_page_around(workspace):
    assert believe(workspace, owner("Bank\u202egro.knab\n", rsa_key()).pem).name == "Bankgro.knab"


@needs_corpus
def test_an_official_example_goes_through_the_database(workspace, import_document):
    believe(workspace, (CORPUS / "vcon-real/_certs/fake_ca_root.crt").read_text())
    data = (CORPUS / "vcon-spec-examples/core-03/ab_call_ext_rec_signed.vcon").read_bytes()
    imported = import_document(data)

    assert (state(imported), of_session()["state"]) == ("valid", "valid")
    with documents.open_document(imported.document) as source:
        assert source.read() == data
