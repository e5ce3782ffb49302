from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from sessions_app.models import Workspace
from sessions_app.services import audit, workspaces
from vcon_app.management.pem import text_of
from vcon_app.models import TrustAnchor
from vcon_app.services.trust import anchors, own_keys, signatures
from vcon_app.signing.keys import BadKey, fingerprint


class Command(BaseCommand):
    help = (
        "Certificates and public keys that signatures are checked against: `trust add`, `trust list`, `trust remove`; "
        "`trust own` prints the public half of the key that this installation signs with."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="trust the certificate or public key in a PEM file")
        add.add_argument("pem", metavar="PEM", type=Path)
        add.add_argument(
            "--name", default="", help="default: the name in the certificate, or the beginning of the fingerprint"
        )
        add.add_argument("--origin", default="", help="with a key for llmfeed files: the site whose files it is for")
        remove = actions.add_parser("remove", help="no longer trust it")
        remove.add_argument("anchor", metavar="FINGERPRINT", help="or its beginning (at least 4 digits), or the name")
        own = actions.add_parser(
            "own",
            help="print the public key of this installation, for those who check what it signs; made if there is none",
        )
        own.set_defaults(workspace=workspaces.DEFAULT)
        for action in (add, actions.add_parser("list", help="list them, one line each"), remove):
            add_workspace(action)

    def handle(self, *args: Any, action: str, workspace: str, **options: Any) -> None:
        if action == "own":
            self._own()
            return
        place = workspace_named(workspace)
        if action == "list":
            for anchor in place.trust_anchors.order_by("added_at"):
                self.stdout.write(_line(anchor))
            return
        if action == "add":
            self._add(place, options["pem"], options["name"], options["origin"])
        else:
            self._remove(place, options["anchor"])
        changed = signatures.check_again(place.pk)
        if changed:
            self.stdout.write(f"{changed} imported file{'s have' if changed > 1 else ' has'} another state now")

    def _own(self) -> None:
        """PEM alone on standard output, so that it can be sent to a file."""
        try:
            ours = own_keys.signer()
        except (BadKey, OSError) as error:
            raise CommandError(f"the key that exports are signed with cannot be used: {error}") from None
        self.stderr.write(f"{ours.algorithm}, SHA-256 of the key {fingerprint(ours.key.public_key())}")
        self.stdout.write(ours.public_pem.decode(), ending="")

    def _add(self, workspace: Workspace, path: Path, name: str, origin: str) -> None:
        try:
            anchor = anchors.add(workspace, text_of(path), name=name, origin=origin, by=audit.COMMAND)
        except anchors.Refused as error:
            raise CommandError(f"{printable(path)}: {error}") from None
        self.stdout.write(f"trusted: {_line(anchor)}")

    def _remove(self, workspace: Workspace, named: str) -> None:
        known = list(workspace.trust_anchors.order_by("added_at"))
        digits = named.replace(":", "").lower()
        found = [one for one in known if one.name == named or len(digits) >= 4 and one.fingerprint.startswith(digits)]
        if len(found) != 1:
            there = "\n".join(map(_line, known)) or "none"
            raise CommandError(f'"{printable(named)}" means {len(found)} trust anchors; there are:\n{there}')
        anchors.remove(found[0], by=audit.COMMAND)
        self.stdout.write(f"no longer trusted: {_line(found[0])}")


def _line(anchor: TrustAnchor) -> str:
    origin = f" for {anchor.origin}" if anchor.origin else ""
    return printable(f"{anchor.fingerprint}  {anchor.get_kind_display().lower()}  {anchor.name}{origin}")
