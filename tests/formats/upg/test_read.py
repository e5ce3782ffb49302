"""Product graphs as sessions: what a graph knows of a run, its faults, and files made to hurt."""

import gzip
import io
import json
from decimal import Decimal

import pytest

from vcon_app import registry
from vcon_app.drafts import Finding, FormatError, SessionDraft
from vcon_app.formats import upg
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, claimed, mutants
from ..vcon_tools import CORPUS, needs_corpus
from .tools import SAMPLE, drafts, graph, of_one, rules, sessions

EXAMPLES = CORPUS / "upg" / "examples"
RESULTS = EXAMPLES / "validator-results.json"
EXPECTED = json.loads(RESULTS.read_text())["results"] if RESULTS.exists() else {}


def test_a_session_has_what_the_graph_knows_of_it():
    (night, events), (day, _) = sessions(SAMPLE.read_bytes())
    assert (night.external_id, night.title, night.agent_name, night.model) == (
        "run-1",
        "Night firing",
        "Kiln keeper",
        "ember-4",
    )
    assert (night.phase, day.phase, day.agent_name) == ("crashed", "active", "Kiln keeper")
    total, *told = events
    (decision,) = [event for event in told if event.kind == "note"]
    assert total.usage.input_tokens == 5120 and total.usage.quality == "aggregate" and total.cost == Decimal("1e-07")
    assert (total.data["turns"], total.data["error_count"], total.data["tools"]) == (3, 1, ["read_probe"])
    assert decision.data["decision"]["status"] == "reviewing" and "Stopping cracks" in decision.text
    assert {event.data["name"] for event in told if event.kind == "artifact"} == {"Probe log", "A cracked bowl"}
    assert [event.at for event in told if event.at] == sorted(event.at for event in told if event.at)


def test_values_that_the_graph_does_not_state_are_not_0():
    ((session, events),) = sessions(of_one())
    assert events == [] and session.phase is None and session.started_at is None and session.model is None


def test_a_cost_alone_leaves_the_tokens_unknown():
    ((_, events),) = sessions(of_one(properties={"cost": 2}))
    assert events[0].usage is None and events[0].cost == 2


def test_tools_of_old_versions_are_read():
    ((session, _),) = sessions(of_one(properties={"tools_invoked": ["a", "b", "a"]}))
    assert session.metadata["tools_invoked"] == ["a", "b"]


def test_decisions_without_a_run_are_shown_as_one_session():
    document = of_one()
    document["nodes"] = [{"id": "d", "type": "decision", "title": "Stop"}]
    ((session, events),) = sessions(document)
    assert session.external_id == "p" and [event.text for event in events] == ["Stop"]
    assert "upg.no-session" in rules(document)


FAULTS = {
    "upg.seal": ("warning", "/$upg/integrity/body"), "upg.repaired": ("warning", "/nodes/10/tags"),
    "upg.enum": ("warning", "/nodes/6/properties/evidence_rigor"), "upg.status": ("warning", "/nodes/9/status"),
    "upg.dangling": ("error", "/edges/8/target"), "upg.direction": ("warning", "/edges/6"),
    "upg.edge-type": ("warning", "/edges/8/type"), "upg.removed": ("info", "/nodes/7/properties/tools_invoked"),
    "upg.time": ("warning", "/nodes/7/properties/session_start"), "upg.node-type": ("info", "/nodes/1/type"),
}  # fmt: skip


@pytest.mark.parametrize("rule", FAULTS)
def test_oddities_of_a_graph_become_findings_with_their_place(rule):
    found = rules(SAMPLE.read_bytes())[rule]
    assert (found.severity, found.path) == FAULTS[rule]


def test_wrong_counts_and_a_missing_writer_are_reported():
    document = graph()
    document["$upg"] |= {"counts": {"nodes": 3}, "provenance": {}}
    found = rules(document)
    assert found["upg.counts"].path == "/$upg/counts/nodes" and found["upg.envelope"].severity == "error"


def test_many_findings_of_one_kind_are_counted():
    document = of_one()
    document["edges"] = [{"id": str(n), "source": "s", "target": "gone", "type": "x"} for n in range(500)]
    told = [draft for draft in drafts(document) if isinstance(draft, Finding) and draft.rule == "upg.dangling"]
    assert len(told) == 21 and "480 more" in told[-1].message


def test_remaining_members_that_are_too_large_stay_in_the_original_and_are_reported():
    document = of_one()
    document["nodes"] += [{"id": str(n), "type": "page", "title": "x" * 1000} for n in range(1200)]
    ((session, _),) = sessions(document)
    assert session.record["upg"]["left_out"] == 1200 and "rest" not in session.record["upg"]
    assert "upg.large" in rules(document)


REFUSED = [
    (b"", "empty"),
    (b"{", "not JSON"),
    (b"[]", "not an object"),
    (b"{}", "needs .upg"),
    (b'{"$upg":{},"nodes":{}}', "list of nodes"),
    (b'{"$upg":{"kind":"portfolio"},"nodes":[]}', "portfolio"),
    (b'{"$upg":{},"nodes":[]}', "nothing to review"),
    (b"\x1f\x8bnonsense", "gzip"),
    (gzip.compress(b" " * 80_000_000), "larger than"),
    (b'{"$upg":{"a":' + b'{"a":' * 300 + b"1" + b"}" * 302, "nests deeper|not JSON"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_file_without_a_graph_is_refused_with_the_reason(data, reason):
    with pytest.raises(FormatError, match=reason):
        drafts(data)


def test_a_graph_with_odd_values_anywhere_is_read_or_refused():
    for changed in mutants(graph()):
        try:
            found = drafts(changed)
        except FormatError:
            continue
        assert_sound(found)


def test_both_envelopes_are_recognised_and_nothing_else():
    for document in (graph(), of_one()):
        assert upg.detect(Head(json.dumps(document).encode()))
    for other in ({"nodes": [], "edges": []}, {"upg_version": "1"}, {"$schema": "x", "nodes": []}, [{"$upg": {}}]):
        assert not upg.detect(Head(json.dumps(other).encode()))


@needs_corpus
@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_has_the_faults_that_the_reference_finds(name):
    """An error of the reference is a finding of that severity; a type that only its catalog knows is told anyway."""
    found = [draft for draft in drafts((EXAMPLES / f"{name}.json").read_bytes()) if isinstance(draft, Finding)]
    expected, renamed = EXPECTED[name], {"$upg.provenance.exported_at": "/exported_at"}
    for severity, key in (("error", "errors"), ("warning", "warnings")):
        for fault in expected[key]:
            path = renamed.get(
                fault["path"], fault["path"].removeprefix("$").replace("[", "/").replace("]", "").replace(".", "/")
            )
            ours = next(finding for finding in found if finding.path == path)
            assert ours.severity == severity or ours.rule == "upg.node-type"
    assert any(finding.severity == "error" for finding in found) != expected["valid"]


@needs_corpus
def test_a_tampered_file_is_read_with_a_warning():
    assert rules((EXAMPLES / "tampered-body.upg").read_bytes())["upg.seal"].severity == "warning"
    assert rules((EXAMPLES / "good.upg").read_bytes()).keys() == {"upg.tokens"}


@needs_corpus
def test_format_claims_its_corpus_files_alone():
    names = claimed(upg)
    expected = {f"upg/examples/{path.name}" for path in EXAMPLES.iterdir() if path.suffix in (".upg", ".json")}
    assert names == expected - {"upg/examples/validator-results.json"}
    assert {registry.detect(CORPUS / name)[0] for name in names} == {"upg"}


@needs_corpus
def test_every_graph_with_a_run_gives_one():
    for path in EXAMPLES.iterdir():
        if path.suffix in (".upg", ".json") and b'"agent_session"' in path.read_bytes():
            assert any(isinstance(draft, SessionDraft) for draft in drafts(path.read_bytes())), path.name


def test_the_date_of_a_decision_is_no_time_of_the_run():
    """Else a decision of February would be the start of a session of March, here and in every export of it."""
    document = of_one(properties={"session_start": "2026-03-01T10:00:00Z", "session_end": "2026-03-01T11:00:00Z"})
    dates = {"early": "2026-02-01", "within": "2026-03-01T10:30:00Z", "late": "2026-05-01"}
    for name, date in dates.items():
        document["nodes"].append({"id": name, "type": "decision", "title": name, "properties": {"date": date}})
        edge = {"id": f"e-{name}", "type": "agent_session_creates_decision", "source": "s", "target": name}
        document["edges"].append(edge)
    ((_, events),) = sessions(document)

    timed = {event.text: event.at and event.at.isoformat() for event in events}
    assert timed == {"early": None, "within": "2026-03-01T10:30:00+00:00", "late": None}
    dated = {event.text: event.data.get("dated") for event in events}
    assert dated == {"early": "2026-02-01T00:00:00Z", "within": None, "late": "2026-05-01T00:00:00Z"}


@pytest.mark.parametrize("first", ["edges", "nodes", "product"])
def test_the_members_of_a_graph_come_in_any_order(first):
    tree = json.loads(SAMPLE.read_bytes())
    tree["nodes"][0].setdefault("properties", {})["nanoseconds"] = 10**19
    tree["product"] = tree.get("product") or {"id": "p"}
    others = {name: value for name, value in tree.items() if name not in (first, "$upg")}
    data = json.dumps({first: tree[first], **others, "$upg": tree["$upg"]}).encode()
    assert registry.detect(io.BytesIO(data))[0] == "upg"
    assert sessions(data) == sessions(json.dumps(tree).encode())
