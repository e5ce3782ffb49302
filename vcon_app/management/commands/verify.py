from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from sessions_app.management.arguments import add_workspace, workspace_named
from sessions_app.management.terminal import printable
from vcon_app.drafts import FormatError
from vcon_app.management.pem import text_of
from vcon_app.services.trust import anchors, own_keys, verification
from vcon_app.services.trust.verification import FileCheck
from vcon_app.signing.keys import Anchor, BadKey, anchor_of

WORDS = {
    "valid": "verifies",
    "valid_untrusted": "is genuine, but its signer is not trusted here",
    "valid_expired": "is genuine, but a certificate has expired",
    "invalid": "does not verify",
    "uncheckable": "cannot be checked",
    "unsigned": "is not signed",
    "encrypted": "is encrypted, so nothing can be said",
}


class Command(BaseCommand):
    help = (
        "Says of a signed vCon or llmfeed file, a receipt, an export bundle, an evidence pack or a .vconz whether it "
        "verifies, with which key, and what failed; with --of also of the receipt of a transparency service. Exit "
        "status 0: it verifies and its signer is trusted, by the workspace or because of --key; 1: anything else."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--key", metavar="PEM", type=Path, help="a certificate or public key to trust this time")
        parser.add_argument("--of", metavar="FILE", type=Path, help="the file that PATH, a .receipt.cose, is about")
        add_workspace(parser)

    def handle(self, *args: Any, path: Path, key: Path | None, of: Path | None, workspace: str, **options: Any) -> None:
        anchors = [_anchor(key)] if key else []
        anchors += self._trusted(workspace, has_key=key is not None)
        try:
            checked = (
                verification.check_registration(path, of, anchors) if of else verification.check_file(path, anchors)
            )
        except (FormatError, OSError) as error:
            raise CommandError(printable(f"{path}: {getattr(error, 'strerror', None) or error}")) from None
        for line in _report(path, checked):
            self.stdout.write(printable(line))
        if checked.signature.state != "valid":
            raise SystemExit(1)

    def _trusted(self, workspace: str, has_key: bool) -> list[Anchor]:
        """What the workspace trusts; with a key, given or our own, nobody has to have a database to check a file."""
        try:
            return list(anchors.keyring(workspace_named(workspace).pk).anchors)
        except OperationalError:
            ours = list(filter(None, (own_keys.own_anchor(),)))
            if not has_key and not ours:
                raise CommandError("the database with the trust anchors cannot be reached; name a --key") from None
            self.stderr.write("the database cannot be reached; only --key and this installation's own key are trusted")
            return ours


def _anchor(path: Path) -> Anchor:
    try:
        anchor = anchor_of(text_of(path))
    except BadKey as error:
        raise CommandError(f"{printable(path)}: {error}") from None
    return Anchor(anchor.key, anchor.certificate, path.name)


def _report(path: Path, checked: FileCheck) -> list[str]:
    signature = checked.signature
    lines = [f"{signature.state}: {path} {WORDS[signature.state]}"]
    if signature.signer:
        lines.append(f"  signer: {signature.signer}")
    if signature.detail:
        lines.append(f"  {signature.detail}")
    summary = signature.detail.split(". ")[0]
    others = [finding for finding in checked.findings if summary not in finding.message]
    lines += [f"  {fact}" for fact in checked.facts]
    return lines + [f"  {one.severity} {one.rule} at {one.path or '/'}: {one.message}" for one in others]
