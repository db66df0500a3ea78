"""A system that refuses threads: told before anything is begun, and never the end of a run."""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine import Directories, FlowLimits, RunState, Settings, open_case
from engine.errors import MachineError
from tests.support import pdfs

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks for stacks that Linux is known to refuse")


@contextmanager
def no_more_threads() -> Iterator[None]:
    """Let the system refuse every further thread of this process: none finds room for so large a stack."""
    before = threading.stack_size(1 << 47)
    try:
        yield
    finally:
        threading.stack_size(before)


async def test_a_case_is_not_begun_without_its_threads(tmp_path: Path) -> None:
    """One sentence, no file, no lock, no thread left; and it opens as soon as there is room."""
    case, places = tmp_path / "case.sluice", Directories.below(tmp_path / "places")
    before = threading.active_count()
    with no_more_threads(), pytest.raises(MachineError, match=r"Nothing was begun.*limits for processes"):
        await open_case(case, request_id="r", settings=Settings(), directories=places)
    assert not os.listdir(tmp_path)  # noqa: PTH208  # blocks as little as a test may
    assert threading.active_count() == before
    session = await open_case(case, request_id="r", settings=Settings(), directories=places)
    await session.close()


@pytest.mark.one_loop("asyncio")
async def test_a_run_needs_no_thread_but_those_of_its_workers(tmp_path: Path) -> None:
    """While the system refuses them it waits and says so; then it goes on, and exports need none either."""
    folder = tmp_path / "in"
    pdfs.batch(folder, documents=2, pages_each=1)
    settings, places = Settings(flow=FlowLimits.build(workers=1)), Directories.below(tmp_path / "places")
    session = await open_case(tmp_path / "case.sluice", request_id="r", settings=settings, directories=places)
    try:
        async with asyncio.TaskGroup() as tasks:
            with no_more_threads():
                running = tasks.create_task(session.run([folder]))
                while "refused another thread" not in session.snapshot().trouble:
                    await asyncio.sleep(0.01)
        summary = running.result()
        assert (summary.state, summary.counts.documents.extracted) == (RunState.FINISHED, 2)
        with no_more_threads():
            await session.export_audit(tmp_path / "log.jsonl")
            await session.export_text(tmp_path / "texts")
    finally:
        await session.close()
