"""The algorithms that signatures are checked with: an allow-list (RFC 7518 s3, RFC 8037). Nothing else verifies."""

from __future__ import annotations

from collections.abc import Callable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa, utils

from .keys import AnyPublicKey

HASHES: dict[str, Callable[[], hashes.HashAlgorithm]] = {
    "256": hashes.SHA256,
    "384": hashes.SHA384,
    "512": hashes.SHA512,
}
CURVES: dict[str, type[ec.EllipticCurve]] = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}
ALLOWED = frozenset((*(f"{kind}{bits}" for kind in ("RS", "PS") for bits in HASHES), *CURVES, "EdDSA"))
WORTHLESS = frozenset(("none", "HS256", "HS384", "HS512"))
"""Anybody who can read the file can make these: unsigned, or keyed with a secret that has to be shared."""


class WrongKeyKind(ValueError):
    """The key is of another kind than the algorithm asks for."""


def verifies(algorithm: str, key: AnyPublicKey, signature: bytes, data: bytes) -> bool:
    """Whether ``key`` made ``signature`` over ``data``. Raises :class:`WrongKeyKind`; ``algorithm`` must be allowed."""
    check = {"RS": _rsa, "PS": _rsa, "ES": _ecdsa, "Ed": _eddsa}[algorithm[:2]]
    try:
        check(algorithm, key, signature, data)
    except InvalidSignature:
        return False
    return True


def fits(algorithm: str, key: AnyPublicKey) -> bool:
    """Whether a key of this kind can have made a signature of this algorithm."""
    if algorithm in CURVES:
        return isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, CURVES[algorithm])
    return isinstance(
        key, (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey) if algorithm == "EdDSA" else rsa.RSAPublicKey
    )


def _wrong_kind(algorithm: str, key: AnyPublicKey) -> WrongKeyKind:
    return WrongKeyKind(f"{algorithm} is not an algorithm for its key ({kind_of(key)})")


def kind_of(key: AnyPublicKey) -> str:
    """``RSA 2048``, ``secp256r1``, ``Ed25519``."""
    if isinstance(key, rsa.RSAPublicKey):
        return f"RSA {key.key_size}"
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.curve.name
    return type(key).__name__.removesuffix("PublicKey")


def _rsa(algorithm: str, key: AnyPublicKey, signature: bytes, data: bytes) -> None:
    if not isinstance(key, rsa.RSAPublicKey):
        raise _wrong_kind(algorithm, key)
    digest = HASHES[algorithm[2:]]()
    scheme = padding.PSS(padding.MGF1(digest), digest.digest_size) if algorithm[0] == "P" else padding.PKCS1v15()
    key.verify(signature, data, scheme, digest)


def _ecdsa(algorithm: str, key: AnyPublicKey, signature: bytes, data: bytes) -> None:
    """The signature is r and s side by side, each as long as the curve (RFC 7518 s3.4), not DER."""
    if not isinstance(key, ec.EllipticCurvePublicKey) or not fits(algorithm, key):
        raise _wrong_kind(algorithm, key)
    half = (key.curve.key_size + 7) // 8
    if len(signature) != 2 * half:
        raise InvalidSignature
    r, s = int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    key.verify(utils.encode_dss_signature(r, s), data, ec.ECDSA(HASHES[algorithm[2:]]()))


def _eddsa(algorithm: str, key: AnyPublicKey, signature: bytes, data: bytes) -> None:
    if not isinstance(key, (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)):
        raise _wrong_kind(algorithm, key)
    key.verify(signature, data)
