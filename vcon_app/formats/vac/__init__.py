"""Verifiable Agent Conversations (draft-birkholz-verifiable-agent-conversations-00) without a vCon around them.

Read: JSON, CBOR and COSE_Sign1 (its payload; ``verify`` checks the signature), plain or gzipped. Written: JSON that the
CDDL of the draft allows. What a record means is told by the vCon format, whose agent traces are such records.
"""

from ..contract import Spec
from ..vcon import SUB_AGENTS
from .forms import detect
from .read import read
from .verify import verify
from .write import write

NAME = "vac"
SPEC = Spec(
    name=NAME,
    title="Verifiable Agent Conversation (VAC)",
    media_type="application/json",
    suffix=".vac.json",
    options=(SUB_AGENTS,),
)

__all__ = ["NAME", "SPEC", "detect", "read", "verify", "write"]
