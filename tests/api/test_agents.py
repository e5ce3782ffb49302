"""Agent definitions over the API."""

from __future__ import annotations

from .client import ok, pointers, refused

FIELDS = {"id", "name", "slug", "runtime", "model", "version", "status", "created_at"}


def test_an_agent_is_made_with_what_was_said_and_defaults(admin):
    agent = ok(admin.post("agents", {"name": " Refund agent ", "model": "m-1", "tools": [{"name": "refund"}]}), 201)
    assert agent.keys() >= FIELDS
    assert (agent["name"], agent["slug"], agent["runtime"], agent["model"]) == (
        "Refund agent",
        "refund-agent",
        "external",
        "m-1",
    )
    assert (agent["version"], agent["status"], agent["tools"]) == (1, "active", [{"name": "refund"}])
    assert agent["created_at"].endswith("Z")
    assert ok(admin.get(f"agents/{agent['id']}")) == agent
    assert ok(admin.get("agents"))["items"] == [agent]


def test_a_model_that_was_not_said_is_null(api):
    assert ok(api.post("agents", {"name": "A", "instructions": None}), 201)["model"] is None


def test_a_name_is_taken_once(api):
    ok(api.post("agents", {"name": "Refund agent"}), 201)
    refused(api.post("agents", {"name": "refund AGENT"}), 409)


def test_names_in_other_scripts_are_told_apart(api):
    slugs = {
        ok(api.post("agents", {"name": name}), 201)["slug"]
        for name in ("客服", "退款", "Возврат", "退款 bot", "客服 bot", "Café")
    }
    assert len(slugs) == 6
    assert "cafe" in slugs
    assert all(slug.isascii() for slug in slugs)


def test_bad_definitions_are_refused(api):
    assert pointers(refused(api.post("agents", {}), 422)) == {"/name"}
    assert pointers(refused(api.post("agents", {"name": "  "}), 422)) == {"/name"}
    assert pointers(refused(api.post("agents", {"name": "x" * 201}), 422)) == {"/name"}
    assert pointers(refused(api.post("agents", {"name": "A", "runtime": "cloud"}), 422)) == {"/runtime"}
    assert pointers(refused(api.post("agents", {"name": "A", "tools": {}, "policy": []}), 422)) == {"/tools", "/policy"}


def test_a_change_touches_only_what_was_sent_and_makes_a_version(api):
    agent = ok(api.post("agents", {"name": "A", "model": "m", "metadata": {"team": 1}}), 201)
    changed = ok(api.patch(f"agents/{agent['id']}", {"instructions": "Be kind"}))
    assert (changed["instructions"], changed["model"], changed["metadata"], changed["version"]) == (
        "Be kind",
        "m",
        {"team": 1},
        2,
    )
    assert ok(api.patch(f"agents/{agent['id']}", {"instructions": "Be kind"}))["version"] == 2
    assert ok(api.patch(f"agents/{agent['id']}", {"model": None}))["model"] is None
    assert pointers(refused(api.patch(f"agents/{agent['id']}", {"name": None}), 422)) == {"/name"}


def test_pausing_is_no_change_of_the_definition(api):
    agent = ok(api.post("agents", {"name": "A"}), 201)
    paused = ok(api.patch(f"agents/{agent['id']}", {"status": "paused"}))
    assert (paused["status"], paused["version"]) == ("paused", 1)


def test_every_version_is_kept_with_who_made_it(admin):
    agent = ok(admin.post("agents", {"name": "A", "description": "first", "environment": {"type": "cloud"}}), 201)
    assert (agent["description"], agent["environment"]) == ("first", {"type": "cloud"})
    ok(admin.patch(f"agents/{agent['id']}", {"description": None, "tools": ["bash"], "version": 1}))
    second, first = ok(admin.get(f"agents/{agent['id']}/versions"))["items"]
    assert (first["version"], first["definition"]["description"], first["definition"]["tools"]) == (1, "first", [])
    assert (second["version"], second["definition"]["description"], second["definition"]["tools"]) == (2, "", ["bash"])
    assert first["changed_by"] == second["changed_by"] == "admin key"


def test_a_change_of_an_older_version_is_refused_with_what_changed_meanwhile(api):
    agent = ok(api.post("agents", {"name": "A"}), 201)
    ok(api.patch(f"agents/{agent['id']}", {"model": "m-2"}))
    problem = refused(api.patch(f"agents/{agent['id']}", {"instructions": "x", "version": 1}), 409)
    assert (problem["changed"], problem["version"]) == (["model"], 2)
    assert ok(api.get(f"agents/{agent['id']}"))["instructions"] == ""


def test_a_version_that_never_was_is_told_as_that(api, agent):
    """Of a number that was mistyped it was said that version 1 was made meanwhile."""
    problem = refused(api.patch(f"agents/{agent.id}", {"version": 77, "name": "B"}), 409)
    assert problem["detail"] == "there is no version 77: the newest is 1; read it again"
    assert (problem["changed"], problem["version"]) == ([], 1)


def test_a_new_name_keeps_the_slug(api):
    agent = ok(api.post("agents", {"name": "Refund agent"}), 201)
    assert ok(api.patch(f"agents/{agent['id']}", {"name": "Returns"}))["slug"] == "refund-agent"


def test_versions_of_others_are_not_there(api, stranger):
    agent = ok(api.post("agents", {"name": "A"}), 201)
    refused(stranger.get(f"agents/{agent['id']}/versions"), 404)


def test_agents_are_found_by_words_of_their_name_model_and_description(admin, stranger):
    night = ok(admin.post("agents", {"name": "Night shift", "model": "m-1"}), 201)
    ok(admin.post("agents", {"name": "Night watch"}), 201)
    ok(stranger.post("agents", {"name": "Night shift"}), 201)
    assert ok(admin.get("agents?q=NIGHT m-"))["items"] == [night]
    assert len(ok(admin.get("agents?q=night"))["items"]) == 2
    assert ok(admin.get("agents?q=%25"))["items"] == []
    assert pointers(refused(admin.get(f"agents?q={'x' * 201}"), 422)) == {"/q"}
