"""A bundle: one session to hand over, in a zip archive that anyone can check without this program.

Original, vCon, audit records and losses stand in it beside a manifest of their hashes, and a signature over the very
bytes of the manifest. What is in it stands in ``layout``, how it is checked in ``verify`` and in ``docs/bundle.md``.
"""

from .. import vcon
from ..contract import Spec
from .layout import NAME
from .record import Record
from .verify import Report, is_bundle, session_in, verify
from .write import AuditRow, Original, Parts, write

SPEC = Spec(
    name=NAME,
    title="Signed bundle to hand over",
    media_type="application/zip",
    suffix=".bundle.zip",
    options=vcon.SPEC.options,
    needs=frozenset({"parts"}),
    always_signed=True,
    wraps=vcon.NAME,
    new_uuid=vcon.SPEC.new_uuid,
)

__all__ = [
    "NAME", "SPEC", "AuditRow", "Original", "Parts", "Record", "Report", "is_bundle", "session_in", "verify", "write",
]  # fmt: skip
