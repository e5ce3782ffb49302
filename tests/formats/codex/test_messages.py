"""Who said what, told once: Codex writes most texts for the model and again for the screen."""

from __future__ import annotations

from typing import Any

import pytest

from ..checks import events, findings
from .lines import drafts, event, item, line, said


@pytest.mark.parametrize(
    "lines",
    [
        [said("user", "Prune."), event("user_message", message="Prune.")],
        [event("user_message", message="Prune."), said("user", "Prune.")],
        [said("assistant", "Prune."), event("agent_message", message="Prune.")],
        [
            event("agent_reasoning", text="**One**"),
            event("agent_reasoning", text="**Two**"),
            item(
                "reasoning",
                summary=[{"type": "summary_text", "text": "**One**"}, {"type": "summary_text", "text": "**Two**"}],
            ),
        ],
    ],
)
def test_repeated_words_are_marked_and_not_said_again(lines: list[dict[str, object]]) -> None:
    found = events(drafts(*lines))[1:]
    assert [bool(event.text) for event in found] == [True] * (len(lines) - 1) + [False]
    assert found[-1].kind == "system" and found[-1].data["repeated"] is True


def test_the_same_words_in_another_turn_are_said_again() -> None:
    twice = [said("user", "Go on."), event("user_message", message="Go on.")] * 2
    assert [found.kind for found in events(drafts(*twice))[1:]] == ["user_message", "system"] * 2


def test_a_completed_item_repeats_both() -> None:
    done = event("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "Done."}]})
    found = events(drafts(said("assistant", "Done."), event("agent_message", message="Done."), done))
    assert [event.kind for event in found[1:]] == ["agent_message", "system", "system"]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("<environment_context>\n  <cwd>/srv</cwd>\n</environment_context>", "environment_context"),
        ("<user_instructions>\nBe brief.\n</user_instructions>", "user_instructions"),
        ("# AGENTS.md instructions for /srv\n\n<INSTRUCTIONS>", "AGENTS.md"),
        ("<turn_aborted>\nThe user stopped it.", "turn_aborted"),
        ("<subagent_notification>\n{}", "subagent_notification"),
    ],
)
def test_messages_injected_by_codex_start_no_turn(text: str, tag: str) -> None:
    for found in (events(drafts(said("user", text))), events(drafts(event("user_message", message=text)))):
        assert (found[1].kind, found[1].data["type"], found[1].text) == ("injected_context", tag, text)


def test_a_persons_own_tags_are_a_persons_words() -> None:
    assert events(drafts(said("user", "<context>Look here.</context>")))[1].kind == "user_message"


def test_context_and_prompt_of_one_message_are_told_apart() -> None:
    found = events(drafts(said("user", "<environment_context>x</environment_context>", "Prune.", "And graft.")))[1:]
    assert [(event.kind, event.text) for event in found][1:] == [("user_message", "Prune.\n\nAnd graft.")]
    assert len({event.key for event in found}) == 2


def test_encrypted_thoughts_say_so() -> None:
    found = events(drafts(item("reasoning", summary=[], encrypted_content="gAAA")))[1]
    assert (found.kind, found.text, found.data) == ("reasoning", "", {"encrypted": True})


def test_pictures_are_told_without_their_bytes() -> None:
    picture = {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}
    message = item("message", role="user", content=[picture, {"type": "input_text", "text": "This one."}])
    assert events(drafts(message))[1].data["attachments"] == [
        {"type": "input_image", "media_type": "image/png", "bytes": 3}
    ]


def test_messages_between_agents_are_handed_over() -> None:
    sealed = {"type": "encrypted_content", "encrypted_content": "gAAA"}
    message = item("agent_message", author="root", recipient="scout", content=[sealed])
    found = events(drafts(message))[1]
    assert (found.kind, found.data["recipient"], found.data["encrypted"]) == ("handoff", "scout", True)


def test_a_compaction_tells_what_it_kept() -> None:
    found = events(drafts(line("compacted", message="Pears were pruned.", replacement_history=[{}, {}])))[1]
    assert (found.kind, found.text, found.data["replacement_history"]) == ("compaction", "Pears were pruned.", 2)


def test_an_error_of_a_turn_is_an_error() -> None:
    found = events(drafts(event("task_complete", turn_id="t", error={"message": "overloaded"}, duration_ms=4)))[1]
    assert (found.kind, found.text, found.data["duration_ms"]) == ("error", "overloaded", 4)


COMPLETED: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "HookPrompt", "fragments": [{"text": "Be kind"}]}, "injected_context", "Be kind"),
    ({"type": "CollabAgentToolCall", "prompt": "Look", "receiverThreadIds": ["b"]}, "system", "Look"),
    ({"type": "SubAgentActivity", "agentThreadId": "b"}, "system", ""),
    ({"type": "ImageGeneration", "status": "completed", "result": "AAAA"}, "system", ""),
    ({"type": "ContextCompaction"}, "system", ""),
    ({"type": "CommandExecution", "command": ["ls"], "stdout": "linseed"}, "system", "linseed"),
]


@pytest.mark.parametrize(("given", "kind", "text"), COMPLETED)
def test_completed_items_are_told_in_their_words(given: dict[str, Any], kind: str, text: str) -> None:
    found = drafts(event("item_completed", item={"id": "i", **given}))
    assert [(one.kind, one.text) for one in events(found)[1:]] == [(kind, text)] and not findings(found)


def test_what_a_person_was_asked_in_an_early_rollout_is_told() -> None:
    asked = event("exec_approval_request", call_id="c1", command=["rm", "saw"], reason="It deletes")
    found = drafts(asked, event("request_user_input", call_id="q", questions=[{"id": "a", "question": "Which saw?"}]))
    assert [(one.kind, one.text) for one in events(found)[1:]] == [
        ("approval", "It deletes"), ("approval", "Which saw?"),
    ]  # fmt: skip
    assert not findings(found)
