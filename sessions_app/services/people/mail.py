"""E-mail to one person, where the installation can send any (``EMAIL_URL``)."""

from __future__ import annotations

from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage

from .refused import Refused


def reaches(user: User) -> bool:
    """Whether e-mail can be sent, and this person has an address."""
    return settings.EMAIL_CONFIGURED and bool(user.email)


def send(user: User, subject: str, body: str, headers: dict[str, str] | None = None) -> None:
    """Send a text. Raises ``Refused`` with what the server said."""
    try:
        EmailMessage(" ".join(subject.split()), body, to=[user.email], headers=headers).send()
    except (OSError, SMTPException) as error:
        raise Refused(f"the e-mail to {user.email} could not be sent ({error}); EMAIL_URL names the server") from error
