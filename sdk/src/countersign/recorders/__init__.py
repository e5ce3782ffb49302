"""Records what other people's clients of models are asked and answer, without a change where they are called."""

from .clients import record_anthropic, record_openai

__all__ = ["record_anthropic", "record_openai"]
