"""The canonical form of product graphs: numbers, order and emptiness as JavaScript has them."""

import json

import pytest

from vcon_app.formats.upg import canon

from ..vcon_tools import CORPUS, needs_corpus

EXAMPLES = CORPUS / "upg" / "examples"


def test_keys_of_properties_sort_by_utf16_with_indices_first():
    node = {
        "id": "n",
        "type": "t",
        "title": "T",
        "properties": {"\U0001f600": 1, "\uffee": 2, "b": {"d": 1, "c": 2}, "10": 3, "9": 4, "01": 5},
    }
    made = canon.canonical({}, [node], [])["nodes"][0]["properties"]
    assert list(made) == ["9", "10", "01", "b", "\U0001f600", "\uffee"] and list(made["b"]) == ["c", "d"]


def test_what_is_empty_is_dropped_outside_of_properties_only():
    node = {
        "title": "T",
        "status": "",
        "tags": [],
        "slug": None,
        "properties": {"x": None, "y": {}},
        "id": "n",
        "type": "",
    }
    assert canon.canonical({}, [node], [])["nodes"] == [
        {"id": "n", "type": "", "title": "T", "properties": {"x": None, "y": {}}}
    ]


def test_nodes_edges_and_tags_are_sorted_and_unknown_keys_come_last():
    nodes = [
        {"id": "2", "type": "b", "title": "x"},
        {"zz": 1, "aa": 2, "id": "1", "title": "y", "type": "b", "slug": "a", "tags": ["q", "p", "q"]},
    ]
    edges = [
        {"type": "t", "id": "e2", "source": "2", "target": "1"},
        {"id": "e1", "source": "1", "target": "2", "type": "t"},
    ]
    made = canon.canonical({"id": "p"}, nodes, edges)
    assert [node["id"] for node in made["nodes"]] == ["1", "2"] and made["nodes"][0]["tags"] == ["p", "q"]
    assert list(made["nodes"][0])[-2:] == ["aa", "zz"] and [edge["id"] for edge in made["edges"]] == ["e1", "e2"]


def test_the_node_of_the_product_knows_its_name_better():
    node = {"id": "p", "type": "product", "title": "New", "properties": {"stage": "beta"}}
    made = canon.canonical({"id": "p", "title": "Old", "description": "Stays"}, [node], [])["product"]
    assert made == {"id": "p", "title": "New", "description": "Stays", "stage": "beta"}


def test_the_seal_does_not_depend_on_order_but_on_content():
    nodes = [
        {"id": "a", "type": "t", "title": "A", "properties": {"x": 1, "y": 2}},
        {"id": "b", "type": "t", "title": "B"},
    ]
    turned = [nodes[1], {"properties": {"y": 2.0, "x": 1}, "title": "A", "type": "t", "id": "a"}]
    assert canon.seal({"id": "p"}, nodes, []) == canon.seal({"id": "p"}, turned, [])
    assert canon.seal({"id": "p"}, nodes, []) != canon.seal({"id": "p"}, nodes[:1], [])


@needs_corpus
@pytest.mark.parametrize("name", ["good", "beacon", "numbers-unicode"])
def test_seal_and_bytes_are_those_of_the_reference(name):
    data = (EXAMPLES / f"{name}.upg").read_text(encoding="utf-8")
    document = json.loads(data)
    body = canon.canonical(document["product"], document["nodes"], document["edges"])
    assert canon.sealed(body) == document["$upg"]["integrity"]["body"]
    assert canon.dump({"$upg": document["$upg"], **body}, 2) + "\n" == data


@needs_corpus
def test_the_seal_of_the_flat_envelope_is_that_of_the_canonical_file():
    flat, good = (json.loads((EXAMPLES / name).read_text()) for name in ("legacy-envelope-good.json", "good.upg"))
    assert canon.seal(flat["product"], flat["nodes"], flat["edges"]) == good["$upg"]["integrity"]["body"]
