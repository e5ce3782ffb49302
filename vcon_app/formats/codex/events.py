"""Events: copies of messages for the screen, tokens, and how calls ended.

Texts are told once (``Said``). What an event knows of a call that the call's output does not say (exit code,
duration, diff) is kept for that output, which comes behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...drafts import EventDraft, ToolDraft
from ..common.calls import id_of
from ..common.lines import Line
from ..common.values import FIELD_LIMIT, bounded, dict_of, forget_oldest, list_of, scalars_of, text_of
from .items import ItemHandler, answered, prompt_event, thought
from .reading import RolloutReading
from .texts import block_text, blocks_of, injection_kind

OUTCOMES = 256
NEWLINE = "\n"
COMMON = frozenset({"type", "turn_id", "id", "call_id", "callId", "turnId", "thread_id"})
ENDED = frozenset({
    "CommandExecution", "McpToolCall", "DynamicToolCall", "WebSearch", "Extension", "ImageView", "ImageGeneration",
    "Sleep",
})  # fmt: skip
"""Completed items that are calls."""
PAYLOADS = frozenset({"stdout", "stderr", "aggregated_output", "formatted_output", "result", "output", "prompt"})
CHILDREN = ("new_thread_id", "receiver_thread_id", "agent_thread_id", "agentThreadId", "receiverThreadIds")
GUARDIAN = {"approved": "approved", "denied": "denied", "timed_out": "denied"}
"""Verdicts of the model that reviews in a person's place; when it takes too long the action does not run."""


def user_message(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The prompt as it was typed."""
    text = text_of(payload.get("message"))
    kind = payload.get("kind")
    tag = kind if kind in ("environment_context", "user_instructions") else injection_kind(text)
    if tag:
        yield line.event("injected_context", text, data={"type": tag})
        return
    pictures = [{"type": "image"} for key in ("images", "local_images") for _ in list_of(payload.get(key))]
    yield prompt_event(reading, line, "event", text, pictures)


def agent_message(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The answer as it was shown."""
    yield answered(reading, line, "event", text_of(payload.get("message")), scalars_of({"phase": payload.get("phase")}))


def agent_reasoning(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A section of a summary, or raw thoughts of a model that does not hide them."""
    yield thought(reading, line, "event", text_of(payload.get("text")), {})


def token_count(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The tokens of the response that has just ended. It is told again without being another."""
    info = dict_of(payload.get("info"))
    data = {"type": "token_count"} | scalars_of({"model_context_window": info.get("model_context_window")})
    if limits := payload.get("rate_limits"):
        data["rate_limits"] = bounded(limits, len(line.raw))
    if payload.get("info") and not info.keys() & {"total_token_usage", "last_token_usage"} or "info" not in payload:
        yield reading.unknown(line, "token_count in a shape that no version of Codex writes")
    elif usage := reading.totals.usage_of_step(payload):
        model = text_of(info.get("model"))[:200] or reading.facts.model
        yield line.event("model_request", actor=reading.agent, usage=usage, request=line.key, model=model, data=data)
    else:
        yield line.event("system", data=data | ({"repeated": True} if info else {}))


def turn_ended(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A turn is over, well or with an error."""
    data = {"type": payload["type"]} | scalars_of(payload, COMMON | {"last_agent_message"})
    failure = payload.get("error")
    text = text_of(dict_of(failure).get("message")) or text_of(failure)
    yield line.event("error" if failure else "system", text, data=data)


def interrupted(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A person stopped the turn, took turns back, or undid the changes of one."""
    data = {"type": payload["type"]} | scalars_of(payload, COMMON | {"message"})
    yield line.event("status", text_of(payload.get("message")), actor=("person", ""), data=data)


def failure(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """An error of the API or of Codex."""
    data = {"type": payload["type"]} | scalars_of(payload, COMMON | {"message"})
    yield line.event("error", text_of(payload.get("message")), data=data)


def ended(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """How a call ended. In code mode one call runs several tools, which have no items of their own."""
    call_id = id_of(payload.get("call_id")) or id_of(payload.get("callId")) or id_of(payload.get("id"))
    call = reading.calls.get(call_id)
    facts = outcome_of(payload)
    if call and call_id:
        reading.outcomes[call_id] = facts
        forget_oldest(reading.outcomes, OUTCOMES)
    text = "" if call else _result_text(payload)
    about = {"type": payload["type"]} | facts | _subject(payload)
    yield line.event("system", text, parent=call.key if call else None, data=about)


def file_change(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Files as a patch changed them, as one unified diff."""
    call_id = id_of(payload.get("call_id")) or id_of(payload.get("id"))
    call = reading.calls.get(call_id)
    changes = dict_of(payload.get("changes"))
    if call_id and reading.said.repeats_other_side(payload["type"], "patch", call_id):
        yield line.event("system", data={"type": payload["type"], "repeated": True})
        return
    data = {"type": payload["type"], "path": next(iter(changes), "")[:1000], "paths": list(changes)[:200]}
    data |= scalars_of({"success": payload.get("success"), "status": payload.get("status")})
    text = "".join(unified(path, dict_of(change)) for path, change in changes.items())
    parent = call.key if call else None
    yield line.event("file_change", text[:FIELD_LIMIT], actor=reading.agent, parent=parent, data=data)


def guardian(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The verdict of the model that reviews a call in a person's place."""
    call_id, action = id_of(payload.get("target_item_id")), dict_of(payload.get("action"))
    call = reading.calls.get(call_id)
    decision = GUARDIAN.get(text_of(payload.get("status")))
    data = {"type": "guardian_assessment"} | scalars_of(payload, COMMON | {"target_item_id", "rationale"})
    name = (call.name if call else "") or text_of(action.get("tool_name")) or text_of(action.get("type"))
    server = text_of(action.get("server"))[:200] or None
    tool = ToolDraft(call_id, name[:200] or None, server, bounded(action, len(line.raw)) or None)
    parent, why = call.key if call else None, text_of(payload.get("rationale"))
    if decision:
        data |= {"decision": decision, "by": "guardian", "inferred": False}
        reading.decided = call_id
        yield line.event("approval", why, parent=parent, tool=tool, data=data)
    else:
        yield line.event("system", why, parent=parent, tool=tool, data=data)


def asked(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A person was asked to allow a call, or to answer a question."""
    call_id = id_of(payload.get("call_id"))
    call = reading.calls.get(call_id)
    words = " ".join(text_of(word) for word in list_of(payload.get("command")))
    questions = (text_of(dict_of(one).get("question")) for one in list_of(payload.get("questions")))
    text = "\n".join(filter(None, questions)) or text_of(payload.get("reason")) or words
    tool = ToolDraft(call_id, call.name if call else None)
    data = {"type": "requested", "event": payload["type"]} | scalars_of(payload, COMMON)
    yield line.event("approval", text, tool=tool, parent=call.key if call else None, data=data)


def review_ended(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A code review and what it found."""
    review = dict_of(payload.get("review_output"))
    data = {"type": payload["type"], "review": bounded(review, len(line.raw))}
    yield line.event("artifact", text_of(review.get("overall_explanation")), actor=reading.agent, data=data)


def named(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """The session got a name."""
    reading.facts.title = text_of(payload.get("thread_name")) or reading.facts.title
    yield line.event("system", reading.facts.title, data={"type": payload["type"]})


def sub_agent(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Another agent was started, asked, waited for or closed; its own file has its session."""
    call = reading.calls.get(payload.get("call_id") or payload.get("id"))
    child = next((payload[name] for name in CHILDREN if payload.get(name)), None)
    child = next(iter(child), None) if isinstance(child, list) else child
    data = {"type": payload["type"]} | scalars_of(payload, COMMON | {"prompt"}) | scalars_of({"child_session": child})
    yield line.event("system", text_of(payload.get("prompt")), parent=call.key if call else None, data=data)


def goal(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """A goal that the session works towards over many turns."""
    goal_object = dict_of(payload.get("goal"))
    yield line.event(
        "system", text_of(goal_object.get("objective")), data={"type": payload["type"]} | scalars_of(goal_object)
    )


def setting_event(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterator[EventDraft]:
    """Event of a setting or a stage: its scalars are all its content."""
    settings = scalars_of(dict_of(payload.get("thread_settings")))
    yield line.event("system", data={"type": payload["type"]} | scalars_of(payload, COMMON) | settings)


def item_completed(reading: RolloutReading, line: Line, payload: dict[str, Any]) -> Iterable[EventDraft]:
    """A repeat of an item in the words of the app server; only plans stand nowhere else and become events."""
    item = dict_of(payload.get("item"))
    kind = text_of(item.get("type"))
    texts = [text for block in blocks_of(item.get("content")) if (text := block_text(block))]
    if kind == "UserMessage":
        return [prompt_event(reading, line, "completed", "\n\n".join(texts), [])]
    if kind == "AgentMessage":
        return [answered(reading, line, "completed", "\n\n".join(texts), scalars_of({"phase": item.get("phase")}))]
    if kind == "Reasoning":
        parts = [text_of(text) for key in ("summary_text", "raw_content") for text in list_of(item.get(key))]
        return [thought(reading, line, "completed", "\n\n".join(parts), {} if any(parts) else {"not_recorded": True})]
    if kind == "Plan":
        return [answered(reading, line, "completed", text_of(item.get("text")), {"type": "plan"})]
    if kind == "FileChange":
        return file_change(reading, line, item)
    if kind == "HookPrompt":
        told = "\n\n".join(text_of(dict_of(part).get("text")) for part in list_of(item.get("fragments")))
        return [line.event("injected_context", told, data={"type": "hook_prompt"})]
    if kind in ("CollabAgentToolCall", "SubAgentActivity"):
        return sub_agent(reading, line, item)
    if kind == "ContextCompaction":
        return [line.event("system", data={"type": kind, "repeated": True})]
    if kind in ENDED:
        return ended(reading, line, item)
    return [reading.unknown(line, f"completed item {kind[:100]!r}")]


def outcome_of(payload: dict[str, Any]) -> dict[str, Any]:
    """Exit code, duration in milliseconds and status of a call; its output does not always have them."""
    facts = scalars_of(
        {key: payload.get(key) for key in ("exit_code", "status", "success", "saved_path", "process_id")}
    )
    result = payload.get("result")
    if isinstance(result, dict):
        failed = "Err" in result or dict_of(result.get("Ok")).get("isError") is True or result.get("isError") is True
        facts["success"] = not failed
    if duration := dict_of(payload.get("duration")):
        seconds, nanos = duration.get("secs"), duration.get("nanos")
        if isinstance(seconds, int) and isinstance(nanos, int):
            facts["duration_ms"] = seconds * 1000 + nanos // 1_000_000
    return facts


def unified(path: str, change: dict[str, Any]) -> str:
    """One file of a patch with the two lines that name it."""
    kind, content = change.get("type"), text_of(change.get("content"))
    after = text_of(change.get("move_path")) or path
    if kind in ("add", "delete"):
        lines = content.removesuffix("\n").split("\n") if content else []
        mark, span = ("+", f"-0,0 +1,{len(lines)}") if kind == "add" else ("-", f"-1,{len(lines)} +0,0")
        body = f"@@ {span} @@\n" + "".join(f"{mark}{line}\n" for line in lines)
    else:
        body = text_of(change.get("unified_diff"))
    return f"--- {_named('a', path)}\n+++ {_named('b', after)}\n{body.removesuffix(NEWLINE)}\n"


HANDLERS: dict[str, ItemHandler] = {
    "user_message": user_message,
    "agent_message": agent_message,
    "agent_reasoning": agent_reasoning,
    "agent_reasoning_raw_content": agent_reasoning,
    "token_count": token_count,
    **dict.fromkeys(("task_complete", "turn_complete"), turn_ended),
    **dict.fromkeys(("turn_aborted", "thread_rolled_back", "undo_completed"), interrupted),
    **dict.fromkeys(("error", "stream_error"), failure),
    **dict.fromkeys(
        ("exec_command_end", "mcp_tool_call_end", "web_search_end", "view_image_tool_call", "image_generation_end",
         "dynamic_tool_call_request", "dynamic_tool_call_response"), ended),
    "patch_apply_end": file_change,
    "guardian_assessment": guardian,
    **dict.fromkeys(("exec_approval_request", "apply_patch_approval_request", "request_user_input"), asked),
    "exited_review_mode": review_ended,
    "thread_name_updated": named,
    "thread_goal_updated": goal,
    **dict.fromkeys(
        ("collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end", "collab_close_end",
         "collab_resume_end", "sub_agent_activity"), sub_agent),
    **dict.fromkeys(
        ("task_started", "turn_started", "context_compacted", "entered_review_mode", "thread_settings_applied",
         "warning", "guardian_warning", "background_event", "deprecation_notice", "model_reroute", "plan_update",
         "turn_diff", "exec_command_begin", "mcp_tool_call_begin", "web_search_begin", "patch_apply_begin",
         "exec_command_output_delta", "session_configured", "shutdown_complete", "conversation_path",
         "get_history_entry_response", "mcp_list_tools_response", "list_custom_prompts_response",
         "elicitation_request", "realtime_conversation_closed"),
        setting_event,
    ),
    "item_completed": item_completed,
}  # fmt: skip


def _named(side: str, path: str) -> str:
    """The path as a diff names it: absolute as it is, relative behind ``a/`` or ``b/``."""
    return path if path.startswith("/") else f"{side}/{path}"


def _subject(payload: dict[str, Any]) -> dict[str, Any]:
    """Subject of a call that has no item."""
    told = scalars_of(payload, COMMON | PAYLOADS)
    command = [text_of(word)[:1000] for word in list_of(payload.get("command"))[:50]]
    invocation = scalars_of(dict_of(payload.get("invocation")))
    return told | invocation | ({"command": command} if command else {})


def _result_text(payload: dict[str, Any]) -> str:
    result = dict_of(payload.get("result"))
    texts = [block_text(block) for block in blocks_of(dict_of(result.get("Ok", result)).get("content"))]
    return (
        text_of(payload.get("aggregated_output"))
        or "\n".join(filter(None, texts))
        or text_of(result.get("Err"))
        or text_of(payload.get("error"))
        or "\n".join(filter(None, (text_of(payload.get("stdout")), text_of(payload.get("stderr")))))
    )[:FIELD_LIMIT]
