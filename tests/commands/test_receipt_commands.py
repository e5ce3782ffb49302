"""``verify`` of a receipt, offline; and of a bundle whose receipts are not those of its session."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from tests.formats.written.test_bundle import members, packed
from tests.places import DOCS
from tests.services.receipts.test_receipts import ADA, decided
from vcon_app.management.commands import verify as verify_command
from vcon_app.services.receipts import issuing
from vcon_app.services.trust import own_keys
from vcon_app.signing import detached, receipt, signers

from .test_bundle_commands import run

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]


@pytest.fixture
def approval(session):
    return decided(session, "deny", reason="Too \x1b[2Jmuch")


@pytest.fixture
def path(approval, tmp_path) -> Path:
    target = tmp_path / "decision.jws"
    target.write_text(issuing.issue(approval))
    return target


def test_a_receipt_verifies_and_says_what_was_decided(path, capsys, approval):
    status, told = run(capsys, "verify", str(path))
    assert (status, told.splitlines()[:2]) == (0, [f"valid: {path} verifies", "  signer: this installation"])
    assert f"approval {approval.pk}" in told and "denied" in told and "by member Ada (reviewer)" in told
    assert approval.digest in told and "\x1b" not in told


def test_it_is_checked_offline_with_a_key(path, capsys, tmp_path, monkeypatch, settings):
    (tmp_path / "desk.pem").write_bytes(own_keys.signer().public_pem)
    (settings.DATA_DIR / own_keys.KEY_FILE).unlink()

    def away(*arguments):
        raise OperationalError("the server is away")

    monkeypatch.setattr(verify_command, "workspace_named", away)
    assert run(capsys, "verify", str(path), "--key", str(tmp_path / "desk.pem"))[0] == 0


def test_a_changed_receipt_ends_with_1_and_states_nothing(path, capsys):
    header, payload, value = path.read_text().split(".")
    path.write_text(f"{header}.{payload[:-8]}AAAAAAAA.{value}")
    status, told = run(capsys, "verify", str(path))
    assert status == 1 and told.startswith("invalid: ") and "approval" not in told


def test_a_receipt_of_a_stranger_ends_with_1(path, capsys):
    pem = signers.new_key_pem("Countersign", timezone.now())
    said = receipt.read(receipt.jws.unbase64url(path.read_text().split(".")[1]))
    path.write_text(receipt.sign(said, signers.signer_of(pem, pem)))
    status, told = run(capsys, "verify", str(path))
    assert status == 1 and told.startswith("valid_untrusted: ")


@pytest.fixture
def bundle(session, approval, tmp_path) -> Path:
    decided(session)
    target = tmp_path / "session.bundle.zip"
    call_command("export", str(session.pk), "--format", "bundle", "--output", str(target))
    return target


def resigned(held: dict[str, bytes]) -> bytes:
    """A bundle that the installation itself signs again, after somebody exchanged its members."""
    manifest = json.loads(held["manifest.json"])
    for row in manifest["members"]:
        data = held[row["path"]]
        row |= {"size": len(data), "sha256": receipt.hashlib.sha256(data).hexdigest()}
    text = json.dumps(manifest).encode()
    return packed(held | {"manifest.json": text, "manifest.jws": detached.sign(text, own_keys.signer()).encode()})


def test_a_bundle_holds_the_receipts_of_its_session(bundle, capsys):
    status, told = run(capsys, "verify", str(bundle))
    assert status == 0 and "receipts: 2 decisions" in told
    rows = [json.loads(line) for line in members(bundle.read_bytes())["receipts.jsonl"].splitlines()]
    said = [receipt.read(receipt.jws.unbase64url(row["receipt"].split(".")[1])) for row in rows]
    assert sorted(one["status"] for one in said) == ["approved", "denied"]
    assert all(one["checkpoint"]["number"] == 1 for one in said), "the bundle's own checkpoint knows them"


def test_a_receipt_of_another_session_in_a_bundle_is_found(bundle, agent, capsys):
    held = members(bundle.read_bytes())
    elsewhere = requests.request_in_own_session(
        agent.workspace_id, agent.name, requests.Question("refund", {}), by=audit.SYSTEM
    )
    other = decisions.decide(elsewhere, ADA, decisions.Decision("approve", 1, elsewhere.digest))
    line = json.dumps({"approval": str(other.pk), "receipt": issuing.issue(other)}).encode() + b"\n"
    first = held["receipts.jsonl"].splitlines(keepends=True)[0]
    bundle.write_bytes(resigned(held | {"receipts.jsonl": first + line}))
    status, told = run(capsys, "verify", str(bundle))
    assert status == 1 and "line 2: it is of another session" in told
    bundle.write_bytes(resigned(held | {"receipts.jsonl": first + first}))
    assert "has two receipts" in run(capsys, "verify", str(bundle))[1]
    bundle.write_bytes(resigned(held | {"receipts.jsonl": first}))
    assert "the manifest says another number" in run(capsys, "verify", str(bundle))[1]


def test_a_receipt_about_an_entry_that_the_audit_records_have_not_is_found(bundle, capsys):
    held = members(bundle.read_bytes())
    kept = [line for line in held["audit.jsonl"].splitlines(keepends=True) if b"approval.decided" not in line]
    bundle.write_bytes(resigned(held | {"audit.jsonl": b"".join(kept)}))
    status, told = run(capsys, "verify", str(bundle))
    assert status == 1 and "the records have no such entry" in told


def test_the_check_by_hand_of_the_docs_works(path, tmp_path, approval):
    (tmp_path / "desk.pem").write_bytes(own_keys.signer().public_pem)
    steps = re.findall(r"```sh\n(.+?)```", (DOCS / "proof.md").read_text(), re.S)[0]
    done = subprocess.run(["bash", "-euc", steps], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[:3] == ["denied", "Ada", approval.digest] and "Verified Successfully" in done.stdout


def test_the_docs_name_every_member_of_a_receipt(path):
    said = receipt.read(receipt.jws.unbase64url(path.read_text().split(".")[1]))
    table = (DOCS / "proof.md").read_text().split("|---|---|", 1)[1].split("\n\n", 1)[0]
    assert set(said) == {name for row in table.splitlines()[1:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
