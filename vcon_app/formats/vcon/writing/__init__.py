"""Writing: a session as a vCon of core-04, with the agent_session extension and a trace after VAC-00.

``plan`` walks the events once and decides what becomes a dialog, an entry or an attachment; the other modules walk
again and write, so that a log of any length is never held in memory.
"""

from .plan import ATTACHMENT_KINDS, HAD_WORDS, REMOVED_PARTS, Plan, TrustedLog, make_plan
from .trace import RECORD_MEMBERS, SESSION_MEMBERS, record_bytes, trace_frame
from .write import TOP_MEMBERS, same_record, write

__all__ = [
    "ATTACHMENT_KINDS", "HAD_WORDS", "RECORD_MEMBERS", "REMOVED_PARTS", "SESSION_MEMBERS", "TOP_MEMBERS", "Plan",
    "TrustedLog", "make_plan", "record_bytes", "same_record", "trace_frame", "write",
]  # fmt: skip
