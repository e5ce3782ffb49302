"""Collector of a file's findings: a finding that repeats is reported with a count, not 229 times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....drafts import Finding, Severity

MARK = b"__REDACTED_REF_"
"""How a mark of removed text begins (draft-rosenberg-vcon-redaction-00)."""
EACH = 5
"""So many findings of one kind are told one by one."""
KINDS = 100
"""So many kinds are told apart for one rule: a hostile file can have a million."""


def point(base: str, *tokens: Any) -> str:
    """A JSON pointer (RFC 6901) below ``base``."""
    for token in tokens:
        if type(token) is str and ("~" in token or "/" in token):
            token = token.replace("~", "~0").replace("/", "~1")
        base = f"{base}/{token}"
    return base


def shown(value: Any, limit: int = 60) -> str:
    """A value of the file for a message: short, and with control characters made visible."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= limit else text[:limit] + "…"


class Notes:
    """Collects findings; :meth:`drain` yields what is new, with repeats summed up."""

    def __init__(self) -> None:
        self._new: list[Finding] = []
        self._seen: dict[tuple[str, str], int] = {}
        self._kinds: dict[str, int] = {}
        self._more: dict[tuple[str, str], Finding] = {}
        self.marked = False
        """The file holds ``MARK`` somewhere."""

    def error(self, rule: str, path: str, message: str, like: str = "") -> None:
        self._add(rule, "error", path, message, like)

    def warn(self, rule: str, path: str, message: str, like: str = "") -> None:
        self._add(rule, "warning", path, message, like)

    def info(self, rule: str, path: str, message: str, like: str = "") -> None:
        self._add(rule, "info", path, message, like)

    def _add(self, rule: str, severity: Severity, path: str, message: str, like: str) -> None:
        """``like`` names the kind of a repeated finding; it is the message itself when left out."""
        kind = (rule, like or message)
        if kind not in self._seen:
            self._kinds[rule] = self._kinds.get(rule, 0) + 1
            kind = kind if self._kinds[rule] <= KINDS else (rule, "")
        self._seen[kind] = self._seen.get(kind, 0) + 1
        finding = Finding(rule, severity, path, message)
        if self._seen[kind] <= EACH:
            self._new.append(finding)
        else:
            self._more.setdefault(kind, finding)

    def drain(self) -> Iterator[Finding]:
        """Findings since the last call, then one line for each kind that came more than EACH times."""
        new, self._new = self._new, []
        yield from new
        for kind, finding in self._more.items():
            count = self._seen[kind] - EACH
            yield Finding(
                finding.rule,
                finding.severity,
                finding.path,
                f"{finding.message} (and {count - 1} more like this)" if count > 1 else finding.message,
            )
            self._seen[kind] = EACH
        self._more.clear()
