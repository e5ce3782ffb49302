"""Messages in forms that OpenCode had before and will have, as the message and parts of today.

Before 0.6 a message held its parts and, under ``metadata``, what stands beside it now (``message.ts``). Its next store
has one row a message in ``session_message``, with what was said and called in one list (``session-message.ts``).
"""

from __future__ import annotations

from typing import Any

from ..common.values import dict_of, list_of, text_of

Record = dict[str, Any]
STATES = {"result": "completed", "call": "running", "partial-call": "pending"}
SYNTHETIC = ("synthetic", "system", "skill", "agent-switched", "model-switched")
"""Types of rows that the program wrote itself."""


def is_older(value: Record) -> bool:
    """A message of the first form."""
    about = dict_of(value.get("metadata"))
    return isinstance(about.get("sessionID"), str) and "role" in value and isinstance(value.get("parts"), list)


def of_older(value: Record) -> Record:
    """A message of the first form as message and parts."""
    about = dict_of(value.get("metadata"))
    told = dict_of(about.get("assistant"))
    info = {
        "id": value.get("id"), "sessionID": about.get("sessionID"), "role": value.get("role"),
        "time": dict_of(about.get("time")), "error": about.get("error"), **told,
    }  # fmt: skip
    return _message(info, [_older_part(dict_of(part), about) for part in value["parts"]])


def _older_part(part: Record, about: Record) -> Record:
    call = dict_of(part.get("toolInvocation"))
    if part.get("type") != "tool-invocation":
        return {**part, "mime": part.get("mediaType", part.get("mime"))} if part.get("type") == "file" else part
    beside = dict_of(dict_of(about.get("tool")).get(text_of(call.get("toolCallId"))))
    state = {
        "status": "error" if beside.get("error") is True else STATES.get(text_of(call.get("state"))),
        "input": call.get("args"), "title": beside.get("title"), "time": beside.get("time"),
        "output": call.get("result"), "metadata": {key: beside[key] for key in ("exit", "stderr") if key in beside},
    }  # fmt: skip
    return {"type": "tool", "callID": call.get("toolCallId"), "tool": call.get("toolName"), "state": state}


def of_row(row: Record, data: Record) -> Record:
    """A row of ``session_message`` as message and parts."""
    kind = text_of(row.get("type"))
    model = dict_of(data.get("model"))
    info = {
        **{key: data.get(key) for key in ("agent", "cost", "tokens", "error", "finish", "time") if key in data},
        "id": row.get("id"), "sessionID": row.get("session_id"), "modelID": model.get("id"),
        "providerID": model.get("providerID"), "role": "assistant" if kind == "assistant" else "user",
    }  # fmt: skip
    return _message(info, _parts(kind, data))


def _parts(kind: str, data: Record) -> list[Record]:
    if kind == "assistant":
        return [_content(dict_of(item)) for item in list_of(data.get("content"))]
    text = {"type": "text", "text": data.get("text")}
    if kind == "user":
        return [text, *({"type": "file", **_file(dict_of(file))} for file in list_of(data.get("files")))]
    if kind == "compaction":
        return [{"type": "compaction", "auto": data.get("reason") == "auto", "summary": data.get("summary")}]
    if kind == "shell":
        shell, output = dict_of(data.get("shell")), data.get("output")
        said = output if isinstance(output, str) else dict_of(output).get("text", dict_of(output).get("output"))
        state = {"status": "completed", "input": {"command": shell.get("command", data.get("command"))}, "output": said}
        return [{"type": "tool", "tool": "shell", "callID": shell.get("id", data.get("callID")), "state": state}]
    if kind in SYNTHETIC:
        name = data.get("name") or data.get("agent") or dict_of(data.get("model")).get("id")
        return [{**text, "text": data.get("text") or name, "synthetic": True}]
    return [{"type": kind, **data}]


def _content(item: Record) -> Record:
    if item.get("type") != "tool":
        return item
    state = dict_of(item.get("state"))
    blocks = [dict_of(block) for block in list_of(state.get("content"))]
    texts = [text for block in blocks if (text := text_of(block.get("text")))]
    told = {
        **state, "output": "\n".join(texts), "error": dict_of(state.get("error")).get("message"),
        "metadata": state.get("structured"), "time": _times(dict_of(item.get("time"))),
        "attachments": [*map(_file, map(dict_of, list_of(state.get("attachments")))),
                        *(_file(block) for block in blocks if block.get("type") == "file")],
    }  # fmt: skip
    return {"id": item.get("id"), "type": "tool", "callID": item.get("id"), "tool": item.get("name"), "state": told}


def _times(stated: Record) -> Record:
    return {"start": stated.get("ran", stated.get("created")), "end": stated.get("completed")}


def _file(file: Record) -> Record:
    return {"mime": file.get("mime"), "url": file.get("uri", file.get("url")), "filename": file.get("name")}


def _message(info: Record, parts: list[Record]) -> Record:
    """Parts get ids of their own: what is said twice is said twice."""
    numbered = [{**part, "id": f"{info.get('id')}:{index}"} for index, part in enumerate(parts)]
    return {"info": {key: value for key, value in info.items() if value is not None}, "parts": numbered}
