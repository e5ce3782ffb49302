"""What the desk says of an approval, believed only where it is about this very call.

Everything that is not a well-formed answer about the id, the digest and the arguments that were asked about raises
``Untrusted``, and whoever asked reads that as no.
"""

from __future__ import annotations

from . import plain_json
from .canonical import canonical, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PENDING, ALLOWED = "pending", ("approved", "approved_edited", "auto_allowed")
REFUSED = ("denied", "answered", "expired", "cancelled", "auto_denied", "settled_elsewhere")
HEXADECIMAL = frozenset("0123456789abcdef")


class Untrusted(Exception):
    """The answer is about something else, or is none."""


class Question:
    """The call that is asked about, as the body of ``POST /api/v1/approvals``. Raises ``ValueError`` for no JSON."""

    def __init__(
        self, tool: str, arguments: dict[str, Any], server: str | None = None, fingerprint: str | None = None,
        **more: Any,
    ) -> None:  # fmt: skip
        self.tool, self.server = tool, server
        self.written = canonical(arguments)
        """What was asked about, whatever becomes of the object that the caller gave."""
        self.client_id: str = more["client_id"]
        about = {"name": tool, "arguments": arguments} | ({"server": server} if server is not None else {})
        about |= {"fingerprint": fingerprint} if fingerprint else {}
        known = {name: value for name, value in more.items() if value is not None}
        self.body = plain_json.dumps({"tool": about, **known}).encode()


class Decision:
    """What became of a call. True where it may run, and then only with ``arguments``."""

    __slots__ = ("allowed", "status", "reason", "answer", "by", "by_kind", "rule", "approval_id", "session_id",
                 "digest", "is_edited", "_arguments")  # fmt: skip

    def __init__(self, status: str, reason: str = "", approval_id: str = "", session_id: str = "") -> None:
        self.allowed = False
        self.status = status
        """A status of an approval; ``pending`` where the wait ended first; ``failed`` where there is no answer."""
        self.reason, self.approval_id, self.session_id = reason, approval_id, session_id
        self.answer = self.by = self.by_kind = self.digest = ""
        """``digest`` names the call that may be executed."""
        self.rule: str | None = None
        self.is_edited = False
        self._arguments: dict[str, Any] | None = None

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def arguments(self) -> dict[str, Any]:
        """What must be run: as asked, or as a person changed it. Raises ``PermissionError`` where nothing may run."""
        if not self.allowed or self._arguments is None:
            raise PermissionError(f"this call may not run: {self.status}{f' ({self.reason})' if self.reason else ''}")
        return self._arguments

    def __repr__(self) -> str:
        return f"<Decision {self.status} by {self.by or 'nobody'}: {self.reason!r}>"


def read(data: bytes, question: Question, expected_id: str = "") -> Decision:
    """The decision in an answer, checked; status ``pending`` where there is none yet. Raises ``Untrusted``."""
    try:
        approval = plain_json.loads(data)
    except (ValueError, RecursionError):
        raise Untrusted("the answer is no JSON") from None
    if not isinstance(approval, dict):
        raise Untrusted("the answer is no approval")
    _check_identity(approval, question, expected_id)
    status, session = approval.get("status"), approval["session_id"]
    found = Decision(str(status), approval_id=approval["id"], session_id=session)
    rule = approval.get("rule")
    found.rule = rule if isinstance(rule, str) else None
    if status == PENDING:
        return found
    if status not in ALLOWED + REFUSED:
        raise Untrusted(f'"{str(status)[:40]}" is no status that this version knows')
    made = approval.get("decision")
    if not isinstance(made, dict):
        raise Untrusted("a decision without a decision")
    for name in ("reason", "answer", "by", "by_kind"):
        if isinstance(made.get(name), str):
            setattr(found, name, made[name])
    if status in ALLOWED:
        _allow(found, approval, made, question)
    return found


def _check_identity(approval: dict[str, Any], question: Question, expected_id: str) -> None:
    tool, id_, session = approval.get("tool"), approval.get("id"), approval.get("session_id")
    if not isinstance(id_, str) or not id_ or not isinstance(session, str) or not session:
        raise Untrusted("an approval without an id")
    if expected_id and id_ != expected_id:
        raise Untrusted(f"the answer is about {id_[:40]}, and {expected_id} was asked about")
    if approval.get("client_id") != question.client_id:
        raise Untrusted("the answer is about another call: its client_id differs")
    if not isinstance(tool, dict) or tool.get("name") != question.tool or tool.get("server") != question.server:
        raise Untrusted("the answer is about another tool")
    if not isinstance(tool.get("arguments"), dict) or _written(tool["arguments"]) != question.written:
        raise Untrusted("the answer is about other arguments")
    if not _is_digest(approval.get("digest")):
        raise Untrusted("an approval without a digest")


def _allow(found: Decision, approval: dict[str, Any], made: dict[str, Any], question: Question) -> None:
    """Take what may run; the digest has to be of it."""
    changed, named = made.get("arguments"), made.get("digest")
    edited = approval["status"] == "approved_edited"
    if edited != isinstance(changed, dict) or (changed is not None and not isinstance(changed, dict)):
        raise Untrusted("an approval that does not say which arguments it is for")
    run = changed if edited else plain_json.loads(question.body)["tool"]["arguments"]
    if not _is_digest(named) or named != digest(
        found.session_id, found.approval_id, question.tool, question.server, run
    ):
        raise Untrusted("the digest is not of the arguments that were decided on")
    found.allowed, found.is_edited, found.digest, found._arguments = True, edited, named, run


def _written(value: Any) -> str:
    try:
        return canonical(value)
    except (ValueError, RecursionError):
        raise Untrusted("the answer holds arguments that are no JSON") from None


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and HEXADECIMAL.issuperset(value)
