"""What an encrypted vCon holds (core s5.3): a signed one, usually. ``signing.jwe`` does the opening."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import BinaryIO

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from ....drafts import FormatError
from ....signing import jwe
from ...common.head import SIZES, Head
from . import forms, tree
from .notes import Notes

MARKS = (b'"ciphertext"', b'"cyphertext"')
"""Names of the member that only an encrypted vCon has; the second stood in an official example."""


def unseal(source: BinaryIO, keys: Sequence[RSAPrivateKey]) -> BinaryIO:
    """The document itself, or the one inside when it is encrypted for one of ``keys``. Raises ``FormatError``.

    Without keys, or when it is not encrypted, the stream is given back at its start.
    """
    source.seek(0)
    head = Head(source.read(SIZES[0]))
    source.seek(0)
    if not keys or not any(mark in head.data for mark in MARKS):
        return source
    value = tree.parse(_whole(source, head.raw[:2] == b"\x1f\x8b"), Notes())
    if not forms.is_encrypted(value):
        source.seek(0)
        return source
    try:
        return io.BytesIO(jwe.decrypt(value, keys))
    except jwe.Unopened as error:
        sealed = forms.encrypted(value)
        raise FormatError(f"{error}{sealed.detail.removeprefix(forms.SEALED)}", sealed) from None


def _whole(source: BinaryIO, is_packed: bool) -> bytes:
    data = (tree.Unzipped(source) if is_packed else source).read(forms.SIGNED_LIMIT + 1)
    if len(data) > forms.SIGNED_LIMIT:
        raise FormatError(f"This encrypted vCon is larger than {forms.SIGNED_LIMIT:,} bytes; it is not opened.")
    return data
