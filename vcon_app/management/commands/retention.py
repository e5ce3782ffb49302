from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import session_of
from sessions_app.models import Session, Workspace
from sessions_app.queries.retention.over import going
from sessions_app.services import audit
from sessions_app.services.retention import policies, sweeping
from sessions_app.services.retention.sweeping import Due
from vcon_app.services.erasure import erasing

SAID = {
    "prune": "go out of sight with the next sweep",
    "expired": "are due, and stay in sight: the session does not prune itself",
    "held": "are due, and stay in sight: the session is on hold",
    "waits": "are due, and stay in sight for now: a person is asked for something there, or its agent is at work",
}


class Command(BaseCommand):
    help = (
        "Prunes what is due by the retention of sessions; or lists it, holds a session, or deletes those that are over."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--dry-run", action="store_true", help="only list what is due")
        act.add_argument("--hold", metavar="SESSION", help="put it on hold: it is neither pruned nor deleted")
        act.add_argument("--lift", metavar="SESSION", help="lift its hold")
        act.add_argument(
            "--delete", action="store_true", help="delete for good the sessions whose ttl_days are over; needs --reason"
        )
        parser.add_argument("--reason", default="", help="with --delete: why; it is kept for good")

    def handle(
        self, *args: Any, dry_run: bool, hold: str | None, lift: str | None, delete: bool, reason: str, **options: Any
    ) -> None:
        if hold or lift:
            self._hold(session_of(hold or lift or ""), bool(hold))
        elif delete:
            self._delete(reason)
        elif dry_run:
            self._report()
        else:
            self.stdout.write(f"{sweeping.sweep()} sessions were pruned")

    def _hold(self, session: Session, immutable: bool) -> None:
        policies.set_policy(session.pk, {"immutable": immutable}, by=audit.COMMAND, is_admin=True)
        self.stdout.write(f"{session.pk} is {'on hold' if immutable else 'no longer on hold'}")

    def _report(self) -> None:
        count = 0
        for due in sweeping.report():
            self.stdout.write(_line(due))
            count += 1
        self.stdout.write(f"{count} sessions; nothing was changed")
        for workspace in Workspace.objects.exclude(keep_days=None).order_by("slug"):
            self.stdout.write(
                f"{going(workspace).count()} sessions of {workspace.slug} are over after {workspace.keep_days} days;"
                f" they go by themselves, from {workspace.deletes_from:%Y-%m-%d %H:%M} UTC on"
            )

    def _delete(self, reason: str) -> None:
        if not reason.strip():
            raise CommandError("a deletion needs a --reason, which is kept for good")
        gone, stays = 0, 0
        for session in sweeping.over():
            try:
                erasing.erase_session(session, by=audit.COMMAND, reason=reason, only_if=sweeping.is_still_over)
                gone += 1
            except Session.DoesNotExist:  # it went meanwhile
                continue
            except erasing.CannotErase as refused:
                stays += 1
                self.stderr.write(f"{session.pk} stays: {refused}")
        self.stdout.write(f"deleted {gone} sessions whose days are over; a tombstone of each stays")
        if stays:
            raise CommandError(f"{stays} sessions stay")


def _line(due: Due) -> str:
    return f"{due.session.pk}  {due.messages} messages {SAID[due.what]} (rule {due.strategy.rule})"
