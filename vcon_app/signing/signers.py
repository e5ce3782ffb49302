"""Our own signature: a private key with its certificates, read from files of the operator's, never from a database."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from .algorithms import CURVES, HASHES
from .keys import UNREADABLE, BadKey, checked, fingerprint, whole

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that signs, and the certificates that say whose it is, the key's own first (none for llmfeed keys)."""

    key: PrivateKey
    certificates: tuple[x509.Certificate, ...] = ()

    @property
    def algorithm(self) -> str:
        """RS256 (the default of core s5.2), ES256, ES384, ES512 or EdDSA, by the kind of the key."""
        if isinstance(self.key, rsa.RSAPrivateKey):
            return "RS256"
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return "EdDSA"
        return next(name for name, curve in CURVES.items() if isinstance(self.key.curve, curve))

    @property
    def x5c(self) -> list[str]:
        """Standard base64 of DER (RFC 7515 s4.1.6)."""
        return [base64.b64encode(one.public_bytes(serialization.Encoding.DER)).decode() for one in self.certificates]

    def sign(self, data: bytes) -> bytes:
        """The signature as JWS has it: for ES* r and s side by side (RFC 7518 s3.4)."""
        if isinstance(self.key, ed25519.Ed25519PrivateKey):
            return self.key.sign(data)
        if isinstance(self.key, rsa.RSAPrivateKey):
            return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        size = (self.key.curve.key_size + 7) // 8
        r, s = utils.decode_dss_signature(self.key.sign(data, ec.ECDSA(HASHES[self.algorithm[2:]]())))
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def signer_of(key_pem: bytes, certificates_pem: bytes = b"", password: bytes | None = None) -> Signer:
    """A signer from PEM. Raises :class:`BadKey`: unreadable, too weak, or the first certificate is of another key."""
    key = private_key_of(key_pem, password)
    if not isinstance(key, (rsa.RSAPrivateKey, ec.EllipticCurvePrivateKey, ed25519.Ed25519PrivateKey)):
        raise BadKey(f"A key of the kind {type(key).__name__.strip('_')} does not sign vCons.")
    checked(key.public_key())
    try:
        certificates = (
            [whole(one) for one in x509.load_pem_x509_certificates(certificates_pem)] if certificates_pem else []
        )
    except UNREADABLE as error:
        raise BadKey(f"The certificates cannot be read: {str(error)[:200]}.") from None
    if certificates and certificates[0].public_key() != key.public_key():
        own = fingerprint(checked(certificates[0].public_key()))[:16]
        raise BadKey(f"The first certificate is of another key (SHA-256 {own}…); the signer's own comes first.")
    return Signer(key, tuple(certificates))


def private_key_of(pem: bytes, password: bytes | None = None) -> object:
    """The private key in a PEM text. Raises :class:`BadKey`, which tells nothing of the key."""
    try:
        return serialization.load_pem_private_key(pem, password)
    except UNREADABLE as error:
        raise BadKey(f"The private key cannot be read ({type(error).__name__}); it should be PEM.") from None
