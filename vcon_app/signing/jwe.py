"""Encrypted vCons (JWE in JSON, core s5.3 and RFC 7516): opened with keys of ours, made for keys of others."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

from ..drafts import Json
from .jws import Malformed, base64url, protected_header, unbase64url

# Not joserfc (1.8, as fast: 1,400 a second to our 1,600): it authenticates the protected header as it would write it,
# not as received (RFC 7516 s5.2, step 15), so that one with a space in it, as Python's ``json`` writes, is not opened.
WRAPS: dict[str, type[hashes.HashAlgorithm]] = {"RSA-OAEP": hashes.SHA1, "RSA-OAEP-256": hashes.SHA256}
"""How the key of the content is wrapped (RFC 7518 s4.3). RSA1_5 is left out: it can be attacked through its errors."""
MOST_RECIPIENTS = 50
"""Recipients that are looked at."""
CBC_HALF = 32
"""A256CBC-HS512: so many bytes of the key are for HMAC, as many for AES, as many of the HMAC are the tag."""


class CannotDecrypt(ValueError):
    """It cannot be decrypted; the message says why, and nothing about the content."""


@dataclass(frozen=True, slots=True)
class _Encrypted:
    iv: bytes
    text: bytes
    tag: bytes
    aad: bytes
    """What is authenticated, but not encrypted: the protected header as received."""


def decrypt(jwe: dict[str, Json], keys: Sequence[rsa.RSAPrivateKey]) -> bytes:
    """The content, if it was encrypted for one of ``keys``. Raises :class:`CannotDecrypt`."""
    try:
        return _decrypt(jwe, keys)
    except (Malformed, UnicodeEncodeError) as error:
        raise CannotDecrypt(f"This encrypted vCon is damaged: {error}.") from None


def encrypt(content: bytes, keys: Sequence[rsa.RSAPublicKey], uuid: str, media_type: str) -> dict[str, Json]:
    """``content`` for the owners of ``keys``, in the general JSON serialization (RFC 7516 s7.2.1).

    RSA-OAEP and A256CBC-HS512, as core s5.3 asks; ``enc`` is protected, ``uuid`` and ``cty`` can be read by all.
    """
    iv, secret = os.urandom(16), os.urandom(2 * CBC_HALF)
    protected = base64url(b'{"enc":"A256CBC-HS512"}')
    padder, encryptor = PKCS7(128).padder(), Cipher(algorithms.AES(secret[CBC_HALF:]), modes.CBC(iv)).encryptor()
    text = encryptor.update(padder.update(content) + padder.finalize()) + encryptor.finalize()
    return {
        "protected": protected,
        "unprotected": {"cty": media_type, "uuid": uuid},
        "recipients": [
            {"header": {"alg": "RSA-OAEP"}, "encrypted_key": base64url(key.encrypt(secret, _oaep("RSA-OAEP")))}
            for key in keys
        ],
        "iv": base64url(iv),
        "ciphertext": base64url(text),
        "tag": base64url(_tag(secret, protected.encode(), iv, text)),
    }


def _decrypt(jwe: dict[str, Json], keys: Sequence[rsa.RSAPrivateKey]) -> bytes:
    protected, more = jwe.get("protected", ""), jwe.get("aad")
    if not isinstance(protected, str) or not isinstance(more or "", str):
        raise Malformed("its headers are not what RFC 7516 s7.2.1 says")
    shared = [protected_header(protected), jwe.get("unprotected")]
    iv, text, tag = (unbase64url(jwe.get(name)) for name in ("iv", "ciphertext", "tag"))
    encrypted = _Encrypted(iv, text, tag, f"{protected}.{more}".encode() if more is not None else protected.encode())
    recipients = jwe.get("recipients", [jwe])
    reason = "This vCon is encrypted, and not for any of the keys that are configured here."
    for recipient in (recipients if isinstance(recipients, list) else [])[:MOST_RECIPIENTS]:
        try:
            content = _for_one(_header(*shared, recipient), recipient.get("encrypted_key"), keys, encrypted)
        except CannotDecrypt as error:
            reason = str(error)
        else:
            if content is not None:
                return content
    raise CannotDecrypt(reason)


def _for_one(
    header: dict[str, Any], encrypted_key: Json, keys: Sequence[rsa.RSAPrivateKey], encrypted: _Encrypted
) -> bytes | None:
    wrapped = unbase64url(encrypted_key)
    for key in keys:
        secret = _unwrapped(header["alg"], key, wrapped)
        content = METHODS[header["enc"]](secret, encrypted) if secret else None
        if content is not None:
            return content
    return None


def _header(*parts: Json) -> dict[str, Any]:
    """All headers in one; the official example repeats ``enc``, which is accepted when it says the same."""
    *shared, recipient = parts
    if not isinstance(recipient, dict):
        raise Malformed("a recipient is not an object")
    found: dict[str, Any] = {}
    for part in (*shared, recipient.get("header")):
        for name, value in part.items() if isinstance(part, dict) else ():
            if found.setdefault(name, value) != value:
                raise Malformed(f"its headers disagree about {str(name)[:40]!r}")
    known = str(found.get("alg")) in WRAPS and str(found.get("enc")) in METHODS
    if not known or "zip" in found or "crit" in found:
        what = ", ".join(f"{name} {found[name]}" for name in ("alg", "enc", "zip", "crit") if name in found)
        raise CannotDecrypt(
            f"This vCon is encrypted in a way that is not known here ({what[:100] or 'it names none'})."
        )
    return found


def _unwrapped(algorithm: str, key: rsa.RSAPrivateKey, wrapped: bytes) -> bytes | None:
    try:
        return key.decrypt(wrapped, _oaep(algorithm))
    except ValueError:
        return None  # for somebody else


def _oaep(algorithm: str) -> padding.OAEP:
    digest = WRAPS[algorithm]()
    return padding.OAEP(padding.MGF1(digest), digest, None)


def _gcm(secret: bytes, encrypted: _Encrypted) -> bytes | None:
    try:
        return AESGCM(secret).decrypt(encrypted.iv, encrypted.text + encrypted.tag, encrypted.aad)
    except (InvalidTag, ValueError):
        return None  # another key, or something was changed


def _cbc_hmac(secret: bytes, encrypted: _Encrypted) -> bytes | None:
    """RFC 7518 s5.2.2.2: the tag is compared, in constant time, before anything is decrypted."""
    if len(secret) != 2 * CBC_HALF or len(encrypted.iv) != 16 or len(encrypted.text) % 16:
        return None
    if not hmac.compare_digest(_tag(secret, encrypted.aad, encrypted.iv, encrypted.text), encrypted.tag):
        return None
    decryptor = Cipher(algorithms.AES(secret[CBC_HALF:]), modes.CBC(encrypted.iv)).decryptor()
    unpadder = PKCS7(128).unpadder()
    try:
        return unpadder.update(decryptor.update(encrypted.text) + decryptor.finalize()) + unpadder.finalize()
    except ValueError:
        return None


def _tag(secret: bytes, aad: bytes, iv: bytes, text: bytes) -> bytes:
    over = aad + iv + text + (8 * len(aad)).to_bytes(8, "big")
    return hmac.digest(secret[:CBC_HALF], over, "sha512")[:CBC_HALF]


METHODS: dict[str, Callable[[bytes, _Encrypted], bytes | None]] = {"A256CBC-HS512": _cbc_hmac, "A256GCM": _gcm}
"""How the content is encrypted (RFC 7518 s5); the first is what core s5.3 asks for."""
