"""Agents, environments and sessions of the fake, and what it checks of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .managed_agents_errors import ApiError, bad, metadata_of, missing, new_id, now, only, page_of, within
from .managed_agents_session import DEFAULT_SCRIPT, FakeSession, Switches

AGENT = ("name", "model", "description", "system", "tools", "mcp_servers", "metadata", "skills", "execution_identity")
BUILTIN = ("bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search")
POLICIES = ("always_allow", "always_ask", "auto")
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")


class World:
    """Everything that one API key sees."""

    def __init__(self) -> None:
        self.switches = Switches()
        self.agents: dict[str, list[dict[str, Any]]] = {}
        """Versions of each agent, the newest last."""
        self.environments: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, FakeSession] = {}
        self.scripts: list[list[Any]] = []
        """What the agent does with the next messages, one script for each."""

    def script_for(self, message: dict[str, Any]) -> list[Any]:
        return self.scripts.pop(0) if self.scripts else DEFAULT_SCRIPT

    # --- agents ---

    def create_agent(self, body: Any) -> dict[str, Any]:
        body = only(body, *AGENT)
        for name in ("name", "model"):
            if not body.get(name):
                raise bad(f"{name}: Field required")
        agent = {
            "id": new_id("agent"), "type": "agent", "description": None, "system": None, "skills": [],
            "execution_identity": {"type": "service_account"}, "version": 1, "created_at": now(), "archived_at": None,
        } | self._agent_fields(body)  # fmt: skip
        self.agents[agent["id"]] = [agent]
        return agent

    def update_agent(self, id_: str, body: Any) -> dict[str, Any]:
        current = self.agent(id_)
        body = only(body, *AGENT, "version")
        if body.pop("version", current["version"]) != current["version"]:
            raise ApiError(409, "conflict_error", f"agent {id_} is at version {current['version']}")
        if current["archived_at"]:
            raise bad(f"agent {id_} is archived")
        fields = self._agent_fields({key: current[key] for key in AGENT if key in current} | body)
        changed = current | fields | {"version": current["version"] + 1}
        self.agents[id_].append(changed)
        return changed

    def _agent_fields(self, body: dict[str, Any]) -> dict[str, Any]:
        model = body["model"] if isinstance(body["model"], dict) else {"id": body["model"], "speed": "standard"}
        if len(body.get("system") or "") > 100_000:
            raise bad("system: at most 100000 characters")
        fields = body | {"model": model, "metadata": metadata_of(body.get("metadata")), "updated_at": now()}
        return fields | self.checked_tools({key: body.get(key) or [] for key in ("tools", "mcp_servers")})

    def checked_tools(self, told: dict[str, Any]) -> dict[str, Any]:
        """Tools and servers that fit each other; a full replacement."""
        servers = [only(server, "type", "name", "url")["name"] for server in told.get("mcp_servers", [])]
        if len(servers) > 20 or len(set(servers)) != len(servers):
            raise bad("mcp_servers: at most 20, with unique names")
        if len(told.get("tools", [])) > 256:
            raise bad("tools: at most 256")
        used = [self._checked_tool(tool, index, servers) for index, tool in enumerate(told.get("tools", []))]
        if unused := set(servers) - set(used):
            raise bad(f"mcp_servers: {sorted(unused)[0]} is not referenced by an mcp_toolset")
        return told

    def _checked_tool(self, tool: dict[str, Any], index: int, servers: list[str]) -> str:
        """The server that a tool refers to, "" for none."""
        kind, where = tool.get("type"), f"tools[{index}]"
        if kind == "custom":
            only(tool, "type", "name", "description", "input_schema")
            if not NAME.fullmatch(tool.get("name", "")) or not 1 <= len(tool.get("description", "")) <= 4096:
                raise bad(f"{where}: a custom tool needs a name of 1-128 characters and a description of 1-4096")
            schema = tool.get("input_schema", {})
            if schema.get("type") != "object" or "additionalProperties" in schema:
                raise bad(f"{where}.input_schema: type must be object, additionalProperties is not permitted")
            return ""
        if kind not in ("agent_toolset_20260401", "mcp_toolset"):
            raise bad(f"{where}.type: {kind!r} is not a known tool type")
        _check_policies(tool, where)
        if kind == "mcp_toolset":
            if tool.get("mcp_server_name") not in servers:
                raise bad(f"{where}.mcp_server_name: no such server in mcp_servers")
            return tool["mcp_server_name"]
        if odd := [config.get("name") for config in tool.get("configs", []) if config.get("name") not in BUILTIN]:
            raise bad(f"{where}.configs: {odd[0]!r} is not a tool of this toolset")
        return ""

    def agent(self, id_: str, version: str | None = None) -> dict[str, Any]:
        versions = self.agents.get(id_)
        if not versions:
            raise missing("agent", id_)
        found = [one for one in versions if version is None or str(one["version"]) == str(version)]
        if not found:
            raise missing("agent version", f"{id_}@{version}")
        return found[-1]

    def list_agents(self, query: Any) -> dict[str, Any]:
        rows = [versions[-1] for versions in self.agents.values()]
        if query.get("include_archived") != "true":
            rows = [agent for agent in rows if not agent["archived_at"]]
        return page_of([agent for agent in rows if within(agent["created_at"], query)], query, most=100)

    def versions(self, id_: str, query: Any) -> dict[str, Any]:
        self.agent(id_)
        return page_of(self.agents[id_], query)

    def archive_agent(self, id_: str) -> dict[str, Any]:
        agent = self.agent(id_)
        agent["archived_at"] = agent["archived_at"] or now()
        return agent

    # --- environments ---

    def create_environment(self, body: Any) -> dict[str, Any]:
        body = only(body, "name", "description", "config", "metadata", "scope")
        if not body.get("name"):
            raise bad("name: Field required")
        if any(one["name"] == body["name"] for one in self.environments.values()):
            raise ApiError(409, "conflict_error", f"an environment named {body['name']} exists already")
        config = body.get("config") or {"type": "cloud"}
        if config.get("type") not in ("cloud", "self_hosted"):
            raise bad("config.type: cloud or self_hosted")
        made = {"id": new_id("env"), "type": "environment", "description": None, "archived_at": None}
        made |= body | {"config": config, "metadata": metadata_of(body.get("metadata"))}
        made |= {"created_at": now(), "updated_at": now()}
        self.environments[made["id"]] = made
        return made

    def environment(self, id_: str) -> dict[str, Any]:
        if id_ not in self.environments:
            raise missing("environment", id_)
        return self.environments[id_]

    # --- sessions ---

    def create_session(self, body: Any) -> dict[str, Any]:
        body = only(
            body, "agent", "environment_id", "title", "metadata", "resources", "vault_ids", "budget", "initial_events"
        )
        agent = self._agent_of(body.get("agent"))
        self.environment(body.get("environment_id", ""))
        metadata_of(body.get("metadata"))
        first = body.pop("initial_events", None) or []
        if len(first) > 50:
            raise bad("initial_events: at most 50 events")
        if odd := [e.get("type") for e in first if e.get("type") not in ("user.message", "user.define_outcome")]:
            raise bad(f"initial_events: {odd[0]} cannot be an initial event")
        keys = ("id", "type", "name", "version", "description", "system", "model", "tools", "mcp_servers", "skills",
                "execution_identity")  # fmt: skip
        session = FakeSession(self, body, {key: agent[key] for key in keys})
        self.sessions[session.id] = session
        if first:
            session.receive({"events": first})
            session.status = "running"
        return session.as_json()

    def _agent_of(self, told: Any) -> dict[str, Any]:
        if isinstance(told, str):
            return self.agent(told)
        told = only(told, "type", "id", "version")
        return self.agent(told.get("id", ""), told.get("version"))

    def session(self, id_: str) -> FakeSession:
        session = self.sessions.get(id_)
        if session is None or session.deleted:
            raise missing("session", id_)
        return session

    def list_sessions(self, query: Any) -> dict[str, Any]:
        tests: list[tuple[str, Callable[[FakeSession, str], bool]]] = [
            ("agent_id", lambda one, value: one.agent["id"] == value),
            ("agent_version", lambda one, value: str(one.agent["version"]) == value),
        ]
        rows = [one for one in self.sessions.values() if not one.deleted and within(one.created_at, query)]
        for name, test in tests:
            if name in query:
                rows = [one for one in rows if test(one, query[name])]
        if statuses := query.getlist("statuses[]"):
            rows = [one for one in rows if one.status in statuses]
        if query.get("include_archived") != "true":
            rows = [one for one in rows if not one.archived_at]
        return page_of([one.as_json() for one in rows], query, order="desc", both_ways=True)


def _check_policies(tool: dict[str, Any], where: str) -> None:
    only(tool, "type", "mcp_server_name", "default_config", "configs")
    for config in [tool.get("default_config") or {}, *(tool.get("configs") or [])]:
        policy = config.get("permission_policy")
        if policy and policy.get("type") not in POLICIES:
            raise bad(f"{where}: {policy.get('type')!r} is not a permission policy")
