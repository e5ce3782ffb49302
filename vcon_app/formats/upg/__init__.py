"""Unified Product Graph (core 0.41.0): agent sessions as nodes, with definition, decisions, evidence and approvals.

Read: both envelopes, one session for each agent_session, everything unknown kept. Written: the canonical form with
the seal of the reference implementation; ``write_many`` puts several sessions into one file, ``write_stream`` any
number of them. A graph tells that a run took place and what came of it, no transcript.
"""

from ..contract import Spec
from .graph import detect
from .read import read
from .stream import write_stream
from .write import OPTIONS, write, write_many

NAME = "upg"
SPEC = Spec(
    name=NAME,
    title="Unified Product Graph",
    media_type="application/json",
    suffix=".upg",
    options=OPTIONS,
    needs=frozenset({"costs", "family", "graph"}),
)

__all__ = ["NAME", "SPEC", "detect", "read", "write", "write_many", "write_stream"]
