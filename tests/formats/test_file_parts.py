"""Everything else in a file: values under their places, searchable; a hostile record makes no error."""

import io
import json

import pytest

from vcon_app.drafts import SessionDraft
from vcon_app.formats import llmfeed, upg, vcon
from vcon_app.formats.file_parts import MOST_VALUES, VALUE_LIMIT, parts_of, with_words


def values_of(reader, document):
    """Place -> text, of the first session of a document."""
    found = list(reader.read(io.BytesIO(json.dumps(document).encode())))
    draft = next(one for one in found if isinstance(one, SessionDraft))
    parts = parts_of(reader.SPEC.name, draft.record)
    return {value.place: value.text for part in parts for value in part.values}, parts


def test_parties_analyses_attachments_and_unknown_members_of_a_vcon_have_their_places():
    party = {"name": "Ada", "role": "agent", "stir": "zqstir", "civicaddress": {"a1": "zqcity"},
             "meta": {"agent_session": {"model_id": "m", "environment": {"cwd": "/zq"}, "odd": "zqodd"}}}  # fmt: skip
    trace = {"type": "agent_trace", "encoding": "json", "schema": "zqschema", "body": {
        "id": "zqrecord",
        "session": {"sandbox": ["zqbox"], "entries": [{"type": "user", "content": "hi"}]}}}  # fmt: skip
    basis = {"purpose": "lawful_basis", "encoding": "json", "start": "2026-01-01T00:00:00Z", "party": 0, "dialog": 0,
             "body": {"lawful_basis": "consent", "proof_mechanisms": [{"proof_type": "zqproof"}]}}  # fmt: skip
    found, parts = values_of(vcon, {
        "vcon": "0.4.0", "uuid": "0199d2aa-4c00-8b1e-9f3c-5a1d0e7b2c01", "created_at": "2026-01-01T00:00:00Z",
        "parties": [party], "extensions": ["agent_session", "lawful_basis"], "zqmember": {"a/b": "zqvalue"},
        "analysis": [trace, {"type": "sentiment", "vendor": "v", "encoding": "json", "body": {"mood": "zqmood"}}],
        "attachments": [basis],
    })  # fmt: skip

    assert found["/parties/0/stir"] == "zqstir" and found["/parties/0/civicaddress/a1"] == "zqcity"
    assert found["/parties/0/meta/agent_session/environment/cwd"] == "/zq"
    assert found["/parties/0/meta/agent_session/odd"] == "zqodd"
    assert found["/analysis/0/schema"] == "zqschema" and found["/analysis/0/body/id"] == "zqrecord"
    assert found["/analysis/0/body/session/sandbox/0"] == "zqbox"
    assert found["/analysis/1/body/mood"] == "zqmood"
    assert found["/attachments/0/body/proof_mechanisms/0/proof_type"] == "zqproof"
    assert found["/zqmember/a~1b"] == "zqvalue"
    assert "hi" not in found.values()

    (part,), has_all = with_words(parts, "ZQMOOD")
    assert has_all
    assert part.title == "Analysis: sentiment" and [value.text for value in part.values] == ["zqmood"]
    assert with_words(parts, "nowhere-to-be-found") == ([], True)
    assert with_words(parts, "nowhere elsewhere") == ([], False)


def test_blocks_of_a_feed_and_nodes_of_a_graph_have_their_places():
    found, _ = values_of(llmfeed, {
        "feed_type": "session",
        "metadata": {"origin": "https://example.org", "title": "T", "generated_at": "2026-01-01"},
        "context": {"user_input": "hi", "goal": "zqgoal"}, "outputs": [], "zqblock": {"deep": [1, "zqdeep"]},
    })  # fmt: skip
    assert (found["/context/goal"], found["/zqblock/deep/1"]) == ("zqgoal", "zqdeep")

    node = {"id": "s", "type": "agent_session", "title": "S", "aliases": ["zqalias"]}
    found, _ = values_of(upg, {"upg_version": "0.41.0", "exported_at": "2026-01-01T00:00:00Z", "source": {"tool": "t"},
                               "product": {"id": "p", "title": "P"}, "nodes": [node], "edges": []})  # fmt: skip
    assert found["/nodes/s/aliases/0"] == "zqalias"


@pytest.mark.parametrize("name", ["vcon", "upg", "llmfeed", "anything"])
@pytest.mark.parametrize("held", [None, 7, [], {"trace": 1, "parties": 2, "blocks": [3, ["a"]], "nodes": [None]}])
def test_a_record_of_another_shape_makes_no_error(name, held):
    assert isinstance(parts_of(name, {name: held}), list)
    assert parts_of(name, held) == []


def test_long_and_many_values_are_cut_and_say_so():
    (part,) = parts_of("x", {"x": {"long": "a" * (VALUE_LIMIT + 1)}})
    assert (len(part.values[0].text), part.values[0].size) == (VALUE_LIMIT, VALUE_LIMIT + 1)
    (part,) = parts_of("x", {"x": {"many": list(range(MOST_VALUES * 2))}})
    assert len(part.values) == MOST_VALUES
