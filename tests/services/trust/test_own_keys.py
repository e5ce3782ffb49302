"""The installation's key: made once, closed to others, replaced by an operator's own."""

from __future__ import annotations

import multiprocessing
import stat
from pathlib import Path

import pytest

from tests.signing.make import AT, ed_key, feed, private_pem, recorder, rsa_key, signed
from tests.signing.make import VCON as VCON
from vcon_app.services.trust import own_keys
from vcon_app.signing import feeds, jws
from vcon_app.signing.signers import new_key_pem, signer_of


def test_own_key_is_generated_on_first_use_and_kept(settings):
    assert own_keys.own_anchor() is None, "checking signatures makes no key"
    first = own_keys.signer()
    assert own_keys.signer().public_pem == first.public_pem
    assert own_keys.own_anchor().key == first.key.public_key()
    path = Path(settings.DATA_DIR) / own_keys.KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == [own_keys.KEY_FILE]


def test_concurrent_first_uses_keep_one_own_key(settings, tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, found = context.Barrier(4), context.Queue()

    def make():
        barrier.wait(60)
        found.put(own_keys.signer().public_pem)

    processes = [context.Process(target=make) for _ in range(4)]
    for one in processes:
        one.start()
    keys = {found.get(timeout=60) for _ in processes}
    for one in processes:
        one.join(60)
    assert len(keys) == 1 == len(list(tmp_path.iterdir()))


def test_configured_key_replaces_the_generated_one(settings, tmp_path):
    own_keys.signer()
    settings.SIGNING_KEY = tmp_path / "operators.key"
    settings.SIGNING_KEY.write_text(private_pem(rsa_key()))
    assert own_keys.signer().algorithm == "RS256"
    assert own_keys.own_anchor().key == rsa_key().public_key()
    settings.SIGNING_KEY.write_text("nonsense")
    assert own_keys.own_anchor() is None


def test_doctor_checks_the_own_key(settings, tmp_path):
    assert own_keys.key_problem() is None, "there is none yet"
    own_keys.signer()
    assert own_keys.key_problem() is None
    (tmp_path / own_keys.KEY_FILE).chmod(0o644)
    assert "can be read by other users" in own_keys.key_problem()
    settings.SIGNING_KEY = tmp_path / "operators.key"
    settings.SIGNING_KEY.write_text("nonsense")
    assert "cannot be used" in own_keys.key_problem()


def test_own_key_does_not_verify_documents_of_others(settings, tmp_path):
    settings.SIGNING_KEY = tmp_path / "operators.key"
    settings.SIGNING_KEY.write_text(private_pem(ed_key()))
    ours = own_keys.own_anchor()
    assert feeds.check(feed(ed_key(7)), [ours], AT)[0].state == "uncheckable"
    stranger = signed(VCON, recorder())
    for entry in stranger["signatures"]:
        entry["header"].pop("x5c", None)
    assert jws.check(stranger, [ours], AT)[0].state in ("uncheckable", "valid_untrusted")


@pytest.mark.parametrize("name", ["Countersign", "Countersign at " + "x" * 100])
def test_own_certificate_may_sign_but_not_issue(name):
    pem = new_key_pem(name, AT)
    [certificate] = signer_of(pem, pem).certificates
    usage = certificate.extensions.get_extension_for_oid(certificate.extensions[1].oid).value
    assert usage.digital_signature and not usage.key_cert_sign
    assert not certificate.extensions[0].value.ca
    assert certificate.not_valid_before_utc < AT and certificate.not_valid_after_utc.year == 9999
