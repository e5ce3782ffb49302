"""Codex as other programs hear it: the events of its core one by one, and the app server's JSON-RPC, both put into the
words of ``codex exec --json``, so that one reading tells all three.

The core's events (``{"id", "msg": {"type": ...}}``) are what ``codex exec --json`` printed before 0.44, what
``codex mcp-server`` and the first app server send as ``codex/event``, and what the log of its screen has as
``codex_event``. The app server's second protocol has threads, turns and items (``codex-rs/app-server-protocol``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ..common.values import dict_of, list_of, text_of

Told = dict[str, Any]
METHODS = ("codex/event", "thread/", "turn/", "item/")
CALLS_OF_CLIENTS = frozenset({"newConversation", "sendUserMessage", "sendUserTurn", "resumeConversation"})
"""Requests of the first app server."""
EVENTS = frozenset({
    "session_configured", "task_started", "task_complete", "turn_started", "turn_complete", "agent_message",
    "agent_reasoning", "exec_command_begin", "exec_command_end", "token_count", "mcp_startup_update",
})  # fmt: skip
"""Events of the core by which a stream of them is known."""
TOTALS = {
    "input_tokens": "inputTokens", "cached_input_tokens": "cachedInputTokens", "output_tokens": "outputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens", "reasoning_output_tokens": "reasoningOutputTokens",
    "total_tokens": "totalTokens",
}  # fmt: skip
HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
DECIDED = {
    "accept": "approved", "acceptForSession": "approved", "acceptWithExecpolicyAmendment": "approved",
    "approved": "approved", "approved_for_session": "approved", "approved_execpolicy_amendment": "approved",
    "decline": "denied", "cancel": "denied", "denied": "denied", "abort": "denied", "timed_out": "denied",
}  # fmt: skip
"""What a client may answer when it is asked whether something may run."""


def is_stream(lines: list[dict[str, Any]]) -> bool:
    """Whether one of the first lines is an event of the core or a message of the app server."""
    return any(_is_ours(opened(line)) for line in lines)


def _is_ours(line: dict[str, Any]) -> bool:
    method, params = text_of(line.get("method")), line.get("params")
    spoken = isinstance(params, dict) and (method.startswith(METHODS) or method in CALLS_OF_CLIENTS)
    read = isinstance(dict_of(dict_of(line.get("result")).get("thread")).get("turns"), list)
    return spoken or read or text_of(dict_of(line.get("msg")).get("type")) in EVENTS


def opened(value: dict[str, Any]) -> dict[str, Any]:
    """A message without what a log put around it."""
    for name in ("message", "payload"):
        inner = value.get(name)
        if isinstance(inner, dict) and ("direction" in value or "kind" in value or "dir" in value):
            return inner
    return value


def told_in(value: dict[str, Any]) -> list[Told] | None:
    """What a line says in the words of ``codex exec --json``; ``None`` for one that speaks them itself."""
    message = opened(value)
    params = dict_of(message.get("params"))
    if isinstance(message.get("msg"), dict):
        return _of_core(message["msg"])
    if "method" in message:
        if isinstance(params.get("msg"), dict):
            return _of_core(params["msg"], text_of(params.get("conversationId")))
        return _of_server(text_of(message["method"]), params, message.get("id"))
    if "type" not in message and ("result" in message or "error" in message):
        return _answered(message)
    if "type" not in message and isinstance(message.get("prompt"), str):
        return [_text_item("user_message", message["prompt"])]
    if "type" not in message and isinstance(message.get("workdir"), str):
        return [{**message, "type": "thread.started", "cwd": message["workdir"]}]
    return None if message is value else [message]


# --- events of the core ---


def _of_core(event: dict[str, Any], thread: str = "") -> list[Told]:
    kind = text_of(event.get("type"))
    told = CORE[kind](event) if kind in CORE else _passing(kind, event)
    return [{**one, "thread": thread} for one in told] if thread else told


def _passing(kind: str, event: dict[str, Any]) -> list[Told]:
    """Pieces of what comes whole later are not told; neither is what says again what another event says."""
    if kind.endswith(("_delta", "_section_break")) or kind in REPEATED:
        return []
    return [{**event, "type": f"event.{kind}"}]


REPEATED = frozenset({
    "item_started", "item_completed", "raw_response_item", "web_search_begin", "turn_diff",
    "mcp_startup_update", "mcp_startup_complete", "image_generation_begin", "exec_command_output_delta",
})  # fmt: skip


def _configured(event: dict[str, Any]) -> list[Told]:
    """The session; one that was resumed brings what was said before, whose tokens were spent then."""
    began: Told = {**event, "type": "thread.started", "thread_id": event.get("thread_id") or event.get("session_id")}
    before = [told for past in list_of(began.pop("initial_messages", None)) for told in _of_core(dict_of(past))]
    return [began, *(told for told in before if told["type"] not in ("usage", "turn.completed", "turn.aborted"))]


def _command(event: dict[str, Any]) -> list[Told]:
    words = event.get("command")
    command = " ".join(map(text_of, words)) if isinstance(words, list) else words
    output = event.get("aggregated_output") or "\n".join(
        filter(None, (text_of(event.get("stdout")), text_of(event.get("stderr"))))
    )
    item = {"command": command, "cwd": event.get("cwd"), "exit_code": event.get("exit_code")}
    return [_part(event, "command_execution", {**item, "aggregated_output": output})]


def _mcp(event: dict[str, Any]) -> list[Told]:
    result = dict_of(event.get("result"))
    failed = "Err" in result or dict_of(result.get("Ok")).get("is_error") is True
    ended = {"result": result.get("Ok"), "error": {"message": result["Err"]} if "Err" in result else None}
    status = {"status": "failed" if failed else "completed"} if result else {}
    return [_part(event, "mcp_tool_call", {**dict_of(event.get("invocation")), **ended, **status})]


def _patch(event: dict[str, Any]) -> list[Told]:
    """A patch, when it begins and again when it has ended; old versions name the files at its beginning only."""
    changes = [_changed(path, dict_of(change)) for path, change in dict_of(event.get("changes")).items()]
    success = event.get("success")
    status = "completed" if success else "failed" if success is False else event.get("status")
    told = _part(event, "file_change", {"changes": changes, "status": status})
    return [{**told, "type": "item.completed", "again": True}]


def _changed(path: str, change: dict[str, Any]) -> Told:
    """One file: what was done with it is a member, or the name of the only one."""
    kind = text_of(change.get("type")) or next(iter(change), "")
    return {**dict_of(change.get(kind)), **change, "path": path, "kind": kind}


def _part(event: dict[str, Any], kind: str, item: Told) -> Told:
    stage = "item.completed" if text_of(event.get("type")).endswith("_end") else "item.started"
    return {"type": stage, "item": {"id": event.get("call_id"), "type": kind, **item}}


def _text_item(kind: str, text: Any, **more: Any) -> Told:
    return {"type": "item.completed", "item": {"type": kind, "text": text, **more}}


def _asked(event: dict[str, Any]) -> list[Told]:
    words = event.get("command")
    text = text_of(event.get("reason")) or (" ".join(map(text_of, words)) if isinstance(words, list) else "")
    return [{"type": "approval.requested", "call_id": event.get("call_id"), "text": text}]


CORE: dict[str, Callable[[dict[str, Any]], list[Told]]] = {
    "session_configured": _configured,
    **dict.fromkeys(("task_started", "turn_started"), lambda event: [{"type": "turn.started"}]),
    **dict.fromkeys(("task_complete", "turn_complete"), lambda event: [{"type": "turn.completed"}]),
    "turn_aborted": lambda event: [{"type": "turn.aborted", "reason": event.get("reason")}],
    "user_message": lambda event: [_text_item("user_message", event.get("message"))],
    "agent_message": lambda event: [_text_item("agent_message", event.get("message"))],
    **dict.fromkeys(("agent_reasoning", "agent_reasoning_raw_content"), lambda event: [
        _text_item("reasoning", event.get("text"))]),
    **dict.fromkeys(("exec_command_begin", "exec_command_end"), _command),
    **dict.fromkeys(("mcp_tool_call_begin", "mcp_tool_call_end"), _mcp),
    **dict.fromkeys(("patch_apply_begin", "patch_apply_end"), _patch),
    "web_search_end": lambda event: [_part(event, "web_search", {
        "query": event.get("query"), "action": event.get("action")})],
    "view_image_tool_call": lambda event: [{"type": "item.completed", "item": {
        "id": event.get("call_id"), "type": "image_view", "path": event.get("path")}}],
    # Before 0.24 it had the counts of the response that ended, and no total.
    "token_count": lambda event: [{"type": "usage", "info": event.get("info", {"last_token_usage": event})}],
    "plan_update": lambda event: [_text_item("todo_list", event.get("explanation"), items=event.get("plan"))],
    **dict.fromkeys(("error", "stream_error"), lambda event: [
        {**event, "type": "error", "retries": event.get("type") == "stream_error"}]),
    **dict.fromkeys(("exec_approval_request", "apply_patch_approval_request"), _asked),
}  # fmt: skip


# --- the app server ---


def _of_server(method: str, params: dict[str, Any], request: Any) -> list[Told]:
    """A request or a notification. What belongs to another thread of the same server says so."""
    thread = text_of(params.get("threadId")) or text_of(params.get("conversationId"))
    return [{**told, "thread": thread} if thread else told for told in _spoken(method, params, request)]


def _spoken(method: str, params: dict[str, Any], request: Any) -> Iterator[Told]:
    kind = method.rpartition("/")[2]
    if method in ("turn/start", "turn/steer", "sendUserMessage", "sendUserTurn"):
        given = list_of(params.get("input")) or [
            {**dict_of(one), **dict_of(dict_of(one).get("data"))} for one in list_of(params.get("items"))
        ]
        yield {"type": "item.completed", "item": {"type": "user_message", "content": given}, "side": "request",
               "model": params.get("model")}  # fmt: skip
    elif method == "tools/call":
        yield _text_item("user_message", dict_of(params.get("arguments")).get("prompt"))
    elif method == "thread/started":
        yield _thread(dict_of(params.get("thread")))
    elif method in ("turn/started", "turn/completed"):
        yield _turn(kind, dict_of(params.get("turn")))
    elif method in ("item/started", "item/completed"):
        yield {"type": f"item.{kind}", "item": snake(dict_of(params.get("item")))}
    elif method == "thread/tokenUsage/updated":
        usage = dict_of(params.get("tokenUsage"))
        yield {"type": "usage", "info": {f"{name}_token_usage": _counts(usage.get(name)) for name in ("total", "last")}}
    elif kind in ("requestApproval", "execCommandApproval", "applyPatchApproval"):
        call_id = params.get("itemId") or params.get("callId")
        text = next(filter(None, (text_of(params.get(name)) for name in ("reason", "command"))), "")
        yield {"type": "approval.requested", "call_id": call_id, "text": text, "request": str(request)}
    elif kind == "requestUserInput":
        yield {"type": "request_user_input", **params, "request": str(request)}
    elif method == "error":
        yield {"type": "error", **params}
    elif method == "turn/plan/updated":
        yield _text_item("todo_list", params.get("explanation"), items=params.get("plan"))
    elif not kind.lower().endswith(("delta", "partadded")) and method != "turn/diff/updated":
        yield {**params, "type": f"rpc.{method}"[:100]}


def _answered(message: dict[str, Any]) -> list[Told]:
    """The answer to a request: a thread with what was said in it before, a decision, or an error."""
    result = dict_of(message.get("result"))
    if isinstance(message.get("error"), dict):
        return [{"type": "rpc.error", **message["error"]}]
    if "decision" in result:
        decision = result["decision"]
        word = next(iter(decision), "") if isinstance(decision, dict) else text_of(decision)
        return [{"type": "approval.answered", "request": str(message.get("id")), "word": word,
                 "decision": DECIDED.get(word, "denied")}]  # fmt: skip
    if "answers" in result:
        return [{"type": "input.answered", "request": str(message.get("id")), "answers": result["answers"]}]
    thread = dict_of(result.get("thread"))
    if thread or result.get("conversationId"):
        places = {name: result.get(name) for name in ("model", "cwd", "approvalPolicy")}
        began = _thread({**places, **thread, "id": thread.get("id") or result.get("conversationId")})
        turns = map(dict_of, list_of(thread.get("turns")))
        items = [snake(dict_of(item)) for turn in turns for item in list_of(turn.get("items"))]
        past = [{"type": "item.completed", "item": item, "thread": began["thread_id"], "past": True} for item in items]
        return [{**began, "resumed": True} if past else began, *past]
    return [{**result, "type": "rpc.result"}]


def _thread(thread: dict[str, Any]) -> Told:
    git, told = dict_of(thread.get("gitInfo")), {key: item for key, item in thread.items() if key != "turns"}
    return {
        **snake(told), "type": "thread.started", "thread_id": text_of(thread.get("id")), "branch": git.get("branch"),
        "commit": git.get("sha"), "thread": text_of(thread.get("id")),
    }  # fmt: skip


def _turn(kind: str, turn: dict[str, Any]) -> Told:
    status, error = turn.get("status"), turn.get("error")
    if kind == "completed" and status == "interrupted":
        return {"type": "turn.aborted", "reason": "interrupted"}
    if kind == "completed" and (status == "failed" or error):
        return {"type": "turn.failed", "error": error}
    return {"type": f"turn.{kind}"}


def _counts(stated: Any) -> Told:
    counts = dict_of(stated)
    return {name: counts[theirs] for name, theirs in TOTALS.items() if theirs in counts}


def snake(item: dict[str, Any]) -> Told:
    """An item with its members and its type as ``codex exec --json`` spells them."""
    told = {HUMP.sub(r"_\1", key).lower(): value for key, value in item.items()}
    return {**told, "type": HUMP.sub(r"_\1", text_of(item.get("type"))).lower()}
