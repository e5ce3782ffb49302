"""The runtime ``built_in``: a model answers where the workspace has a key for one, else fixed rules do."""

from __future__ import annotations

from sessions_app.services import secrets

from .. import Outcome
from ..local import loop
from ..run import TurnRun
from . import rules
from .tools import DeskTools, asker_of


def advance(turn: TurnRun) -> Outcome:
    """Advance a turn as far as it goes without a person. See ``runtimes``. Who began to answer it, ends it."""
    asker_of(turn)
    if "by_rules" not in turn.state:
        turn.save_state(by_rules=not _has_key(turn))
    return rules.advance(turn) if turn.state["by_rules"] else loop.advance(turn, DeskTools)


def _has_key(turn: TurnRun) -> bool:
    """Whether there is a key; one that cannot be used is one, and the loop says what is wrong with it."""
    try:
        return bool(secrets.provider_key(turn.session.workspace_id))
    except ValueError:
        return True
