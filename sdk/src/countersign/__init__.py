"""Ask a Countersign desk before a tool call runs, and tell it what an agent does, from a program or from hooks.

Names are imported when they are used: a hook is started for every call, and pays for each module that it loads.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .answers import Decision
    from .client import AsyncClient, Client, Denied, NotConfigured
    from .required import requires_approval
    from .session import AsyncSession, DeskError, NotSent, Session, SpoolFull, StateConflict

__all__ = [
    "AsyncClient", "AsyncSession", "Client", "Decision", "Denied", "DeskError", "NotConfigured", "NotSent",
    "Session", "SpoolFull", "StateConflict", "requires_approval",
]  # fmt: skip

_HOMES = {"Decision": "answers", "AsyncClient": "client", "Client": "client", "Denied": "client",
          "NotConfigured": "client", "requires_approval": "required", "AsyncSession": "session",
          "DeskError": "session", "NotSent": "session", "Session": "session", "SpoolFull": "session",
          "StateConflict": "session"}  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'countersign' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"countersign.{_HOMES[name]}"), name)
