"""Rules of the drafts beside the trace: what is checked and reported, and what attachments, grants and lineage mean."""

from .attachments import FILE_CHANGE_MEMBERS, Attachments, insert_attachments, read_attachments
from .grants import grants_of
from .lineage import report_removed_text
from .placeholders import EVENT, shell_of, shell_of_new
from .rules import DIALOG_REFS, DIALOG_TYPES, DISPOSITIONS, FORBIDDEN, PARTY_REFS, check_vcon, refuse_critical

__all__ = [
    "DIALOG_REFS", "DIALOG_TYPES", "DISPOSITIONS", "EVENT", "FILE_CHANGE_MEMBERS", "FORBIDDEN", "PARTY_REFS",
    "Attachments", "check_vcon", "grants_of", "insert_attachments", "read_attachments", "refuse_critical",
    "report_removed_text", "shell_of", "shell_of_new",
]  # fmt: skip
