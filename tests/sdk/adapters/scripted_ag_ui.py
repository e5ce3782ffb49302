"""AG-UI is spoken by Pydantic AI here, with its scripted model."""

from scripted_pydantic_ai import model, told

__all__ = ["model", "told"]
