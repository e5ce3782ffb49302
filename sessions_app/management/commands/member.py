from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.models import Member
from sessions_app.services import audit
from sessions_app.services.people import members


class Command(BaseCommand):
    help = (
        "Members: `member link E-MAIL` prints a sign-in link, for somebody who cannot sign in otherwise. It works "
        "once, within 24 hours; earlier links of that person end."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        link = parser.add_subparsers(dest="action", required=True).add_parser("link", help="make a link and print it")
        link.add_argument("email", metavar="E-MAIL", help="what the member signs in with")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        user = get_user_model().objects.filter(username=email.strip().lower()).first()
        if user is None:
            raise CommandError(f'nobody signs in as "{email}"; the names stand under Settings, Members')
        for member in Member.objects.filter(user=user):
            subject = ("member", member.pk)
            audit.record(member.workspace_id, audit.COMMAND, "member.link_made", subject=subject, purpose="operator")
        self.stdout.write(f"{(settings.PUBLIC_URL or '').rstrip('/')}{members.operators_link(user)}")
