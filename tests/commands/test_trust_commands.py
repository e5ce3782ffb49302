"""``trust`` and ``verify`` at the command line."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from vcon_app.models import TrustAnchor
from vcon_app.signing.keys import fingerprint

from ..signing.make import (
    CORPUS,
    START,
    VCON,
    b64,
    ed_key,
    feed,
    needs_corpus,
    private_pem,
    public_pem,
    recorder,
    rsa_key,
    signed,
)

pytestmark = pytest.mark.usefixtures("document_storage")


def by():
    return recorder(dates=(START, timezone.now() + timedelta(days=400)))


@pytest.fixture
def file(tmp_path):
    def written(content, name: str = "session.vcon"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
        return str(path)

    return written


def run(capsys, *arguments: str) -> tuple[int, str]:
    """Exit status and standard output of a command."""
    try:
        call_command(*arguments)
        status = 0
    except SystemExit as ended:
        status = ended.code
    return status, capsys.readouterr().out


def test_verify_says_who_signed_with_which_key_and_ends_with_0(workspace, file, capsys):
    status, told = run(capsys, "verify", file(signed(VCON, by())), "--key", file(by().pem, "recorder.pem"))

    assert status == 0
    assert told.startswith("valid: ") and "verifies" in told
    assert "signer: recorder.pem" in told and fingerprint(rsa_key().public_key()) in told


def test_a_key_on_the_command_line_may_be_bare(workspace, file, capsys):
    assert run(capsys, "verify", file(signed(VCON, by())), "--key", file(public_pem(rsa_key()), "key.pem"))[0] == 0
    assert run(capsys, "verify", file(feed(ed_key()), "a.json"), "--key", file(public_pem(ed_key()), "key.pem"))[0] == 0


def test_verify_says_what_failed_and_ends_with_1(workspace, file, capsys):
    jws = signed(VCON, by())
    jws["payload"] = b64(json.dumps(VCON | {"subject": "x"}).encode())
    status, told = run(capsys, "verify", file(jws), "--key", file(by().pem, "key.pem"))

    assert status == 1
    assert told.startswith("invalid: ") and "RS256 does not verify with the key of key.pem" in told
    changed = feed(ed_key()) | {"context": {}}
    status, told = run(capsys, "verify", file(changed, "a.json"), "--key", file(public_pem(ed_key()), "key.pem"))
    assert (status, told[:9]) == (1, "invalid: ")
    assert "does not verify with the key of key.pem, in any scheme" in told


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (signed(VCON, recorder()), "valid_untrusted: .* signer is not trusted"),
        (feed(ed_key()), "uncheckable: "),
        (VCON, "unsigned: .* is not signed"),
    ],
)
def test_verify_ends_with_1_unless_verified_and_trusted(workspace, file, capsys, document, says):
    status, told = run(capsys, "verify", file(document))

    assert status == 1
    assert re.match(says, told)


def test_another_key_does_not_verify_it(workspace, file, capsys):
    assert run(capsys, "verify", file(signed(VCON, by())), "--key", file(public_pem(rsa_key(2)), "key.pem"))[0] == 1
    assert (
        run(capsys, "verify", file(feed(ed_key()), "a.json"), "--key", file(public_pem(ed_key(1)), "key.pem"))[0] == 1
    )


@pytest.mark.parametrize(
    ("content", "key", "says"),
    [
        ("{", None, "Unsupported file format"),
        (json.dumps(VCON), "nonsense", "not PEM"),
        (json.dumps(VCON), private_pem(rsa_key()), "private key"),
    ],
)
def test_verify_reports_an_uncheckable_file_in_one_line(workspace, file, content, key, says):
    arguments = ["--key", file(key, "key.pem")] if key else []
    with pytest.raises(CommandError, match=says):
        call_command("verify", file(content), *arguments)


def test_verify_reports_a_missing_file_in_one_line(workspace, tmp_path):
    with pytest.raises(CommandError, match="No such file"):
        call_command("verify", str(tmp_path / "none.vcon"))
    with pytest.raises(CommandError, match="No such file"):
        call_command("trust", "add", str(tmp_path / "none.pem"))


def test_a_workspace_trusts_what_was_added_until_it_is_removed(workspace, import_document, file, capsys):
    imported = import_document(signed(VCON, by()))
    path = file(signed(VCON, by()))
    status, told = run(capsys, "trust", "add", file(by().pem, "by.pem"), "--name", "Our recorder")
    assert (status, TrustAnchor.objects.get().name) == (0, "Our recorder")
    assert "1 imported file has another state now" in told
    imported.refresh_from_db()
    assert imported.signature["state"] == "valid"
    assert run(capsys, "verify", path)[0] == 0
    assert "Our recorder" in run(capsys, "trust", "list")[1]

    assert run(capsys, "trust", "remove", TrustAnchor.objects.get().fingerprint[:12])[0] == 0
    assert run(capsys, "trust", "list") == (0, "")
    assert run(capsys, "verify", path)[0] == 1


def test_trust_command_changes_only_its_workspace(workspace, file, capsys):
    call_command("workspace", "create", "claims")
    call_command("trust", "add", file(by().pem, "by.pem"), "--workspace", "claims")
    path = file(signed(VCON, by()))

    assert run(capsys, "verify", path, "--workspace", "claims")[0] == 0
    assert run(capsys, "verify", path)[0] == 1
    with pytest.raises(CommandError, match='no workspace "nowhere"'):
        call_command("trust", "list", "--workspace", "nowhere")


def test_trust_command_refuses_with_the_reason(workspace, file):
    with pytest.raises(CommandError, match="private key"):
        call_command("trust", "add", file(private_pem(rsa_key()), "key.pem"))
    with pytest.raises(CommandError, match="means 0 trust anchors"):
        call_command("trust", "remove", "abcd")


def test_control_characters_of_names_do_not_reach_the_terminal(workspace, file, capsys):
    document = feed(ed_key()) | {"\x1b[2J": 1}
    told = run(capsys, "verify", file(document, "a.json"), "--key", file(public_pem(ed_key()), "k.pem"))[1]

    assert "\x1b" not in told


@needs_corpus
def test_an_official_example_verifies_with_its_root(workspace, capsys):
    path = str(CORPUS / "vcon-spec-examples/core-03/ab_call_ext_rec_signed.vcon")
    status, told = run(capsys, "verify", path, "--key", str(CORPUS / "vcon-real/_certs/fake_ca_root.crt"))

    assert status == 0
    assert "signer: grp.div.fakevcon.io" in told and "warning R89" in told
    assert run(capsys, "verify", path)[0] == 1
