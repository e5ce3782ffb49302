"""Unified Product Graph (core 0.41.0): agent sessions as nodes, with their definition, decisions and evidence.

Read: both envelopes, one session for each agent_session, everything unknown kept. Written: the canonical form with
the seal of the reference implementation. A graph tells that a run took place and what came of it, no transcript.
"""

from .graph import detect
from .read import read
from .write import write

NAME = "upg"
TITLE = "Unified Product Graph"
MEDIA_TYPE = "application/json"
SUFFIX = ".upg"
GROWS = "document"

__all__ = ["GROWS", "MEDIA_TYPE", "NAME", "SUFFIX", "TITLE", "detect", "read", "write"]
