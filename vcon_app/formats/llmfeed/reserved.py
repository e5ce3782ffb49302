"""Blocks that the specification reserves for sessions: agent_state, editable_blocks, replay_endpoint, trust_scope.

Their shapes are not given there. Written here: what came in, else ``editable_blocks`` as JSON pointers to the prompts
(each can be rewritten and the session retried from there), ``replay_endpoint`` as the URL under which this desk replays
the session, ``trust_scope`` as a list of words. They are claims, and none of them is acted upon.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...drafts import Finding, Json, SessionDraft
from ..common.jsonio import dumps
from .feed import Feed

REPLAY, STATE, EDITABLE, SCOPE = "replay_endpoint", "agent_state", "editable_blocks", "trust_scope"
NAMES = (REPLAY, STATE, EDITABLE, SCOPE)
SIGNED = "signed"
"""The word of ``trust_scope`` that only ``sign`` may write."""
SHOWN_BYTES = 16 * 1024
"""An agent's state may be a whole memory: up to this size it is shown with the session, above it is kept only."""


def blocks_with_their_endpoint(blocks: dict[str, Json], said: dict[str, Json]) -> dict[str, Json]:
    """The blocks with the endpoint of the file that a re-export was made from, where ours stands in its place."""
    source = f"source_{REPLAY}"
    if REPLAY not in blocks or source not in said:
        return blocks
    return {name: said[source] if name == REPLAY else value for name, value in blocks.items()
            if name != REPLAY or said[source]}  # fmt: skip


def shown_blocks(feed: Feed, said: dict[str, Json]) -> dict[str, Json]:
    """The reserved blocks as text for a person."""
    blocks = blocks_with_their_endpoint(feed.blocks, said)
    found = {name: value for name in NAMES if (value := blocks.get(name)) not in (None, "", [], {})}
    return {name: value for name, value in found.items() if name == REPLAY or len(dumps(value)) <= SHOWN_BYTES}


def findings(feed: Feed) -> Iterable[Finding]:
    """``trust_scope`` that says "signed" of a file that is not (L5)."""
    if SIGNED in _words(feed.blocks.get(SCOPE)) and not feed.blocks.get("signature"):
        yield Finding("L5", "warning", f"/{SCOPE}", "trust_scope says that the feed is signed; it has no signature.")


def new_blocks(
    session: SessionDraft, kept: dict[str, str], prompts: list[int], options: dict[str, Any], *, ours: bool
) -> dict[str, Json]:
    """The blocks of a new file that were not kept from an old one. ``prompts``: numbers of their entries in the trace.

    ``ours``: the session did not come from a feed, so its file says all that can be said. ``options``: ``replay_url``,
    ``agent_state``.
    """
    known = session.metadata
    editable = ["/context/user_input", *(f"/conversation_trace/{number}" for number in prompts)] if prompts else None
    scope = [word for word, applies in (("replayable", options.get("replay_url")),
                                        ("resumable", session.phase == "active")) if applies]  # fmt: skip
    made = {
        STATE: options.get(STATE) or known.get(STATE),
        EDITABLE: known.get(EDITABLE) or (editable if ours else None),
        REPLAY: options.get("replay_url") or known.get(REPLAY),
        SCOPE: unsigned(known.get(SCOPE)) or (scope if ours else None),
    }
    return {name: value for name, value in made.items() if value and name not in kept}


def replayed_here(kept: dict[str, str], options: dict[str, Any]) -> dict[str, str]:
    """Kept blocks with our endpoint in the place of theirs, which stands in ``metadata`` from then on."""
    url = options.get("replay_url")
    return {name: dumps(url).decode() if name == REPLAY and url else text for name, text in kept.items()}


def unsigned(scope: Json) -> Json:
    """``trust_scope`` without the word that spoke of a signature which does not stand in the new file."""
    if isinstance(scope, list):
        return [word for word in scope if word != SIGNED]
    return None if scope == SIGNED else scope


def signed(scope: Json) -> list[Json]:
    """``trust_scope`` of a feed that is about to be signed."""
    return [SIGNED, *(word for word in _words(scope) if word != SIGNED)]


def _words(scope: Json) -> list[Json]:
    return scope if isinstance(scope, list) else [scope] if isinstance(scope, str) and scope else []
