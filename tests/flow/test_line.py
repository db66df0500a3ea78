"""The line: order, waking, leaving, closing."""

import asyncio

import pytest

from engine.flow.line import FlowClosed, Line
from tests.support.flow import cancelled, settle


class Stock:
    """A number of things to take, with a line for them."""

    def __init__(self) -> None:
        self.left = 0
        self.taken: list[str] = []
        self.line = Line(lambda weight: weight <= self.left)

    def add(self, number: int) -> None:
        """Put things into stock."""
        self.left += number
        self.line.nudge()

    async def take(self, name: str, weight: int) -> None:
        """Take things out, in line."""

        def then() -> None:
            self.left -= weight
            self.taken.append(name)

        await self.line.wait(weight, then)


async def test_the_head_is_served_first_even_where_a_later_one_would_fit() -> None:
    """A light request does not overtake a heavy one in front of it."""
    stock = Stock()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(stock.take("heavy", 5))
        tasks.create_task(stock.take("light", 1))
        await settle()
        stock.add(4)
        tasks.create_task(stock.take("late", 1))
        await settle()
        assert stock.taken == []
        stock.add(3)
    assert stock.taken == ["heavy", "light", "late"]
    assert stock.left == 0


async def test_one_delivery_serves_all_that_it_is_enough_for() -> None:
    """Whoever leaves wakes the next one, so that one nudge is enough for several."""
    stock = Stock()
    async with asyncio.TaskGroup() as tasks:
        for name in "abcd":
            tasks.create_task(stock.take(name, 1))
        await settle()
        stock.add(4)
    assert stock.taken == list("abcd")


@pytest.mark.parametrize("leaver", [0, 1, 2])
async def test_whoever_is_cancelled_leaves_the_others_in_order(leaver: int) -> None:
    """Cancelling the head, the middle or the end of a line takes nothing and blocks nobody."""
    stock = Stock()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(stock.take(name, 1)) for name in "abc"]
        await settle()
        await cancelled(waiting[leaver])
        assert len(stock.line) == 2
        stock.add(2)
    assert stock.taken == [name for number, name in enumerate("abc") if number != leaver]


async def test_a_head_that_is_cancelled_after_it_was_woken_passes_the_turn_on() -> None:
    """A wake that reaches a cancelled task is not lost, and that task has taken nothing."""
    stock = Stock()
    async with asyncio.TaskGroup() as tasks:
        head = tasks.create_task(stock.take("head", 1))
        tasks.create_task(stock.take("next", 1))
        await settle()
        stock.add(1)
        await cancelled(head)
    assert stock.taken == ["next"]


async def test_cancelling_a_heavy_head_lets_light_ones_pass() -> None:
    """When the one that blocked the line leaves, what is there goes to the next at once."""
    stock = Stock()
    async with asyncio.TaskGroup() as tasks:
        heavy = tasks.create_task(stock.take("heavy", 9))
        tasks.create_task(stock.take("light", 1))
        await settle()
        stock.add(1)
        await settle()
        assert stock.taken == []
        await cancelled(heavy)
    assert stock.taken == ["light"]


async def test_closing_turns_everybody_away_now_and_later() -> None:
    """A closed line serves nobody, even where there is enough."""
    stock = Stock()
    waiting = [asyncio.ensure_future(stock.take(name, 1)) for name in "ab"]
    await settle()
    stock.left = 5
    stock.line.close()
    await asyncio.wait(waiting)
    assert [type(task.exception()) for task in waiting] == [FlowClosed, FlowClosed]
    with pytest.raises(FlowClosed):
        await stock.take("c", 1)
    assert stock.taken == []
    assert repr(stock.line) == "<Line 0 waiting, closed>"
