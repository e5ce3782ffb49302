"""Sessions as containers of a conversation: messages, state, agents that share one, and what is remembered beyond it.

Everything is kept by the desk. The calls are those of seed programs written for AGNT5's ``Session``: ``set_state`` and
``get_state`` at once, all else with ``await``.
"""

from .agent import Agent, AgentResult, NoField
from .embeddings import EmbeddingModel
from .memory import Memory, VectorMemoryService
from .model import LanguageModel, ModelError
from .session import Session

__all__ = [
    "Agent", "AgentResult", "EmbeddingModel", "LanguageModel", "Memory", "ModelError", "NoField", "Session",
    "VectorMemoryService",
]  # fmt: skip
