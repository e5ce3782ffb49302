"""A bundle: one session to hand over, in a zip archive that anyone can check without this program.

Original, vCon, audit records and losses stand in it beside a manifest of their hashes, and a signature over the very
bytes of the manifest. What is in it stands in ``layout``, how it is checked in ``verify`` and in ``docs/bundle.md``.
"""

from ..vcon import OPTIONS, uuid8
from .layout import NAME
from .verify import Report, is_bundle, session_in, verify
from .write import AuditRow, Original, Parts, write

TITLE = "Signed bundle to hand over"
MEDIA_TYPE = "application/zip"
SUFFIX = ".bundle.zip"

__all__ = [
    "MEDIA_TYPE", "NAME", "OPTIONS", "SUFFIX", "TITLE", "AuditRow", "Original", "Parts", "Report", "is_bundle",
    "session_in", "uuid8", "verify", "write",
]  # fmt: skip
