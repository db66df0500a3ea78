"""The test harness itself: coroutine tests really run, on both loops."""

import asyncio


async def test_a_coroutine_test_runs_on_the_loop_that_it_names(loop_name: str) -> None:
    """Each coroutine test is run once on the standard loop and once on qasync."""
    await asyncio.sleep(0)
    assert type(asyncio.get_running_loop()).__module__.startswith("qasync" if loop_name == "qasync" else "asyncio")
