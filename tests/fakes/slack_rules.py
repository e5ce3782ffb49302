"""What Slack takes as blocks of a message and as a modal, as docs.slack.dev/reference says."""

from __future__ import annotations

from typing import Any

MOST_SECTION, MOST_VALUE, MOST_LABEL = 3_000, 2_000, 75
MOST_TITLE, MOST_METADATA, MOST_INPUT = 24, 3_000, 3_000


def is_block(block: dict[str, Any]) -> bool:
    """Whether a message takes it; the kinds that the desk sends, and no others."""
    if block["type"] == "section":
        return 0 < len(block["text"]["text"]) <= MOST_SECTION
    if block["type"] == "context":
        return all(0 < len(element["text"]) <= MOST_SECTION for element in block["elements"])
    if block["type"] != "actions":
        return False
    names = [element["action_id"] for element in block["elements"]]
    return (
        1 <= len(names) <= 25
        and len(set(names)) == len(names)
        and all(
            len(e.get("value", "")) <= MOST_VALUE
            and len(e["text"]["text"]) <= MOST_LABEL
            and e["text"]["type"] == "plain_text"
            and e.get("style") in (None, "primary", "danger")
            and e.get("url", "https://").startswith(("https://", "http://"))
            and ("confirm" not in e or _is_confirmation(e["confirm"]))
            for e in block["elements"]
        )
    )


def _is_confirmation(asked: dict[str, Any]) -> bool:
    """docs.slack.dev/reference/block-kit/composition-objects/confirmation-dialog-object."""
    most = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
    return set(asked) - {"style"} == set(most) and all(_is_plain(asked[name], length) for name, length in most.items())


def is_modal(view: dict[str, Any]) -> bool:
    """As docs.slack.dev/reference/views says: titles and buttons are short plain text, and inputs want a button."""
    labels = [view.get("title"), view.get("submit"), view.get("close")]
    inputs = [block for block in view.get("blocks", []) if block["type"] == "input"]
    return (
        view.get("type") == "modal"
        and view.get("title") is not None
        and all(one is None or _is_plain(one, MOST_TITLE) for one in labels)
        and len(view.get("private_metadata", "")) <= MOST_METADATA
        and len(view.get("callback_id", "")) <= 255
        and 1 <= len(view.get("blocks", [])) <= 100
        and (not inputs or view.get("submit") is not None)
        and all(_is_input(block) if block["type"] == "input" else is_block(block) for block in view["blocks"])
    )


def _is_input(block: dict[str, Any]) -> bool:
    element = block["element"]
    return (
        _is_plain(block["label"], 2_000)
        and element["type"] == "plain_text_input"
        and 1 <= element.get("max_length", MOST_INPUT) <= MOST_INPUT
        and set(element) <= {"type", "action_id", "multiline", "max_length", "min_length", "initial_value"}
    )


def _is_plain(text: dict[str, Any], most: int) -> bool:
    return text.get("type") == "plain_text" and 0 < len(text["text"]) <= most
