"""Arguments without their secrets: what a card shows until somebody asks to see them.

More is masked than in what is exported (``rendering.masking``): here the reviewer can look behind the mask.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(
    r"(?:^|_)(?:password|passwd|pwd|passphrase|secret|secret_key|client_secret|api_?key|access_key|private_key|auth_token"
    r"|access_token|refresh_token|id_token|session_token|bearer|authorization|cookie|set_cookie|credentials?|cvv|cvc"
    r"|token)$"
)
_HARMLESS = re.compile(r"(?:page|next|continuation|sync|cursor)_token$")
_SCHEME = re.compile(r"^(Bearer|Basic|Token|Digest)\s+", re.IGNORECASE)
_IN_TEXT = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk)[-_](?:[A-Za-z]{0,6}[-_])?[A-Za-z0-9_-]{16,}"  # OpenAI, Anthropic, Stripe
    r"|(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}"
    r"|(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*"  # RFC 7519
    r"|(?<=://)[^/\s:@]{1,100}:[^/\s@]{1,200}(?=@)"
    r"|(?P<scheme>\bBearer\s+)[A-Za-z0-9._~+/-]{12,}=*"
    r"|(?P<named>(?:\b|_)(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token|token)"
    r"(?:[\"']?\s*[:=]\s*[\"']?|(?<=password)\s+))(?![\s\"'$])[^\s\"'&;,|)]{6,}",
    re.IGNORECASE | re.DOTALL,
)


def masked(value: Any, key: str = "") -> tuple[Any, int]:
    """The value with its secrets as masks that say how long they are, and how many there are."""
    if isinstance(value, dict):
        pairs = {name: masked(item, str(name)) for name, item in value.items()}
        return {name: item for name, (item, _) in pairs.items()}, sum(count for _, count in pairs.values())
    if isinstance(value, list):
        items = [masked(item, key) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if not isinstance(value, str) or not value:
        return value, 0
    if names_secret(key) and len(value) >= 4:
        scheme = _SCHEME.match(value)
        kept = scheme[0] if scheme else ""
        return kept + mask(value[len(kept) :]), 1
    return in_text(value)


def without(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that hold no secret."""
    return {name: value for name, value in arguments.items() if not masked(value, str(name))[1]}


def masked_conditions(predicates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Conditions on arguments (``{"path", "op", "value"}``) without the secrets that they compare with."""
    shown = []
    for one in predicates:
        key = str(one.get("path", "")).rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        shown.append({**one, "value": masked(one["value"], key)[0]} if "value" in one else one)
    return shown


def in_text(text: str) -> tuple[str, int]:
    """The same for what looks like a secret inside of a text."""

    def hide(match: re.Match[str]) -> str:
        kept = match["scheme"] or match["named"] or ""
        return kept + mask(match[0][len(kept) :])

    return _IN_TEXT.subn(hide, text)


def names_secret(key: str) -> bool:
    """Whether what stands under a key is a secret: ``apiKey``, ``X-Api-Key``, ``db_password``."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).replace("-", "_").lower()
    return bool(_KEY.search(name)) and not _HARMLESS.search(name)


def mask(secret: str) -> str:
    return f"••• hidden, {len(secret)} characters •••"
