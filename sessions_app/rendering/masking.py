"""Values that look like secrets, masked for whoever is not meant to use them.

Only shapes that are secrets beyond doubt: a mask in the wrong place hides what a reviewer must see.
"""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"(?P<keep>\b(?:sk|pk|rk)-[A-Za-z]{0,6})[A-Za-z0-9_-]{20,}"  # OpenAI, Anthropic, Stripe
    r"|(?P<bearer>\b[Bb]earer\s+)[A-Za-z0-9._~+/-]{16,}=*"  # RFC 6750
    r"|(?P<name>\bapi[_-]?key[\"']?\s*[:=]\s*[\"']?)[A-Za-z0-9._~+/-]{12,}",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?:x[_-])?api[_-]?key", re.IGNORECASE)
MASK = "•••masked•••"


def mask(text: str) -> tuple[str, int]:
    """The text with its secrets masked, and how many there were."""
    return _SECRET.subn(lambda match: f"{match['keep'] or match['bearer'] or match['name']}{MASK}", text)


def names_secret(key: str) -> bool:
    """Whether the value under this key is a secret whatever it looks like."""
    return bool(_NAME.fullmatch(key))
