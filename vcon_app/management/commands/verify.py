from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from sessions_app.management.arguments import add_workspace, workspace_named
from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, Signature
from vcon_app.management.pem import text_of
from vcon_app.management.progress import printable
from vcon_app.services import own_keys, trust
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
        "Says of a signed vCon or llmfeed file whether it verifies, with which key, and what failed. Exit status 0: "
        "it verifies and its signer is trusted, by the workspace or because of --key; 1: anything else."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", metavar="PATH", type=Path)
        parser.add_argument("--key", metavar="PEM", type=Path, help="a certificate or public key to trust this once")
        add_workspace(parser)

    def handle(self, *args: Any, path: Path, key: Path | None, workspace: str, **options: Any) -> None:
        anchors = list(trust.keyring(workspace_named(workspace).pk).anchors)
        if key:
            anchors.insert(0, _anchor(key))
        try:
            signature, findings = _verify(path, anchors)
        except (FormatError, OSError) as error:
            raise CommandError(f"{printable(path)}: {getattr(error, 'strerror', None) or error}") from None
        for line in _report(path, signature, findings):
            self.stdout.write(printable(line))
        if signature.state != "valid":
            raise SystemExit(1)


def _anchor(path: Path) -> Anchor:
    try:
        anchor = anchor_of(text_of(path))
    except BadKey as error:
        raise CommandError(f"{printable(path)}: {error}") from None
    return Anchor(anchor.key, anchor.certificate, path.name)


def _verify(path: Path, anchors: list[Anchor]) -> tuple[Signature, list[Finding]]:
    with path.open("rb") as source:
        format = registry.get(registry.detect(source)[0])
        if not hasattr(format, "verify"):
            return Signature(detail=f"{format.TITLE} files carry no signature."), []
        return format.verify(own_keys.unsealed(format, source), anchors, timezone.now())


def _report(path: Path, signature: Signature, findings: list[Finding]) -> list[str]:
    lines = [f"{signature.state}: {path} {WORDS[signature.state]}"]
    if signature.signer:
        lines.append(f"  signer: {signature.signer}")
    if signature.detail:
        lines.append(f"  {signature.detail}")
    said = signature.detail.split(". ")[0]
    told = [finding for finding in findings if said not in finding.message]
    return lines + [f"  {one.severity} {one.rule} at {one.path or '/'}: {one.message}" for one in told]
