"""The key that this installation signs with: its own, made when it is first needed, or the one its operator names."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from django.conf import settings
from django.utils import timezone

from vcon_app.signing.keys import Anchor, BadKey
from vcon_app.signing.signers import Signer, new_key_pem, signer_of

KEY_FILE = "signing_key.pem"
"""In the data directory: the installation's key and its certificate."""
NAME = "this installation"


def signer() -> Signer:
    """Who signs what leaves here: the operator's key, else the installation's own. Raises ``BadKey``, ``OSError``."""
    if settings.SIGNING_KEY is not None:
        certificates = settings.SIGNING_CERTIFICATES
        return signer_of(settings.SIGNING_KEY.read_bytes(), certificates.read_bytes() if certificates else b"")
    path = _key_path()
    if not path.exists():
        _make_key(path)
    pem = path.read_bytes()
    return signer_of(pem, pem)


def is_operators() -> bool:
    """Whether it is a key that the operator named, not one that was made here."""
    return settings.SIGNING_KEY is not None


def key_problem() -> str | None:
    """Problem with the key that we sign with; None also while there is none yet."""
    if not is_operators() and not _key_path().exists():
        return None
    try:
        signer()
    except (BadKey, OSError) as error:
        return f"the key that exports are signed with cannot be used: {error}"
    if not is_operators() and _key_path().stat().st_mode & 0o077:
        return f"{_key_path()} can be read by other users"
    return None


def own_anchor() -> Anchor | None:
    """The key that we sign with, as one to trust; None while there is none, or it cannot be used."""
    if not is_operators() and not _key_path().exists():
        return None
    try:
        ours = signer()
    except (BadKey, OSError):  # said wherever somebody wants to sign; others' signatures are checked all the same
        return None
    return Anchor(ours.key.public_key(), ours.certificates[0] if ours.certificates else None, NAME, is_own=True)


def _key_path() -> Path:
    return Path(settings.DATA_DIR) / KEY_FILE


def _make_key(path: Path) -> None:
    """Whole or not at all, and closed to others from the first byte on; of two at once the first one's key stays."""
    host = urlsplit(settings.SITE_URL).hostname
    pem = new_key_pem(f"Countersign at {host}" if host else "Countersign", timezone.now())
    aside = path.with_name(f"{path.name}.{uuid4()}")
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)
