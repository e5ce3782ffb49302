"""Agent sessions inside a vCon, in every dialect met so far (D1 to D10), as steps: events that can still be moved.

``traces`` finds the agent traces and their shapes, ``walk`` turns their entries into steps, ``join`` merges them with
the dialogs, ``core_only`` and ``mcp`` read sessions that have no trace, ``parties`` says who is who, ``usage`` counts
tokens, ``extension`` names the members of our own, ``cddl_repair`` makes a record valid for the CDDL of VAC.
"""

from . import cddl_repair, extension
from .cddl_repair import REQUIRED_MEMBERS
from .clock import Clock
from .core_only import is_thought, steps_of_core_only
from .dialogs import Dialog, dialogs_of, indices, kept_item
from .entries import HOLDING, blocks_of, output_text, visible_text
from .gaps import fill_gaps
from .join import index_after, join_dialogs, with_steps_before
from .mcp import mcp_session_id, steps_of_mcp
from .names import ALL_MEMBERS
from .parties import IDENTIFIERS, MACHINE_PARTY_TYPES, SESSIONS, Parties, Party, agent_facts, identify_parties
from .refs import check_reference
from .steps import NATIVE, Step, kept_by_reader
from .traces import RECORD_NAMES, SESSION_NAMES, Trace, find_traces, member_of, trace_of_record
from .turns import user_kind
from .usage import provider_family
from .walk import TraceWalk

__all__ = [
    "ALL_MEMBERS", "HOLDING", "IDENTIFIERS", "MACHINE_PARTY_TYPES", "NATIVE", "RECORD_NAMES", "REQUIRED_MEMBERS",
    "SESSIONS", "SESSION_NAMES", "Clock", "Dialog", "Parties", "Party", "Step", "Trace", "TraceWalk", "agent_facts",
    "blocks_of",
    "cddl_repair",
    "check_reference", "dialogs_of", "extension", "fill_gaps", "find_traces", "identify_parties", "index_after",
    "indices", "is_thought", "join_dialogs", "kept_by_reader", "kept_item", "mcp_session_id", "member_of",
    "output_text", "provider_family", "steps_of_core_only", "steps_of_mcp", "trace_of_record", "user_kind",
    "visible_text", "with_steps_before",
]  # fmt: skip
