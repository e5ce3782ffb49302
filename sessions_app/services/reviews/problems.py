"""What is refused of a review: every service here raises these, pages and the API tell them."""

from __future__ import annotations

from sessions_app.models import Member, Role


class Refused(ValueError):
    """A field is wrong; ``field`` names it, the message says what to do."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class NotAllowed(PermissionError):
    """The role of the member does not cover it, or it is somebody else's."""


def require(member: Member, needed: Role) -> None:
    """Raises ``NotAllowed`` unless the member's role covers the one that is needed."""
    if not Role(member.role).covers(needed):
        raise NotAllowed(f'this needs the role "{needed}", and yours is "{member.role}"; ask an admin')
