"""Secrets in a text that are secrets beyond doubt: keys to which their issuer gave a shape of its own.

Stricter than the masks (``rendering.masking``, ``rendering.arguments.secrets``): a mask in the wrong place is a
nuisance, a finding in the wrong place is why nobody reads findings. What is found is named, never repeated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import Any

import re2

from .lines import TAIL

SHAPES: tuple[tuple[str, str], ...] = (
    ("private key", r"-----BEGIN (?:[A-Z]{2,9} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\n)+(?:[\w+/=-]|\s|\\n){80,}"),
    ("Anthropic API key", r"\bsk-ant-[a-z]{3,6}\d{2}-[\w-]{60,}"),
    ("OpenAI API key", r"\bsk-(?:proj|svcacct|admin)-[\w-]{40,}|\bsk-\w{20}T3BlbkFJ\w{20}\b"),
    ("OpenRouter API key", r"\bsk-or-v1-[0-9a-f]{64}\b"),
    ("Stripe live key", r"\b[sr]k_live_[0-9A-Za-z]{24,}"),
    ("GitHub token", r"\bgh[pousr]_[0-9A-Za-z]{36}\b|\bgithub_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}\b"),
    ("GitLab token", r"\bglpat-[\w-]{20}\b"),
    ("Slack token", r"\bxox[abeoprs]-\d{8,13}-[\w-]{20,}|\bxapp-\d-[A-Z0-9]{8,12}-\d{8,13}-[0-9a-f]{40,80}"),
    ("AWS secret key", r"(?i)\baws_?secret_?access_?key[\"']?\s{0,3}[:=]\s{0,3}[\"']?[0-9A-Za-z/+]{40}\b"),
    ("Google API key", r"\bAIza[\w-]{35}\b"),
    ("Groq API key", r"\bgsk_[0-9A-Za-z]{52}\b"),
    ("Hugging Face token", r"\bhf_[0-9A-Za-z]{34}\b"),
    ("npm token", r"\bnpm_[0-9A-Za-z]{36}\b"),
    ("PyPI token", r"\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}"),
    ("SendGrid key", r"\bSG\.[\w-]{22}\.[\w-]{43}\b"),
    ("DigitalOcean token", r"\bdo[opr]_v1_[0-9a-f]{64}\b"),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    ("age secret key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    ("password in an address", r"\b(?:postgres(?:ql)?|mysql|mariadb|mongodb(?:\+srv)?|rediss?|amqps?)://[\w.%+-]{1,80}:"
     r"[^\s:/@\"'`<>${}()]{8,120}@[\w-]{1,80}(?:\.[\w-]{1,80})+"),
)  # fmt: skip
SCANNED = 64 * 1024
"""Characters of one text that are looked at, and ``lines.TAIL`` at its end."""
SHORTEST = 24
"""Characters of the shortest secret that is looked for."""
_ANY = re2.compile("|".join(f"(?:{pattern})" for _, pattern in SHAPES))
_EACH = tuple((name, re.compile(pattern)) for name, pattern in SHAPES)
_MADE_UP = re.compile(
    r"example|sample|placeholder|dummy|fake|redacted|changeme|your[-_]|secret123|password|localhost|\.local\b|\.test\b"
    r"|\.invalid\b|(.)\1{5}|0123456|1234567|abcdef[gh]|deadbeef|xxxx|\*\*\*|\.\.\.|…",
    re.IGNORECASE,
)
"""What documentation and tests write in place of a secret."""
LEAST_BITS = 3.0
"""Entropy of a character: 36 drawn letters and digits have 4.5, a word typed in their place 2 to 3."""
_VALUE = re.compile(r"[A-Za-z0-9+/]{8,}")


def may_hold_secret(text: str) -> bool:
    """Whether anything in a text has the shape of a secret; in several that are joined by a line break, too."""
    if len(text) < SHORTEST:
        return False
    try:
        # One pass of RE2, linear and 20 times faster than ``re`` on what holds none, which is nearly every text.
        return bool(_ANY.search(text))
    except UnicodeEncodeError:  # half of a surrogate pair, which RE2 has no bytes for
        return bool(_ANY.search(text.encode("utf-8", "replace").decode()))


def named_in(text: str) -> list[str]:
    """Names of the kinds of secrets in a text, each once."""
    if not may_hold_secret(text):
        return []
    return [name for name, shape in _EACH if any(_is_secret(name, found[0]) for found in shape.finditer(text))]


def scanned(text: str) -> str:
    """The parts of a text that are looked at."""
    return text if len(text) <= SCANNED + TAIL else f"{text[:SCANNED]}{text[-TAIL:]}"


def texts_in(value: Any) -> Iterator[str]:
    """The texts of a value, however deep."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            left += one.values()
        elif isinstance(one, list):
            left += one


def _is_secret(name: str, found: str) -> bool:
    if _MADE_UP.search(found):
        return False
    if name == "password in an address":
        password = found.partition("://")[2].rpartition("@")[0].partition(":")[2]
        return _bits(password) >= LEAST_BITS and any(map(str.isdigit, password))
    body = found[40:] if name == "private key" else max(_VALUE.findall(found), key=len, default=found)
    return _bits(body) >= LEAST_BITS


def _bits(text: str) -> float:
    """Entropy of a text per character."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in Counter(text).values()) if size else 0.0
