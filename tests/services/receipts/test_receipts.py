"""Receipts: what was recorded of a decision, signed; not a byte of one can change, and none is made of what was not."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from joserfc import jws as joserfc_jws
from joserfc.jwk import OKPKey

from sessions_app.models import Approval, Role
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, endings, requests
from tests.database_roles import as_owner
from vcon_app.services.checkpoints import making
from vcon_app.services.receipts import issuing
from vcon_app.services.receipts.statements import NoReceipt
from vcon_app.services.trust import own_keys
from vcon_app.signing import receipt, signers
from vcon_app.signing.keys import Anchor

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
ADA = decisions.Decider(audit.Actor("member", "7", "Ada"), Role.REVIEWER, "web")
ARGUMENTS = {"order": 4711081523, "amount": "40.00", "note": "Zoë\u202e"}


def asked(session, **more) -> Approval:
    question = requests.Question("refund", ARGUMENTS, server="shop", context="The customer insists", **more)
    return requests.request(session, question, by=audit.Actor("agent", "a1", "Refund agent"))


def decided(session, verdict="approve", **more) -> Approval:
    approval = asked(session)
    return decisions.decide(approval, ADA, decisions.Decision(verdict, approval.version, approval.digest, **more))


def ours() -> Anchor:
    return own_keys.own_anchor()


def stated(issued: str) -> dict:
    checked = receipt.check(issued.encode(), [ours()], timezone.now())
    assert checked.signature.state == "valid", checked.signature
    return checked.statement


def test_a_receipt_says_who_decided_what_by_which_right(session):
    approval = decided(session, "deny", reason="Too much")
    said = stated(issuing.issue(approval))
    assert (said["approval"], said["status"], said["planted"]) == (str(approval.pk), "denied", False)
    who = hashlib.sha256(b"member:7").hexdigest()
    assert said["decided"]["by"] == {"kind": "member", "name": "Ada", "id_digest": who, "role": "reviewer"}
    assert (said["decided"]["verdict"], said["decided"]["reason"]) == ("deny", "Too much")
    (vote,) = said["decided"]["votes"]
    assert (vote["by"], vote["role"], vote["verdict"], vote["channel"]) == ("Ada", "reviewer", "deny", "web")
    assert said["shown"]["digest"] == approval.digest
    assert (said["shown"]["tool"], said["shown"]["server"]) == ("refund", "shop")
    assert said["asked"]["by"]["name"] == "Refund agent"
    assert said["session"] == {"id": str(session.pk), "agent": "Refund agent"}


def test_arguments_are_in_it_only_as_a_digest_until_somebody_asks_for_them(session):
    approval = decided(session)
    plain = issuing.issue(approval)
    payload = base64.urlsafe_b64decode(plain.split(".")[1] + "==")
    assert b"4711081523" not in payload and b"insists" not in payload
    shown = stated(issuing.issue(approval, with_arguments=True))["shown"]
    assert json.loads(shown["text"])["input"] == ARGUMENTS
    assert hashlib.sha256(shown["text"].encode()).hexdigest() == approval.digest


def test_an_edit_is_in_it_by_its_digest(session):
    said = stated(issuing.issue(decided(session, arguments={"order": 1})))
    assert said["status"] == "approved_edited"
    assert said["decided"]["edited_arguments_digest"] == hashlib.sha256(b'{"order":1}').hexdigest()


def test_the_checkpoint_that_knows_the_decision_is_named_once_it_is_made(session):
    approval = decided(session)
    assert stated(issuing.issue(approval))["checkpoint"] is None
    made = making.make()
    said = stated(issuing.issue(approval))
    assert (said["checkpoint"]["number"], said["checkpoint"]["hash"]) == (made.number, made.hash)
    decided(session)
    making.make()
    assert stated(issuing.issue(approval))["checkpoint"]["number"] == made.number, "the first that knew it"


def test_the_audit_entry_is_the_one_of_the_decision(session):
    approval = decided(session)
    entry = approval.workspace.audit.get(subject_id=str(approval.pk), action="approval.decided")
    said = stated(issuing.issue(approval))["audit"]
    assert (said["seq"], said["hash"], said["outcome"]) == (entry.seq, entry.hash, entry.details["outcome"])


def test_none_is_made_while_it_is_pending(session):
    with pytest.raises(NoReceipt, match="not decided yet"):
        issuing.issue(asked(session))


def test_none_is_made_while_it_can_be_taken_back(session):
    approval = decided(session)
    later = timezone.now() + timedelta(minutes=1)
    Approval.objects.filter(pk=approval.pk).update(delivery="queued", deliver_at=later)
    with pytest.raises(NoReceipt, match="can be taken back until"):
        issuing.issue(approval)


def test_none_is_made_of_what_a_file_told(session):
    approval = decided(session)
    Approval.objects.filter(pk=approval.pk).update(recorded=True)
    with pytest.raises(NoReceipt, match="an imported file told"):
        issuing.issue(approval)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sessions_app_approval SET status = 'approved', decision = decision || '{\"verdict\": \"approve\"}'",
        'UPDATE sessions_app_approval SET decision = decision || \'{"by": "Grace"}\'',
        'UPDATE sessions_app_approval SET decision = decision || \'{"by_role": "admin"}\'',
        "UPDATE sessions_app_approval SET arguments = '{}'",
        "UPDATE sessions_app_vote SET role = 'admin'",
        "DELETE FROM sessions_app_auditentry WHERE action = 'approval.requested'",
    ],
)
def test_none_is_made_of_a_row_that_somebody_rewrote(session, change):
    approval = decided(session, "deny", reason="No")
    with as_owner() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(change)
        cursor.execute("SET LOCAL session_replication_role = origin")
    with pytest.raises(NoReceipt, match="not what was written"):
        issuing.issue(approval)


def test_an_expiry_has_one_that_names_nobody(session):
    approval = asked(session, expires_in=60)
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert endings.expire_due(approval_id=approval.pk) == 1
    said = stated(issuing.issue(approval))
    assert (said["status"], said["decided"]["by"]["kind"], said["decided"]["by"]["role"]) == ("expired", "system", None)


def test_no_character_of_it_can_be_another(session):
    issued = issuing.issue(decided(session)).encode()
    trusted, now = [ours()], timezone.now()
    step = max(1, len(issued) // 400)  # each of a few hundred places over all three parts, and all of the last ones
    for place in {*range(0, len(issued), step), *range(len(issued) - 90, len(issued))}:
        for other in (b"A", b"x", b"0", b"-", b".", b"=", b"\n", b"\x00"):
            if issued[place : place + 1] != other:
                changed = issued[:place] + other + issued[place + 1 :]
                assert receipt.check(changed, trusted, now).signature.state != "valid", (place, other)
    for changed in (issued + b" ", issued + b"\n\n", b" " + issued, issued + b"=", issued[:-1], issued + b".x"):
        assert receipt.check(changed, trusted, now).signature.state != "valid"
    assert receipt.check(issued + b"\n", trusted, now).signature.state == "valid"


def test_a_strangers_signature_is_never_shown_as_verified(session):
    stranger = signers.signer_of(*[signers.new_key_pem("Countersign", timezone.now())] * 2)
    said = stated(issuing.issue(decided(session)))
    forged = receipt.sign(said, stranger).encode()
    assert receipt.check(forged, [ours()], timezone.now()).signature.state == "valid_untrusted"
    bare = receipt.sign(said, signers.Signer(stranger.key)).encode()
    assert receipt.check(bare, [ours()], timezone.now()).signature.state in ("uncheckable", "invalid")


def test_what_the_same_key_signed_for_another_purpose_is_no_receipt(session):
    said = stated(issuing.issue(decided(session)))
    signer = own_keys.signer()
    header = base64.urlsafe_b64encode(json.dumps({"alg": signer.algorithm, "x5c": signer.x5c}).encode()).rstrip(b"=")
    body = base64.urlsafe_b64encode(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).rstrip(b"=")
    value = base64.urlsafe_b64encode(signer.sign(header + b"." + body)).rstrip(b"=")
    checked = receipt.check(header + b"." + body + b"." + value, [ours()], timezone.now())
    assert (checked.signature.state, checked.statement) == ("invalid", {})


@pytest.mark.parametrize("payload", [b"[]", b"{}", b"null", b'"x"', b"{", b'{"version":"countersign/receipt/2"}',
                                     b'{"version": "countersign/receipt/1"}', b"[" * 100_000])  # fmt: skip
def test_a_payload_that_states_no_decision_is_refused(payload):
    with pytest.raises(receipt.NotAReceipt):
        receipt.read(payload)


def test_any_jose_library_checks_it(session):
    issued = issuing.issue(decided(session))
    key = OKPKey.import_key(own_keys.signer().key.public_key())
    registry = joserfc_jws.JWSRegistry(algorithms=["EdDSA"])
    registry.max_header_length = 4096  # its own limit of 512 bytes is below one certificate
    found = joserfc_jws.deserialize_compact(issued, key, registry=registry)
    assert found.headers()["typ"] == receipt.TYPE and json.loads(found.payload)["status"] == "approved"


def test_receipts_of_many_cost_no_more_queries_each(session):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert len(list(issuing.issue_all(session.workspace_id, session.approvals.all(), own_keys.signer()))) > 1
        return len(captured)

    for _ in range(3):
        decided(session)
    making.make()
    before = queries()
    for _ in range(12):
        decided(session)
    making.make()
    assert queries() == before
