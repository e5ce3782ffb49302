"""Tool calls of a session sorted: the whole order over its pages, each call once, whatever it is sorted by."""

from __future__ import annotations

import pytest

from sessions_app.models import Session
from sessions_app.queries.log import call_order
from sessions_app.queries.log.call_order import Order, OrderedCalls
from sessions_app.queries.log.lenses import CallFilter

from ..build import Page, asked, call, path_of, priced, result, session_with

COUNT = 30


@pytest.fixture
def busy(agent) -> Session:
    """Calls of three tools, some failed, some without result, of many lengths, a few with a price."""
    lines = [asked("p", "Go")]
    for number in range(COUNT):
        name, key = ("Bash", "Edit", "Read")[number % 3], f"c{number}"
        about = {"command": f"make {number % 5}"} if name == "Bash" else {"file_path": f"src/{number % 7}.py"}
        cost = priced(f"0.0{number % 4 + 1}", f"r{number}", output_tokens=5) if number % 2 else {}
        lines.append(call(key, name, about, number * 20, **cost))
        if number % 6:
            lines.append(result(key, "done", "error" if number % 5 == 0 else "ok", number * 20 + number % 9))
    return session_with(agent, lines)


def places(session: Session, order: Order) -> list:
    every = order.sorted(order.placed(CallFilter().narrowed(session.pk), session.pk))
    return list(every.values_list("seq", "place"))


@pytest.mark.parametrize("name", [f"{sign}{by}" for by in call_order.SORTS for sign in ("", "-")])
def test_pages_of_an_order_hold_every_call_once_forwards_and_backwards(busy, monkeypatch, name):
    monkeypatch.setattr(call_order, "ROWS", 7)
    order = Order.named(name)
    assert order and str(order) == name
    expected = [seq for seq, _ in places(busy, order)]
    values = [place for _, place in places(busy, order)]
    assert len(expected) == COUNT and values == sorted(values, reverse=order.down)
    calls = OrderedCalls(busy.pk, CallFilter(), order)
    window, forwards = calls.after(0), []
    while True:
        forwards += [entry.seq for entry in window.entries]
        if not window.later:
            break
        window = calls.after(forwards[-1])
    assert forwards == expected
    backwards, first = [], expected[-1]
    while True:
        window = calls.before(first)
        backwards = [entry.seq for entry in window.entries] + backwards
        first = backwards[0]
        if not window.earlier:
            break
    assert backwards == expected[:-1]
    middle = calls.around(expected[10])
    assert [entry.seq for entry in middle.entries] == expected[10:17] and middle.earlier and middle.later


def test_what_is_unknown_comes_last_either_way(busy):
    for name in ("took", "-took"):
        seqs = [seq for seq, _ in places(busy, Order.named(name))]
        took = dict(CallFilter().narrowed(busy.pk).values_list("seq", "ended_at"))
        assert [took[seq] for seq in seqs[-COUNT // 6 :]] == [None] * (COUNT // 6)


def test_the_order_stands_in_the_address_with_the_filter_and_its_heads_turn_it_round(busy, viewer):
    base = path_of(busy)
    page = Page(viewer.get(f"{base}?lens=tools&tool=Edit&sort=-took").content)
    heads = [link["href"] for link in page.all("a") if "sort=" in (link.get("href") or "")]
    assert f"{base}?tool=Edit&lens=tools&sort=took" in heads, "the same once more turns it round"
    assert f"{base}?tool=Edit&lens=tools&sort=-cost" in heads
    assert page.all("input", name="sort", value="-took"), "filtering keeps the order"
    assert not page.all("div", id="tail"), "new calls are not put at the end of another order"
    expected = OrderedCalls(busy.pk, CallFilter(name="Edit"), Order("took", True)).after(0)
    rows = [int(found["data-seq"]) for found in page.all("div", role="row")]
    assert rows == [entry.seq for entry in expected.entries] and len(rows) == COUNT // 3


@pytest.mark.parametrize("asked_for", ["sort=weight", "sort=-", "sort=--took", "lens=raw&sort=took"])
def test_an_order_that_is_none_changes_nothing(busy, viewer, asked_for):
    page = Page(viewer.get(f"{path_of(busy)}?lens=tools&{asked_for}").content)
    assert page.seqs == sorted(page.seqs) and page.seqs
