"""Encrypted vCons: opened with the key of this installation, and by nothing else."""

from __future__ import annotations

import gzip
import hmac
import json
import os
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, padding
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sessions_app.models import Event, Session
from vcon_app.models import Import
from vcon_app.services.documents import event_bytes
from vcon_app.signing import jwe

from .make import VCON, b64, ec_key, private_pem, recorder, rsa_key, signed

KEY = rsa_key(4)


def encrypted(
    content: bytes, *, key=KEY, alg: str = "RSA-OAEP", enc: str = "A256CBC-HS512", **more: Any
) -> dict[str, Any]:
    """A JWE as the official example has it: ``alg`` and ``enc`` protected, ``enc`` repeated."""
    protected = b64(json.dumps({"alg": alg, "enc": enc} | more.pop("protected", {})).encode())
    iv, secret = os.urandom(16 if "CBC" in enc else 12), os.urandom(64 if "CBC" in enc else 32)
    if "CBC" in enc:
        padder = padding.PKCS7(128).padder()
        encryptor = Cipher(algorithms.AES(secret[32:]), modes.CBC(iv)).encryptor()
        text = encryptor.update(padder.update(content) + padder.finalize()) + encryptor.finalize()
        over = protected.encode() + iv + text + (8 * len(protected)).to_bytes(8, "big")
        tag = hmac.digest(secret[:32], over, "sha512")[:32]
    else:
        sealed = AESGCM(secret).encrypt(iv, content, protected.encode())
        text, tag = sealed[:-16], sealed[-16:]
    digest = hashes.SHA256() if alg.endswith("256") else hashes.SHA1()
    wrapped = key.public_key().encrypt(secret, rsa_padding.OAEP(rsa_padding.MGF1(digest), digest, None))
    return {
        "protected": protected, "iv": b64(iv), "ciphertext": b64(text), "tag": b64(tag),
        "recipients": [{"header": {"enc": enc}, "encrypted_key": b64(wrapped)}],
        "unprotected": {"uuid": VCON["uuid"], "cty": "application/vcon", "enc": enc},
    } | more  # fmt: skip


@pytest.mark.parametrize("alg", ["RSA-OAEP", "RSA-OAEP-256"])
@pytest.mark.parametrize("enc", ["A256CBC-HS512", "A256GCM"])
def test_document_encrypted_for_a_key_is_decrypted_with_it(alg, enc):
    sealed = encrypted(b"It does.", alg=alg, enc=enc)

    assert jwe.decrypt(sealed, [rsa_key(5), KEY]) == b"It does."
    with pytest.raises(jwe.CannotDecrypt, match="not for any of the keys"):
        jwe.decrypt(sealed, [rsa_key(5)])


@pytest.mark.parametrize("part", ["iv", "ciphertext", "tag", "protected"])
def test_changed_ciphertext_is_not_decrypted(part):
    sealed = encrypted(b"It does." * 20)
    text = sealed[part]
    middle = len(text) // 2
    sealed[part] = text[:middle] + ("A" if text[middle] != "A" else "B") + text[middle + 1 :]

    with pytest.raises(jwe.CannotDecrypt):
        jwe.decrypt(sealed, [KEY])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"alg": "RSA1_5"}, "not known here"),
        ({"alg": "dir"}, "not known here"),
        ({"alg": ["RSA-OAEP"]}, "not known here"),
        ({"enc": "A128CBC-HS256"}, "not known here|disagree"),
        ({"zip": "DEF"}, "not known here"),
        ({"crit": ["x"]}, "not known here"),
    ],
)
def test_unknown_encryption_algorithms_are_named_in_the_refusal(change, says):
    with pytest.raises(jwe.CannotDecrypt, match=says):
        jwe.decrypt(encrypted(b"x", protected=change), [KEY])


@pytest.mark.parametrize(
    "damage",
    [
        {"protected": 5}, {"protected": "!"}, {"iv": None}, {"tag": []}, {"recipients": [5]}, {"recipients": []},
        {"recipients": {}}, {"recipients": [{}]}, {"aad": 5}, {"unprotected": {"enc": "A256GCM"}}, {"ciphertext": "é"},
    ],
)  # fmt: skip
def test_damaged_encrypted_documents_raise_only_format_errors(damage):
    with pytest.raises(jwe.CannotDecrypt):
        jwe.decrypt(encrypted(b"x") | damage, [KEY])


def test_one_of_several_recipients_is_enough():
    sealed = encrypted(b"x")
    other = {"header": {"alg": "ECDH-ES"}, "encrypted_key": "AAAA"}
    sealed["protected"] = b64(b'{"enc":"A256GCM"}')
    iv, secret = os.urandom(12), os.urandom(32)
    text = AESGCM(secret).encrypt(iv, b"for us", sealed["protected"].encode())
    digest = hashes.SHA1()
    wrapped = KEY.public_key().encrypt(secret, rsa_padding.OAEP(rsa_padding.MGF1(digest), digest, None))
    ours = {"header": {"alg": "RSA-OAEP"}, "encrypted_key": b64(wrapped)}
    sealed |= {"iv": b64(iv), "ciphertext": b64(text[:-16]), "tag": b64(text[-16:]), "unprotected": None}

    assert jwe.decrypt(sealed | {"recipients": [other, ours]}, [KEY]) == b"for us"


@pytest.fixture
def key_file(settings, tmp_path):
    path = tmp_path / "decryption.key"
    path.write_text(private_pem(KEY))
    settings.DECRYPTION_KEY = path
    return path


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_signed_and_encrypted_vcon_is_read_and_its_signature_told(import_document, key_file, pack):
    inside = json.dumps(signed(VCON, recorder())).encode()
    imported = import_document(encrypted(pack(inside)))

    assert (imported.status, imported.error) == (Import.Status.DONE, None)
    assert (imported.signature["state"], imported.signature["signer"]) == ("valid_untrusted", "recorder.example")
    assert Session.objects.get().title == "A clock"


def test_source_record_of_an_event_is_found_in_the_encrypted_file(import_document, key_file, settings):
    imported = import_document(encrypted(json.dumps(VCON).encode()))
    event = Event.objects.order_by("seq").first()
    assert json.loads(event_bytes.read(event, imported.document).data) == VCON["dialog"][0]

    settings.DECRYPTION_KEY = None
    with pytest.raises(event_bytes.NotShown):
        event_bytes.read(event, imported.document)


def test_encrypted_file_is_read_only_with_its_key(import_document, key_file, settings):
    settings.DECRYPTION_KEY, sealed = None, encrypted(json.dumps(VCON).encode())
    closed = import_document(sealed)
    assert (closed.status, closed.signature["state"]) == (Import.Status.FAILED, "encrypted")
    assert VCON["uuid"] in closed.error

    settings.DECRYPTION_KEY = key_file
    assert import_document(sealed).status == Import.Status.DONE


def test_file_encrypted_for_another_key_stays_closed(import_document, key_file):
    closed = import_document(encrypted(json.dumps(VCON).encode(), key=rsa_key(5)))

    assert (closed.status, closed.signature["state"]) == (Import.Status.FAILED, "encrypted")
    assert "not for any of the keys" in closed.error
    assert closed.error.count("This vCon is encrypted") == 1


def test_absent_facts_of_an_encrypted_file_are_not_reported(import_document):
    closed = import_document(encrypted(json.dumps(VCON).encode()) | {"unprotected": {}})

    assert closed.signature["state"] == "encrypted"
    assert "None" not in closed.error and "says of itself" not in closed.error


@pytest.mark.parametrize("content", ["no key", private_pem(ec_key())])
def test_unusable_decryption_key_is_reported_without_its_content(import_document, key_file, content):
    key_file.write_text(content)
    closed = import_document(encrypted(json.dumps(VCON).encode()))

    assert closed.status == Import.Status.FAILED
    assert "The key that encrypted files are opened with" in closed.error and "BEGIN" not in closed.error
