"""Chats with edits and second answers: what was said last is the path, what was left are branches."""

from __future__ import annotations

from vcon_app.formats.common.tree import LOST, Node, walk


def order(*nodes: tuple[str, str | None], current: str | None = None) -> list[tuple[str, str]]:
    built = [Node(id, parent, None, float(index)) for index, (id, parent) in enumerate(nodes)]
    return [(node.id, branch) for node, branch in walk(built, current)]


def test_without_links_everything_is_on_the_path() -> None:
    assert order(("a", None), ("b", None)) == [("a", ""), ("b", "")]


def test_an_answer_that_was_left_comes_before_the_one_that_was_gone_on_with() -> None:
    told = order(("a", None), ("new", "a"), ("old", "a"), ("more", "old"), ("last", "new"), current="last")
    assert told == [("a", ""), ("old", "old"), ("more", "old"), ("new", ""), ("last", "")]


def test_branches_of_a_branch_keep_the_name_of_the_place_where_it_left() -> None:
    told = order(("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "b"), current="c")
    assert told == [("a", ""), ("b", "b"), ("d", "b"), ("e", "b"), ("c", "")]


def test_going_on_and_branching_again_only_add_at_the_end() -> None:
    first = order(("a", None), ("b", "a"), ("c", "b"), current="c")
    longer = order(("a", None), ("b", "a"), ("c", "b"), ("d", "c"), current="d")
    edited = order(("a", None), ("b", "a"), ("c", "b"), ("d", "a"), ("e", "d"), current="e")
    assert [id for id, _ in longer][:3] == [id for id, _ in edited][:3] == [id for id, _ in first]


def test_without_a_current_message_the_deepest_newest_leaf_is_the_end() -> None:
    told = dict(order(("a", None), ("b", "a"), ("c", "b"), ("d", "b"), ("short", "a")))
    assert told == {"a": "", "short": "short", "b": "", "c": "c", "d": ""}


def test_a_message_whose_parent_is_missing_is_a_branch() -> None:
    assert order(("a", None), ("b", "a"), ("x", "gone"), current="b") == [("x", "x"), ("a", ""), ("b", "")]


def test_circles_end_and_are_reported() -> None:
    told = order(("a", None), ("b", "a"), ("x", "y"), ("y", "x"), current="b")
    assert told == [("a", ""), ("b", ""), ("x", LOST), ("y", LOST)]
    assert order(("x", "x"), current="x") == [("x", LOST)]


def test_a_chat_of_many_thousand_messages_is_no_recursion() -> None:
    chain = [(str(n), str(n - 1) if n else None) for n in range(20_000)]
    assert len(order(*chain, current="19999")) == 20_000
