"""An agent's definition in the words of Managed Agents: its tools, its policy, its environment.

``tools`` is as for every runtime (``tools.entries``), and ``{"type": "builtin", "name": "bash"}`` besides. What runs
here or is answered by a person is a custom tool there.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson

from .. import Failed
from ..run import TurnRun
from ..tool_rules import ESCALATE, verdict
from ..tools import entries, person_tools, python_tools
from ..tools.offers import Offer, Unusable

Json = dict[str, Any]
BUILTIN = ("bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search")
MODEL, PLACE, OTHERS = ("effort", "speed", "inference_geo"), ("type", "networking", "packages"), ("id", "vault_ids")
"""What an agent's ``environment`` may hold: of its model, of the sandbox, and where sandbox and credentials are."""
PERMISSIONS = {"allow": "always_allow", "ask": "always_ask"}


def agent_of(turn: TurnRun, metadata: dict[str, str], *, governed: bool) -> Json:
    """The body of an agent. Raises ``Failed`` for what Managed Agents cannot do.

    ``governed``: rules look at single calls, and a provider that allows a tool asks about none of its calls; so it
    asks about every one, and the gate here answers those that need no person.
    """
    agent = turn.agent
    permissions = PERMISSIONS | ({"allow": "always_ask"} if governed else {})
    if not agent.model:
        raise Failed("this agent has no model; edit it and name one, for example claude-opus-5-5")
    if strange := sorted(set(agent.environment) - {*MODEL, *PLACE, *OTHERS}):
        raise Failed(
            f'Managed Agents have no setting "{strange[0]}"; the environment of an agent may hold '
            f"{', '.join((*MODEL, *PLACE, *OTHERS))}"
        )
    builtin, others = _split(agent.tools)
    servers = [entry for entry in others if isinstance(entry, entries.McpEntry)]
    own = [entry for entry in others if not isinstance(entry, entries.McpEntry) and entry.name != ESCALATE]
    return {
        "name": agent.name,
        "model": {"id": agent.model} | _selected(agent.environment, MODEL),
        "description": agent.description or None,
        "system": agent.instructions or None,
        "tools": [
            *_builtin(builtin, agent.policy, permissions),
            *(_mcp(entry, agent.policy, permissions) for entry in servers),
            *(
                _custom(offer)
                for offer in [*(_offer_of_entry(entry, turn) for entry in own), person_tools.escalation()]
            ),
        ],
        "mcp_servers": [
            {"type": "url", "name": entry.server, "url": _url(entry, agent.environment)} for entry in servers
        ],
        "metadata": metadata,
    }


def environment_of(environment: Json) -> tuple[str, Json]:
    """Name and config of the environment. The name holds a hash of the config: another config is another one."""
    config = {"type": "cloud"} | (_selected(environment, PLACE) or {"networking": {"type": "unrestricted"}})
    digest = hashlib.sha256(orjson.dumps(config, option=orjson.OPT_SORT_KEYS)).hexdigest()[:12]
    return f"countersign-{digest}", config


def _selected(environment: Json, names: tuple[str, ...]) -> Json:
    return {name: environment[name] for name in names if name in environment}


def _split(tools: Any) -> tuple[list[str], list[entries.Entry]]:
    """Names of built-in tools, and what is like the tools of every runtime."""
    listed = tools if isinstance(tools, list) else []
    is_builtin = [isinstance(tool, dict) and tool.get("type") == "builtin" for tool in listed]
    names = [str(tool.get("name")) for tool, builtin in zip(listed, is_builtin, strict=True) if builtin]
    if odd := [name for name in names if name not in BUILTIN]:
        raise Failed(f'Managed Agents have no built-in tool "{odd[0]}"; they have {", ".join(BUILTIN)}')
    others, problems = entries.read([tool for tool, builtin in zip(listed, is_builtin, strict=True) if not builtin])
    if problems:
        raise Failed(problems[0])
    return names, others


def _url(entry: entries.McpEntry, environment: Json) -> str:
    """Where Anthropic reaches a server."""
    if entry.url is None:
        raise Failed(
            f'the MCP server "{entry.server}" is a command: Managed Agents reach servers by URL alone; the runtime '
            "local can start it"
        )
    if entry.headers_secret and not environment.get("vault_ids"):
        raise Failed(
            f'the MCP server "{entry.server}" needs a secret, and secrets of this workspace are not sent to Anthropic: '
            'put it into a vault there and name that as "vault_ids" in the environment of this agent'
        )
    return entry.url


def _offer_of_entry(entry: entries.PythonEntry | entries.CustomEntry, turn: TurnRun) -> Offer:
    try:
        if isinstance(entry, entries.CustomEntry):
            return person_tools.offer(entry)
        return python_tools.offer(entry, turn, None)
    except Unusable as why:
        raise Failed(f'the tool "{entry.name}" cannot be used: {why}') from None


def _config(name: str, said: str, permissions: dict[str, str]) -> Json:
    """A tool that is denied is switched off: the server then refuses it without asking anybody."""
    if said == "deny":
        return {"name": name, "enabled": False}
    return {"name": name, "enabled": True, "permission_policy": {"type": permissions[said]}}


def _builtin(names: list[str], policy: Json, permissions: dict[str, str]) -> list[Json]:
    if not names:
        return []
    configs = [{"type": name} | _config(name, verdict(policy, name, None), permissions) for name in names]
    return [{"type": "agent_toolset_20260401", "default_config": {"enabled": False}, "configs": configs}]


def _mcp(entry: entries.McpEntry, policy: Json, permissions: dict[str, str]) -> Json:
    """The toolset of a server. A tool that nothing names asks, or does what the default says."""
    names = _tools_named_in(policy, entry.server) if entry.tools is None else entry.tools
    others = "deny" if entry.tools is not None else verdict(policy, "", entry.server)
    default = _config("", others, permissions)
    del default["name"]
    return {
        "type": "mcp_toolset",
        "mcp_server_name": entry.server,
        "default_config": default,
        "configs": [_config(name, verdict(policy, name, entry.server), permissions) for name in names],
    }


def _tools_named_in(policy: Json, server: str) -> list[str]:
    """Tools of a server that the policy names: as ``server/tool``, or by a name that may be any server's."""
    tools = policy.get("tools")
    split = [name.rpartition("/") for name in tools] if isinstance(tools, dict) else []
    return sorted(
        {tool for owner, _, tool in split if owner == server or (not owner and tool not in (*BUILTIN, ESCALATE))}
    )


def _custom(offer: Offer) -> Json:
    """The API takes no ``additionalProperties``, at any depth, and wants a description."""
    definition = offer.definition(offer.name)
    schema = _without(definition["input_schema"], "additionalProperties")
    return definition | {
        "type": "custom",
        "description": definition["description"] or offer.name,
        "input_schema": schema,
    }


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, name) for key, item in value.items() if key != name}
    return [_without(item, name) for item in value] if isinstance(value, list) else value
