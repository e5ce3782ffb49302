"""The evidence pack: complete, checked offline, and not one part of it can be exchanged unnoticed."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from datetime import UTC, date, datetime, timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from sessions_app.models import Agent, Approval, AuditEntry, EscalationStep, Role
from sessions_app.queries import chains
from sessions_app.services import agents, audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.people import members as people
from sessions_app.services.policies import grants, versions
from tests.commands.test_bundle_commands import run
from tests.formats.written.test_bundle import members, packed
from tests.places import ROOT
from tests.services.receipts.test_receipts import ADA, asked, decided
from vcon_app.formats.common.zips import Archive
from vcon_app.formats.evidence import layout, verify
from vcon_app.services.evidence import pack
from vcon_app.services.evidence.period import Period, of_days
from vcon_app.services.receipts import issuing
from vcon_app.services.trust import own_keys
from vcon_app.signing import detached

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
BY = audit.COMMAND


def month() -> Period:
    now = timezone.now()
    return Period(now - timedelta(days=1), now + timedelta(days=1))


def made(workspace, **more) -> bytes:
    return b"".join(pack.write(workspace, month(), by=BY, **more))


def checked(data: bytes) -> verify.Report:
    return verify.verify(Archive(io.BytesIO(data)), [own_keys.own_anchor()], timezone.now())


def rows(data: bytes, name: str) -> list[dict]:
    return [json.loads(line) for line in members(data)[name].splitlines()]


def planted(session) -> Approval:
    """A planted test call that was let through."""
    approval = asked(session)
    Approval.objects.filter(pk=approval.pk).update(planted=True)
    approval.refresh_from_db()
    return decisions.decide(approval, ADA, decisions.Decision("approve", approval.version, approval.digest))


@pytest.fixture
def busy(workspace, session):
    """Decisions of all kinds, rules, and a member who changed roles."""
    decided(session)
    decided(session, "deny", reason="=HYPERLINK(1)")
    decided(session, arguments={"order": 1})
    asked(session)
    planted(session)
    member, _ = people.add_member(workspace, "kim@example.org", "Kim", Role.VIEWER, by=BY)
    people.change_role(member, Role.REVIEWER, by=BY)
    versions.publish(versions.save_draft(workspace.pk, [], by=BY, note="first"), by=BY)
    return session


def test_a_pack_verifies_and_says_how_much_it_holds(workspace, busy):
    data = made(workspace)
    report = checked(data)
    assert (report.signature.state, report.findings) == ("valid", [])
    assert set(members(data)) == {*layout.MEMBERS, layout.README, layout.SIGNATURE}
    counts = json.loads(members(data)["manifest.json"])["counts"]
    assert (counts["decisions"], counts["receipts"], counts["planted"]) == (3, 3, 1)
    assert any("know the audit log up to entry" in fact for fact in report.facts)


def test_decisions_are_those_of_the_record(workspace, busy):
    found = rows(made(workspace), layout.DECISIONS)
    assert [row["status"] for row in found] == ["approved", "denied", "approved_edited"]
    assert all(row["by"] == "Ada" and row["by_role"] == "reviewer" and row["receipt"] for row in found)
    assert found[2]["edited"] and float(found[0]["seconds_to_decide"]) >= 0
    csv = members(made(workspace))[layout.DECISIONS_CSV].decode()
    assert "'=HYPERLINK(1)" in csv and ",=HYPERLINK" not in csv


def test_rules_of_agents_and_grants_are_there_with_the_times_in_which_they_held(workspace, busy):
    own = {"default": "ask", "tools": {"read": "allow"}}
    agents.change(busy.agent, {"policy": own}, by=BY)
    agents.change(Agent.objects.get(pk=busy.agent_id), {"instructions": "Be kind"}, by=BY)
    grant = grants.make_from(asked(busy), grants.Wish("Routine"), decider=ADA)
    data = made(workspace)
    first, second = rows(data, layout.AGENT_RULES)
    assert (first["policy"], first["to"], second["policy"], second["to"]) == ({}, second["from"], own, None)
    assert (second["agent"], second["version"], second["by"]) == (busy.agent.name, 2, BY.name)
    assert hashlib.sha256(second["policy_text"].encode()).hexdigest() == second["digest"]
    (row,) = rows(data, layout.GRANTS)
    assert (row["id"], row["made_by"], row["reason"], row["uses_in_period"]) == (str(grant.pk), "Ada", "Routine", 0)
    assert checked(data).findings == []
    assert rows(made(workspace, agent="nobody"), layout.GRANTS) == []


def test_figures_of_teams_are_those_of_the_roles_at_the_time(workspace, busy):
    oversight = json.loads(members(made(workspace))[layout.OVERSIGHT])
    assert [(team["team"], team["decisions"]) for team in oversight["teams"]] == [("reviewer", 3)]


def test_an_escalation_that_told_nobody_is_an_incident(workspace, busy):
    now = timezone.now()
    waits = Approval.objects.get(status="pending")
    EscalationStep.objects.create(approval=waits, position=1, targets=["role:admin"], due_at=now, fired_at=now)
    found = [row for row in rows(made(workspace), layout.INCIDENTS) if row["what"] == "escalated to nobody"]
    assert [row["detail"] for row in found] == ["role:admin"]


def test_a_planted_test_call_is_never_a_real_decision(workspace, busy):
    data = made(workspace)
    (test,) = rows(data, layout.PLANTED)
    held = members(data)
    assert test["decision"]["planted"] is True
    assert test["approval"] not in (held[layout.DECISIONS] + held[layout.DECISIONS_CSV]).decode()
    assert json.loads(held[layout.OVERSIGHT])["all"]["decisions"] == 3

    def among_real_ones(**more) -> dict[str, bytes]:
        line = json.dumps(test["decision"] | {"planted": False} | more).encode() + b"\n"
        return held | {layout.DECISIONS: held[layout.DECISIONS] + line}

    assert "has no receipt in its place" in told(resigned(among_real_ones()))
    hidden = among_real_ones(receipt=False, no_receipt="lost")
    assert "a planted test call as a real decision" in told(resigned(hidden))
    assert "neither a receipt nor a reason" in told(resigned(among_real_ones(receipt=False)))
    receipt = json.dumps({"approval": test["approval"], "receipt": test["receipt"]}).encode() + b"\n"
    both = among_real_ones() | {layout.RECEIPTS: held[layout.RECEIPTS] + receipt}
    assert "the receipt of a planted test call is among them" in told(resigned(both, receipts=4))


def resigned(held: dict[str, bytes], **counts: int) -> bytes:
    """A pack that the installation itself signs again, after somebody exchanged its members."""
    manifest = json.loads(held[layout.MANIFEST])
    manifest["counts"] |= counts
    for row in manifest["members"]:
        row |= {"size": len(held[row["path"]]), "sha256": verify.hashlib.sha256(held[row["path"]]).hexdigest()}
    text = json.dumps(manifest).encode()
    signature = detached.sign(text, own_keys.signer()).encode()
    return packed(held | {layout.MANIFEST: text, layout.SIGNATURE: signature})


def told(data: bytes) -> str:
    report = checked(data)
    assert report.signature.state == "invalid"
    return " | ".join(finding.message for finding in report.findings)


def test_every_member_counts(workspace, busy):
    held = members(made(workspace))
    for name in held:
        for at in (0, -3):
            data = bytearray(held[name])
            if len(data) < 3:
                continue
            data[at] ^= 1
            try:
                state = checked(packed(held | {name: bytes(data)})).signature.state
            except verify.FormatError:
                continue
            assert state == "invalid", (name, at)
        left = {other: data for other, data in held.items() if other != name}
        try:
            assert checked(packed(left)).signature.state in ("invalid", "unsigned"), name
        except verify.FormatError:
            continue
    assert checked(packed(held | {"more.txt": b"x"})).signature.state == "invalid"


def test_parts_that_do_not_agree_are_told_even_when_they_are_signed(workspace, busy):
    held = members(made(workspace))
    lines = held[layout.AUDIT].splitlines(keepends=True)
    without = b"".join(lines[:3] + lines[4:])
    assert "is missing" in told(resigned(held | {layout.AUDIT: without}, entries=len(lines) - 1))
    receipts = held[layout.RECEIPTS].splitlines(keepends=True)
    assert "has no receipt in its place" in told(resigned(held | {layout.RECEIPTS: b"".join(receipts[1:])}, receipts=2))
    changed = held[layout.DECISIONS].replace(b'"denied"', b'"approved"')
    assert "is not what its receipt says" in told(resigned(held | {layout.DECISIONS: changed}))
    policies = held[layout.POLICIES].replace(b'"rules_text":"[]"', b'"rules_text":"[ ]"')
    assert "not of their digest" in told(resigned(held | {layout.POLICIES: policies}))
    rewritten = json.loads(held[layout.CHECKPOINTS].splitlines()[-1])
    rewritten["proof"]["leaf"][3] = "0" * 64
    checkpoints = json.dumps(rewritten).encode() + b"\n"
    assert "does not lead to what it signs" in told(resigned(held | {layout.CHECKPOINTS: checkpoints}))


def test_receipts_stand_in_the_order_of_the_log_and_each_once(workspace, busy):
    held = members(made(workspace))
    decided, receipts = (held[name].splitlines(keepends=True) for name in (layout.DECISIONS, layout.RECEIPTS))
    turned = {layout.DECISIONS: b"".join(decided[::-1]), layout.RECEIPTS: b"".join(receipts[::-1])}
    assert "or not in its place" in told(resigned(held | turned))
    twice = {layout.DECISIONS: b"".join([*decided, decided[-1]]), layout.RECEIPTS: b"".join([*receipts, receipts[-1]])}
    assert "has two receipts" in told(resigned(held | twice, decisions=4, receipts=4))


def test_a_log_that_was_rewritten_with_its_hashes_is_not_what_the_checkpoint_knew(workspace, busy):
    held = members(made(workspace))
    before, lines = "", []
    for line in held[layout.AUDIT].splitlines():
        row = json.loads(line)
        row["previous_hash"] = before or row["previous_hash"]
        row["entry"] = row["entry"].replace("Ada", "Eve")
        row["hash"] = before = verify.hashlib.sha256((row["previous_hash"] + row["entry"]).encode()).hexdigest()
        lines.append(json.dumps(row).encode() + b"\n")
    said = told(resigned(held | {layout.AUDIT: b"".join(lines)}))
    assert "is not what a checkpoint knew" in said and "the records have no such entry" in said


def test_a_pack_of_a_stranger_is_not_verified(workspace, busy):
    report = verify.verify(Archive(io.BytesIO(made(workspace))), [], timezone.now())
    assert report.signature.state == "valid_untrusted"


def test_who_oversaw_and_by_which_rules_is_in_it(workspace, busy):
    data = made(workspace)
    said = json.loads(members(data)[layout.OVERSIGHT])
    assert [(one["name"], one["role"]) for one in said["members"]["at_end"]] == [("Kim", "reviewer")]
    assert {"member.added", "member.role_changed", "policy.published"} <= {one["action"] for one in said["changes"]}
    (ada,) = [one for one in said["by"] if one["name"] == "Ada"]
    assert (ada["decisions"], ada["edited"], ada["denied_with_reason"], ada["under_two_seconds"]) == (3, 1, 1, 3)
    (policy,) = rows(data, layout.POLICIES)
    assert policy["number"] == 1 and policy["in_force"][0]["to"] is None
    assert [one["what"] for one in rows(data, layout.INCIDENTS)] == ["not decided yet"]


def test_one_agents_decisions_alone(workspace, busy):
    other = agents.get_or_create_agent(workspace.pk, "Night shift")
    approval = requests.request_in_own_session(workspace.pk, other.name, requests.Question("t", {}), by=audit.SYSTEM)
    decisions.decide(approval, ADA, decisions.Decision("approve", 1, approval.digest))
    data = made(workspace, agent="night-shift")
    assert [row["agent"] for row in rows(data, layout.DECISIONS)] == ["Night shift"]
    assert checked(data).signature.state == "valid"
    assert b"of the agent night-shift alone" in members(data)[layout.README]


def test_a_decision_whose_record_was_changed_is_in_it_without_a_receipt(workspace, busy):
    Approval.objects.filter(status="denied").update(decision={"verdict": "approve", "by": "Eve", "by_kind": "member"})
    data = made(workspace)
    (changed,) = [row for row in rows(data, layout.DECISIONS) if not row["receipt"]]
    assert "not what was written" in changed["no_receipt"]
    assert checked(data).signature.state == "valid" and b"1 decisions have no receipt" in members(data)[layout.README]


def test_an_empty_period_is_a_pack_that_says_so(workspace):
    data = b"".join(pack.write(workspace, of_days(date(2020, 1, 1), date(2020, 1, 31)), by=BY))
    assert checked(data).signature.state == "valid"
    assert json.loads(members(data)[layout.MANIFEST])["counts"]["decisions"] == 0


def test_it_says_supports_and_never_complies(workspace, busy):
    written = b" ".join(members(made(workspace)).values()).decode("utf-8", "replace")
    said = written + (ROOT / "docs/proof.md").read_text()
    assert "supports" in said and not re.search(r"compl(y|ies|iant|iance)", said, re.I)


def test_the_command_writes_one_that_verify_takes(workspace, busy, tmp_path, capsys):
    target, today = tmp_path / "pack.zip", datetime.now(UTC).date().isoformat()
    call_command("evidence", "--from", today, "--to", today, "--output", str(target))
    status, said = run(capsys, "verify", str(target))
    assert status == 0 and said.startswith("valid: ") and "receipts.jsonl: 3 receipts" in said
    call_command("evidence", "--from", today, "--to", today, "--agent", "Refund agent", "--output", str(tmp_path))
    assert len(list(tmp_path.glob("evidence-default-*.zip"))) == 1
    with pytest.raises(CommandError, match="there is no agent"):
        call_command("evidence", "--from", today, "--to", today, "--agent", "Nobody")
    assert AuditEntry.objects.filter(action="evidence.exported").count() == 2


def test_receipts_of_a_pack_are_those_of_the_api(workspace, busy):
    (first, *_) = rows(made(workspace), layout.RECEIPTS)
    approval = Approval.objects.get(pk=first["approval"])
    assert issuing.issue(approval) == first["receipt"]
    assert list(chains.broken_decisions(workspace.pk)) == []


def test_a_zip_of_a_pack_can_be_opened_by_anybody(workspace, busy):
    assert zipfile.ZipFile(io.BytesIO(made(workspace))).testzip() is None
