"""Callers take turns: who sends more than others waits in a queue of their own."""

from __future__ import annotations

import asyncio

import pytest

from config.web import gate as gates
from config.web.gate import Full, Gate


async def enter_all(gate: Gate, callers: str) -> list[asyncio.Task]:
    tasks = [asyncio.create_task(gate.enter(caller)) for caller in callers]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return tasks


def inside(tasks) -> int:
    return sum(task.done() for task in tasks)


def test_a_caller_has_a_few_places_and_others_have_the_rest():
    async def run():
        gate = Gate(at_once=4, each=2)
        greedy = await enter_all(gate, "a" * 50)
        others = await enter_all(gate, "bc")
        return inside(greedy), inside(others)

    assert asyncio.run(run()) == (2, 2)


def test_places_that_become_free_go_around():
    async def run():
        gate, order = Gate(at_once=1, each=1), []

        async def work(caller):
            leave = await gate.enter(caller)
            order.append(caller)
            await asyncio.sleep(0)
            leave()

        await asyncio.gather(*(work(caller) for caller in "aaaaabc"))
        return order, gate

    order, gate = asyncio.run(run())
    assert order.index("b") < 3 and order.index("c") < 4
    assert (gate.free, gate.waiting, gate.at_work, gate.queues) == (1, 0, {}, {})


def test_leaving_twice_is_leaving_once():
    async def run():
        gate = Gate(at_once=2)
        leave = await gate.enter("a")
        leave()
        leave()
        return gate.free

    assert asyncio.run(run()) == 2


def test_a_queue_has_an_end():
    async def run():
        gate = Gate(at_once=1, each=1, waiting_each=3)
        tasks = await enter_all(gate, "aaaa")
        with pytest.raises(Full) as full:
            await gate.enter("a")
        others = await enter_all(gate, "b")
        (await tasks[0])()
        await asyncio.sleep(0)
        return full.value.of_caller, gate.waiting, inside(others)

    of_caller, waiting, _ = asyncio.run(run())
    assert of_caller and waiting <= 4


def test_a_stampede_pauses_while_others_ask_and_not_when_it_is_alone():
    """Two of its requests at work made every page take three times as long."""

    async def run(others: bool) -> tuple[int, float]:
        gate, at_once, most = Gate(at_once=8, each=2), 0, 0

        async def work():
            nonlocal at_once, most
            leave = await gate.enter("a")
            at_once += 1
            most = max(most, at_once)
            await asyncio.sleep(0.01)
            at_once -= 1
            leave()

        if others:
            (await gate.enter("b"))()
        began = asyncio.get_running_loop().time()
        tasks = [asyncio.create_task(work()) for _ in range(gates.STAMPEDE * 2)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        most = 0
        while gate.waiting > gates.STAMPEDE:
            await asyncio.sleep(0.001)
        seen, took = most, asyncio.get_running_loop().time() - began
        await asyncio.gather(*tasks)
        assert (gate.free, gate.waiting, gate.at_work, gate._pauses) == (8, 0, {}, {})
        return seen, took

    alone, beside = asyncio.run(run(False)), asyncio.run(run(True))
    assert beside[1] > 1.5 * alone[1]


def test_passwords_of_one_address_have_a_shorter_queue():
    async def run():
        gate = Gate(at_once=1, each=1)
        tasks = [asyncio.create_task(gate.enter("a", 2)) for _ in range(4)]
        await asyncio.sleep(0.01)
        refused = [task.exception().of_caller for task in tasks if task.done() and task.exception()]
        for task in tasks:
            task.cancel()
        return refused

    assert asyncio.run(run()) == [True]


def test_who_waits_too_long_is_told(monkeypatch):
    monkeypatch.setattr(gates, "WAIT_SECONDS", 0.05)

    async def run():
        gate = Gate(at_once=1, each=1)
        leave = await gate.enter("a")
        with pytest.raises(Full) as full:
            await gate.enter("b")
        leave()
        (await gate.enter("c"))()
        return full.value.of_caller, gate

    of_caller, gate = asyncio.run(run())
    assert (of_caller, gate.free, gate.waiting, gate.queues) == (False, 1, 0, {})


@pytest.mark.parametrize("pauses", [0, 1, 2, 3])
def test_a_request_that_is_given_up_keeps_no_place(pauses):
    """Whether it is still in the queue, or let in at the very moment."""

    async def run():
        gate = Gate(at_once=1, each=1)
        leave = await gate.enter("a")
        waiting = asyncio.create_task(gate.enter("b"))
        await asyncio.sleep(0)
        if pauses:
            leave()
        for _ in range(pauses - 1):
            await asyncio.sleep(0)
        waiting.cancel()
        given = (await asyncio.gather(waiting, return_exceptions=True))[0]
        leave()
        if callable(given):
            given()
        return gate

    gate = asyncio.run(run())
    assert (gate.free, gate.waiting, gate.at_work, gate.queues) == (1, 0, {}, {})
