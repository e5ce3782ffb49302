"""The seven states of a signature, and how several become one."""

from __future__ import annotations

from collections.abc import Sequence

from ..drafts import Finding, Severity, Signature

RANKS = ("invalid", "uncheckable", "encrypted", "unsigned", "valid_untrusted", "valid_expired", "valid")
"""From the one that must not be overlooked to the one that can be relied upon."""
_SEVERITIES: dict[str, Severity] = {
    "invalid": "error", "uncheckable": "warning", "valid_untrusted": "warning", "valid_expired": "warning",
}  # fmt: skip
_WORDS = {
    "invalid": "The signature is invalid",
    "uncheckable": "The signature could not be checked",
    "valid_untrusted": "The signature is valid, but nobody here trusts its signer",
    "valid_expired": "The signature is valid, but a certificate has expired",
}


def rank(state: str) -> int:
    """0 for the worst."""
    return RANKS.index(state)


def worst(signatures: Sequence[Signature]) -> Signature:
    """The one to be shown for several documents; the first of equals."""
    return min(signatures, key=lambda signature: rank(signature.state))


def best(signatures: Sequence[Signature]) -> Signature:
    """The one that counts of several over the same bytes; an invalid one is never outdone."""
    invalid = [signature for signature in signatures if signature.state == "invalid"]
    return invalid[0] if invalid else max(signatures, key=lambda signature: rank(signature.state))


def with_finding(rules: tuple[str, str], place: str, signature: Signature) -> tuple[Signature, list[Finding]]:
    """The signature with the finding that says what is wrong with it; none for one that is valid.

    The first rule is the one about signatures, the second the one about trust in their signers.
    """
    severity = _SEVERITIES.get(signature.state)
    if severity is None:
        return signature, []
    by = f" ({signature.signer[:60]})" if signature.signer else ""
    rule = rules[signature.state.startswith("valid")]
    return signature, [Finding(rule, severity, place, f"{_WORDS[signature.state]}{by}. {signature.detail}")]
