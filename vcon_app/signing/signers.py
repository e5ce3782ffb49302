"""Our own signature: a private key with its certificates, read from files of the operator's, never from a database."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from .algorithms import CURVES, HASHES
from .keys import UNREADABLE, BadKey, accepted_key, fingerprint, fully_parsed

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

    @property
    def public_pem(self) -> bytes:
        """What others pin: the key's own certificate, else the public key."""
        if self.certificates:
            return self.certificates[0].public_bytes(serialization.Encoding.PEM)
        public = serialization.PublicFormat.SubjectPublicKeyInfo
        return self.key.public_key().public_bytes(serialization.Encoding.PEM, public)

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
    accepted_key(key.public_key())
    try:
        certificates = (
            [fully_parsed(one) for one in x509.load_pem_x509_certificates(certificates_pem)] if certificates_pem else []
        )
    except UNREADABLE as error:
        raise BadKey(f"The certificates cannot be read: {str(error)[:200]}.") from None
    if certificates and certificates[0].public_key() != key.public_key():
        own = fingerprint(accepted_key(certificates[0].public_key()))[:16]
        raise BadKey(f"The first certificate is of another key (SHA-256 {own}…); the signer's own comes first.")
    return Signer(key, tuple(certificates))


def new_key_pem(name: str, at: datetime) -> bytes:
    """A new Ed25519 key (RFC 8032) with a certificate that it signed itself, in one PEM text.

    It is from the day before ``at``, for clocks that are behind, to a date that means "never" (RFC 5280 s4.1.2.5).
    """
    key = ed25519.Ed25519PrivateKey.generate()
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])])
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign",
         "encipher_only", "decipher_only"), False,
    )  # fmt: skip
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(at - timedelta(days=1))
        .not_valid_after(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
        .sign(key, None)
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)


def private_key_of(pem: bytes, password: bytes | None = None) -> object:
    """The private key in a PEM text. Raises :class:`BadKey`, which tells nothing of the key."""
    try:
        return serialization.load_pem_private_key(pem, password)
    except UNREADABLE as error:
        raise BadKey(f"The private key cannot be read ({type(error).__name__}); it should be PEM.") from None
