"""Verifiable Agent Conversations (draft-birkholz-verifiable-agent-conversations-00) without a vCon around them.

Read: JSON, CBOR and COSE_Sign1 (its payload; ``verify`` checks the signature), plain or gzipped. Written: JSON that the
CDDL of the draft allows. What a record means is told by the vCon format, whose agent traces are such records.
"""

from ..vcon import SUB_AGENTS
from .forms import detect
from .read import read
from .verify import verify
from .write import write

NAME = "vac"
TITLE = "Verifiable Agent Conversation (VAC)"
MEDIA_TYPE = "application/json"
SUFFIX = ".vac.json"
GROWS = "document"
OPTIONS = (SUB_AGENTS,)

__all__ = ["GROWS", "MEDIA_TYPE", "NAME", "OPTIONS", "SUFFIX", "TITLE", "detect", "read", "verify", "write"]
