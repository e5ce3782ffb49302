"""Who signed a feed, over the bytes of the file: a database would lose the order of keys, and with it the signature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import BinaryIO

from ...drafts import Finding, Signature
from ...signing import feeds
from ...signing.keys import Anchor
from .feed import load, unpacked


def verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a feed's signature, whether or not the feed is a session. Raises ``FormatError``."""
    load(source)  # refuses what is no feed; its values are repaired and were never signed like that
    source.seek(0)
    return feeds.check(json.loads(unpacked(source).decode("utf-8-sig")), anchors, at)
