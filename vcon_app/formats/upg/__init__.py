"""Unified Product Graph (core 0.41.0): agent sessions as nodes, with definition, decisions, evidence and approvals.

Read: both envelopes, one session for each agent_session, everything unknown kept. Written: the canonical form with
the seal of the reference implementation; ``write_many`` puts several sessions into one file. A graph tells that a run
took place and what came of it, no transcript.
"""

from .graph import detect
from .read import read
from .write import OPTIONS, write, write_many

NAME = "upg"
TITLE = "Unified Product Graph"
MEDIA_TYPE = "application/json"
SUFFIX = ".upg"
GROWS = "document"

__all__ = ["GROWS", "MEDIA_TYPE", "NAME", "OPTIONS", "SUFFIX", "TITLE", "detect", "read", "write", "write_many"]
