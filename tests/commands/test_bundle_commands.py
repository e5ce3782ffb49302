"""``export --format bundle``, ``verify`` and ``trust own`` at the command line; and the check by hand of docs/."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError

from bench.formats.corpus import CORPUS
from sessions_app.models import Session
from tests.formats.corpus import needs_corpus
from tests.formats.written.test_bundle import members, packed
from tests.places import DOCS
from tests.services.files import transcript, vcon
from tests.services.imports.test_imports import drop
from vcon_app.management.commands import verify as verify_command
from vcon_app.services.trust import anchors, own_keys
from vcon_app.signing.keys import fingerprint

pytestmark = pytest.mark.django_db
PAGE = DOCS / "bundle.md"
VCONZ = CORPUS / "vcon-spec-examples" / "made-here"


@pytest.fixture(autouse=True)
def storage(settings, tmp_path) -> None:
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path / "data", tmp_path / "data" / "documents"
    settings.DATA_DIR.mkdir()


@pytest.fixture
def path(workspace, tmp_path) -> Path:
    drop(workspace, transcript(6), "clock.jsonl")
    target = tmp_path / "session.bundle.zip"
    call_command("export", str(Session.objects.get().pk), "--format", "bundle", "--output", str(target))
    return target


def run(capsys, *arguments: str) -> tuple[int, str]:
    """Exit status and standard output of a command."""
    capsys.readouterr()
    try:
        call_command(*arguments)
        status = 0
    except SystemExit as ended:
        status = ended.code
    return status, capsys.readouterr().out


def test_a_bundle_verifies_and_says_who_exported_what(path, capsys):
    status, told = run(capsys, "verify", str(path))
    assert (status, told.splitlines()[:2]) == (0, [f"valid: {path} verifies", "  signer: this installation"])
    assert "original: original/clock.jsonl" in told and "by command line" in told


def test_bundle_is_verified_with_the_key_that_trust_own_prints(path, capsys, tmp_path, settings):
    ours = own_keys.signer()
    _, pem = run(capsys, "trust", "own")
    assert pem == ours.public_pem.decode()
    (tmp_path / "desk.pem").write_text(pem)
    settings.DATA_DIR = tmp_path / "elsewhere"
    assert run(capsys, "verify", str(path))[0] == 1
    assert run(capsys, "verify", str(path), "--key", str(tmp_path / "desk.pem"))[0] == 0


def test_trust_own_tells_the_fingerprint_beside_the_key(workspace, capsys):
    call_command("trust", "own")
    assert fingerprint(own_keys.signer().key.public_key()) in capsys.readouterr().err


def test_with_a_key_no_database_is_needed(path, capsys, tmp_path, monkeypatch, settings):
    def away(*arguments):
        raise OperationalError("the server is away")

    (tmp_path / "desk.pem").write_bytes(own_keys.signer().public_pem)
    monkeypatch.setattr(verify_command, "workspace_named", away)
    assert run(capsys, "verify", str(path), "--key", str(tmp_path / "desk.pem"))[0] == 0
    assert run(capsys, "verify", str(path))[0] == 0, "our own key is in a file"
    (settings.DATA_DIR / own_keys.KEY_FILE).unlink()
    with pytest.raises(CommandError, match="name a --key"):
        call_command("verify", str(path))


def test_verify_names_the_changed_member_and_ends_with_1(path, capsys):
    held = members(path.read_bytes())
    path.write_bytes(packed(held | {"audit.jsonl": held["audit.jsonl"].replace(b"clock", b"clack")}))
    status, told = run(capsys, "verify", str(path))
    assert status == 1 and told.startswith("invalid: ")
    assert "audit.jsonl: the member has SHA-256" in told and "line 1 (entry" in told


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[:-100], "the zip archive is damaged"),
        (lambda data: packed(members(data) | {"../evil": b"x"}), r"refused for its member '\.\./evil'"),
        (lambda data: packed(members(data) | {"zeros": bytes(60_000_000)}), "as only bombs do"),
        (lambda data: packed({"a.txt": b"milk"}), "a zip archive of files"),
    ],
)  # fmt: skip
def test_a_hostile_archive_is_one_line(path, change, says):
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(CommandError, match=says) as refused:
        call_command("verify", str(path))
    assert "\n" not in str(refused.value)


def test_control_characters_of_bundle_names_do_not_reach_the_terminal(path, capsys):
    path.write_bytes(packed(members(path.read_bytes()) | {"\x1b[2Jmore": b"x"}))
    status, told = run(capsys, "verify", str(path))
    assert status == 1 and "\x1b" not in told


def test_a_vconz_is_as_good_as_its_vcons(workspace, capsys, tmp_path):
    uuid = "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44"
    session = drop(workspace, vcon("Hello", uuid=uuid), "a.vcon").session_links.get().session
    signed = tmp_path / "signed.vcon"
    call_command("export", str(session.pk), "--format", "vcon", "--sign", "--output", str(signed))
    target = tmp_path / "all.vconz"
    manifest = b'{"format": "vcon-bundle", "version": "1.0"}'
    target.write_bytes(packed({"manifest.json": manifest, f"vcons/{uuid}.json": signed.read_bytes()}))
    status, told = run(capsys, "verify", str(target))
    assert (status, f"vcons/{uuid}.json: valid, by this installation" in told) == (0, True)
    broken = {"manifest.json": manifest, f"vcons/{uuid}.json": signed.read_bytes(), "files/sha256-AAAA.txt": b"x"}
    target.write_bytes(packed(broken))
    status, told = run(capsys, "verify", str(target))
    assert status == 1 and told.startswith("invalid: ") and "files/sha256-AAAA.txt" in told


@needs_corpus
def test_the_vconz_of_the_corpus(workspace, capsys):
    assert run(capsys, "verify", str(VCONZ / "f61-bundle-hash-mismatch.vconz"))[1].startswith("invalid: ")
    with pytest.raises(CommandError, match="R96"):
        call_command("verify", str(VCONZ / "f62-bundle-zip-slip.vconz"))


@pytest.mark.skipif(not shutil.which("openssl") or not shutil.which("sha256sum"), reason="needs openssl and sha256sum")
def test_the_check_by_hand_of_the_docs_works_and_fails_on_what_was_changed(path):
    script = "set -eu\n" + "\n".join(re.findall(r"```sh\n(.+?)```", PAGE.read_text(), re.S))
    good = by_hand(script, path)
    assert good.returncode == 0, good.stderr
    assert "Signature Verified Successfully" in good.stdout and "original/clock.jsonl: OK" in good.stdout
    assert fingerprint(own_keys.signer().key.public_key()) in good.stdout
    assert "import.started" in good.stdout
    held = members(path.read_bytes())
    told = held["manifest.json"].replace(b'"by": "command line"', b'"by": "nobody at all"')
    for changed in (held | {"losses.json": b"{}"}, held | {"manifest.json": told}):
        path.write_bytes(packed(changed))
        shutil.rmtree(path.parent / "bundle")
        assert by_hand(script, path).returncode != 0


def by_hand(script: str, path: Path) -> subprocess.CompletedProcess:
    return subprocess.run(["sh", "-c", script], cwd=path.parent, capture_output=True, text=True, timeout=60)


def test_the_table_of_the_docs_is_what_is_in_a_bundle(path):
    told = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.M)
    held = zipfile.ZipFile(io.BytesIO(path.read_bytes())).namelist()
    assert told == [name.replace("clock.jsonl", "NAME") for name in held]


def test_a_workspace_has_our_key_among_what_it_checks_with(path, workspace):
    assert [anchor.name for anchor in anchors.keyring(workspace.pk).anchors] == ["this installation"]
