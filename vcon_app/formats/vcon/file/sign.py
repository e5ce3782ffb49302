"""A vCon of ours with our signature (core s5.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ....signing import jws
from ....signing.signers import Signer
from ...common.jsonio import dumps


def sign(content: bytes, signer: Signer, at: datetime, options: dict[str, Any]) -> bytes:
    """The signed form of what ``write`` made with ``options``. Raises ``ValueError`` without a certificate."""
    return dumps(jws.sign(content, signer, options["uuid"]))


def signs_with(signer: Signer) -> bool:
    """The signer's certificate has to be in the file."""
    return bool(signer.certificates)
