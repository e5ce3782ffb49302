"""llmfeed sessions (``*.session.llmfeed.json``): the specification's layouts and those found in the wild.

Read: feed_type session, session-feed, session-replay, an export with an item of type session, and captures
without a feed_type that have its blocks. ``context.user_input`` and ``conversation_trace`` become messages;
``decisions`` become ``note`` events with ``data.decision``; ``outputs`` become artifacts, and a text output
of a foreign file also the agent's last message; ``api_execution`` becomes a ``model_request`` with
aggregate usage; other blocks are told as notes and kept whole. ``verify`` checks signatures.

Written: one feed with S1, ``session_summary`` and ``conversation_trace``. Tool calls, usage, cost and
sub-agents are plain keys of trace entries (see ``entries``), so reading the file back gives the same
events under the same keys and nothing of them is a loss. Losses are: masked secrets, a signature (it
vouched for other bytes), what another format keeps around its events. ``reserved`` has the blocks that the
specification only names.
"""

from __future__ import annotations

from ..common.head import Head
from ..contract import Spec
from .feed import MAX_BYTES, is_loose
from .read import read, read_anyway
from .signatures import sign, signs_with, verify
from .write import write

NAME = "llmfeed"
SPEC = Spec(
    name=NAME,
    title="llmfeed session",
    media_type="application/session+llmfeed",
    max_bytes=MAX_BYTES,
    suffix=".session.llmfeed.json",
    also_served_as=("application/llmfeed+json",),
)

__all__ = [
    "NAME", "SPEC", "detect", "read", "read_anyway", "sign", "signs_with", "verify", "write",
]  # fmt: skip


def detect(head: Head) -> bool:
    """Any JSON object with a ``feed_type``: what is no session is refused by ``read``, by its name (L2).

    Also feeds that say it in ``metadata``, and the one layout without any (S12), known by three of its keys.
    """
    if head.shape.get("") != "{" or _is_list_of_feeds(head):
        return False
    if "feed_type" in head.keys or "metadata.feed_type" in head.shape:
        return True
    return is_loose(head.keys)


def _is_list_of_feeds(head: Head) -> bool:
    """JSON Lines, each of which has a feed_type: an index, not a feed."""
    return len(head.lines) > 1 and "feed_type" in head.lines[0]
