"""Documents that are encrypted for this installation, opened with the key that its operator names."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from django.conf import settings

from vcon_app.drafts import FormatError
from vcon_app.formats.contract import Format, Unsealer
from vcon_app.signing.keys import BadKey
from vcon_app.signing.signers import private_key_of


def decrypted(format: Format, source: BinaryIO) -> BinaryIO:
    """The document inside of one that is encrypted for this installation, else ``source`` itself.

    Raises ``FormatError`` when it is encrypted for others, or the key that is configured is none.
    """
    if settings.DECRYPTION_KEY is None or not isinstance(format, Unsealer):
        return source
    return format.unseal(source, [_decryption_key(settings.DECRYPTION_KEY)])


def _decryption_key(path: Path) -> RSAPrivateKey:
    try:
        key = private_key_of(path.read_bytes())
    except (BadKey, OSError) as error:
        raise FormatError(f"The key that encrypted files are opened with cannot be used: {error}") from None
    if not isinstance(key, RSAPrivateKey):
        raise FormatError("The key that encrypted files are opened with is no RSA key, as RSA-OAEP needs it.")
    return key
