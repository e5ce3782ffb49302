"""The members of an evidence pack by name, and what stands in its README."""

from __future__ import annotations

from typing import Any

FORMAT, VERSION = "countersign-evidence", 1
"""By these the manifest says what it is."""
README, DECISIONS, DECISIONS_CSV, RECEIPTS = "README.md", "decisions.jsonl", "decisions.csv", "receipts.jsonl"
PLANTED, OVERSIGHT, POLICIES, STOPS = "planted.jsonl", "oversight.json", "policies.jsonl", "stops.jsonl"
INCIDENTS, AUDIT, CHECKPOINTS, SIGNER = "incidents.jsonl", "audit.jsonl", "checkpoints.jsonl", "signer.pem"
AGENT_RULES, GRANTS = "agent_rules.jsonl", "grants.jsonl"
MANIFEST, SIGNATURE = "manifest.json", "manifest.jws"
"""The last two, which no manifest lists."""

TEXT = """\
# Evidence of human oversight

Workspace {workspace}, {start} to {end} (UTC, the end not included){agent}.
Made by Countersign {version} at {at}.

It supports an examination of how people oversaw AI agents in this time: it holds what was recorded, and how to check
that it was not changed since. What the record proves, and what it does not, is in docs/record.md and docs/proof.md of
Countersign. All of it at once:

    manage.py verify FILE.zip [--key signer.pem]     (0: nothing was changed, and the signer is trusted)

{members}
{without}
Times to decide count from the question to the decision. A person's name is that of the time of the decision.
"""
MEMBERS = {
    DECISIONS: (
        "{decisions} calls that agents asked about and how each ended, in the order of the audit log",
        "each with `receipt: true` has its receipt; `audit` is the number of its entry",
    ),
    DECISIONS_CSV: ("the same for a spreadsheet", f"it is made of {DECISIONS}, which is what is checked"),
    RECEIPTS: (
        "{receipts} of these decisions, each signed by itself",
        "put one into a file and run `manage.py verify` on it, or use any JOSE library",
    ),
    PLANTED: (
        "{planted} test calls that an admin placed to see whether they are caught: not real, and never executed",
        "each has its receipt, which says `planted: true`",
    ),
    OVERSIGHT: (
        "who could oversee, what changed in this time, and how many each person decided, how fast and how",
        f"computed from {DECISIONS} and {AUDIT}",
    ),
    POLICIES: (
        "every version of the rules, and when it was in force",
        f"`digest` is the SHA-256 of `rules_text`; publishing it is an entry `policy.published` of {AUDIT}",
    ),
    AGENT_RULES: (
        "the rules that agents' own definitions held in this time, version by version",
        f"`digest` is of `policy_text`; a change is an entry `agent.created` or `agent.changed` of {AUDIT}",
    ),
    GRANTS: (
        "what people allowed for more than one call: who, why, which calls, how often they were made",
        f"entries `grant.made`, `grant.revoked` and `grant.void` of {AUDIT}; each use is a decision `by_kind: grant`",
    ),
    STOPS: ("when agents were stopped, by whom, why, until when", f"entries `stop.made` and `stop.lifted` of {AUDIT}"),
    INCIDENTS: (
        "what went wrong: expired, not delivered, failed when executed, still waiting, errors in sessions",
        "`audit` is the number of the entry, where there is one",
    ),
    AUDIT: (
        "{entries} entries of the audit log without a gap",
        "`hash` is the SHA-256 of `previous_hash` and `entry`, one behind the other",
    ),
    CHECKPOINTS: (
        "{checkpoints} signed statements of how far the log had grown",
        "signature over `header`; `previous` is the hash of the one before; `proof` leads from an entry to `root`",
    ),
    SIGNER: ("whose signatures these are, as they say themselves", "compare its fingerprint with what they publish"),
    MANIFEST: ("SHA-256 of every file; manifest.jws is the signature over it", "as in docs/bundle.md of Countersign"),
}
"""What is in each member, and how to check it."""


def readme(said: dict[str, Any]) -> bytes:
    """What the pack is and how each file is checked, for somebody who never heard of it."""
    missing = said["missing"]
    without = f"{missing} decisions have no receipt: `no_receipt` says why of each.\n" if missing else ""
    lines = [f"- `{name}`: {what}.\n  To check: {how}." for name, (what, how) in MEMBERS.items()]
    members = "\n".join(lines).format(**said)
    return TEXT.format(**said, members=members, without=without).encode("utf-8", "replace")
