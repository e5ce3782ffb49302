"""A signed cookie in browsers in which a person has signed in: wrong passwords of others do not keep them out there.

Device cookies after OWASP ("Slow Down Online Guessing Attacks with Device Cookies"). The cookie opens nothing: it says
which name was signed in here, as a keyed hash, and gives the browser a count of its own.
"""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse

from sessions_app.services.people import sign_in_throttle
from sessions_app.services.people.password_checks import canonical_name

COOKIE, SALT = "known_browser", "known browser"
SECONDS = 365 * 24 * 3600


def browser_id(request: HttpRequest, name: str) -> str:
    """Id of the browser when it has signed in under this canonical name before; else empty."""
    said = request.get_signed_cookie(COOKIE, default="", salt=SALT, max_age=SECONDS)
    of_name, _, id_ = said.partition(" ")
    return id_ if of_name == sign_in_throttle.name_key(name) else ""


def remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    """Let the browser show next time that this person was here."""
    name = canonical_name(user.get_username())
    id_ = browser_id(request, name) or secrets.token_urlsafe(16)
    response.set_signed_cookie(
        COOKIE,
        f"{sign_in_throttle.name_key(name)} {id_}",
        salt=SALT,
        max_age=SECONDS,
        path="/sign-in/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
