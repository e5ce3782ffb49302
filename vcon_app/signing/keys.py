"""Public keys and certificates, as people paste them, and what is trusted because of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes

AnyPublicKey = CertificatePublicKeyTypes
"""What a certificate may be for, also where it signs nothing."""
PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey
KINDS = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
LEAST_RSA_BITS = 2048
"""NIST SP 800-131A: shorter RSA keys have been disallowed for signatures since 2014."""
LONGEST_PEM = 64 * 1024
UNREADABLE = (
    ValueError, TypeError, UnsupportedAlgorithm, x509.InvalidVersion, x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)  # fmt: skip
"""What the library raises for keys and certificates that are damaged, or of a kind it does not know."""
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


class BadKey(ValueError):
    """What was given is no key or certificate that signatures can be checked with; the message says why."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A key that is trusted: by itself, or with a certificate that may vouch for others."""

    key: PublicKey
    certificate: x509.Certificate | None = None
    name: str = ""
    origin: str = ""
    """Whose llmfeed files the key counts for; empty: anybody's."""
    is_own: bool = False
    """The key of this very installation: what it did not sign may well be of somebody else."""

    @property
    def is_pinned(self) -> bool:
        """A bare key for anybody's files, given to check those that come: what it did not sign is invalid."""
        return self.certificate is None and not self.origin and not self.is_own

    @property
    def title(self) -> str:
        """How people know it."""
        return self.name or (common_name(self.certificate) if self.certificate else fingerprint(self.key)[:16])


def fingerprint(key: AnyPublicKey) -> str:
    """SHA-256 of the SubjectPublicKeyInfo, in hex: one key has one, in whatever certificate it stands."""
    spki = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(spki).hexdigest()


def common_name(certificate: x509.Certificate) -> str:
    """CN of the subject, else the whole subject."""
    names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    found = str(names[0].value) if names else certificate.subject.rfc4514_string()
    return found[:200] or "a certificate without a name"


def anchor_of(pem: str, name: str = "", origin: str = "") -> Anchor:
    """The one certificate or public key in a PEM text. Raises :class:`BadKey`."""
    kind, block = _only_block(pem)
    try:
        if kind in ("CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"):
            certificate = fully_parsed(x509.load_pem_x509_certificate(block))
            return Anchor(accepted_key(certificate.public_key()), certificate, name, origin)
        if kind in ("PUBLIC KEY", "RSA PUBLIC KEY"):
            return Anchor(accepted_key(serialization.load_pem_public_key(block)), None, name, origin)
    except BadKey:
        raise
    except UNREADABLE as error:
        raise BadKey(f"The {kind.lower()} cannot be read: {str(error)[:200]}.") from None
    raise BadKey(f'A PEM block "{kind[:40]}" is neither a certificate nor a public key.')


def anchors_of(pem: str, name: str = "") -> list[Anchor]:
    """Every certificate and public key in a PEM text. Raises :class:`BadKey`, also where there is none."""
    blocks = [found.group() for found in _BLOCK.finditer(pem)] or [pem]
    return [anchor_of(block, name) for block in blocks]


def fully_parsed(certificate: x509.Certificate) -> x509.Certificate:
    """The certificate, all of it parsed: the library looks at its parts only when asked. Raises ``UNREADABLE``."""
    common_name(certificate)
    certificate.issuer.rfc4514_string()
    certificate.public_key()
    list(certificate.extensions)
    return certificate


def normal_pem(pem: str) -> str:
    """The one block of a PEM text, without what stands around it. Raises :class:`BadKey`."""
    return _only_block(pem)[1].decode().replace("\r\n", "\n") + "\n"


def _only_block(pem: str) -> tuple[str, bytes]:
    if "PRIVATE KEY" in pem:
        raise BadKey(
            "This holds a private key. It must stay with its owner: nothing was kept. Give the certificate, or the "
            "public key alone (openssl pkey -in key.pem -pubout)."
        )
    if len(pem) > LONGEST_PEM:
        raise BadKey(f"This has {len(pem):,} characters; a key or certificate in PEM has fewer than {LONGEST_PEM:,}.")
    blocks = list(_BLOCK.finditer(pem))
    if not blocks:
        raise BadKey(
            'This is not PEM: it has no "-----BEGIN CERTIFICATE-----" or "-----BEGIN PUBLIC KEY-----". A DER file is '
            "turned into PEM by: openssl x509 -inform der -in FILE."
        )
    if len(blocks) > 1:
        raise BadKey(f"This holds {len(blocks)} PEM blocks. Give the one that is to be trusted, by itself.")
    return blocks[0][1], blocks[0][0].encode()


def accepted_key(key: object) -> PublicKey:
    """The key, if it is of a kind that signs and strong enough. Raises :class:`BadKey`."""
    if not isinstance(key, KINDS):
        raise BadKey(f"A key of the kind {type(key).__name__.strip('_')} signs nothing that is checked here.")
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < LEAST_RSA_BITS:
        raise BadKey(f"An RSA key of {key.key_size} bits is too weak; {LEAST_RSA_BITS} are needed.")
    if isinstance(key, ec.EllipticCurvePublicKey) and not isinstance(key.curve, CURVES):
        raise BadKey(f"The curve {key.curve.name} is not used for signatures here; P-256, P-384 and P-521 are.")
    return key


def same_key(anchors: Sequence[Anchor], key: AnyPublicKey) -> list[Anchor]:
    """The anchors that are this very key."""
    return [anchor for anchor in anchors if anchor.key == key]
