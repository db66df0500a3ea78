"""What a run leaves in memory: nothing once its case is closed or the next run has begun, however many there were."""

import gc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine import Directories, FlowLimits, Session, Settings, open_case, usual_parts
from tests.support import pdfs
from tests.support.runs import write_documents
from tests.support.scripted_extractor import ScriptedExtractor

SETTINGS = Settings(flow=FlowLimits.build(workers=1, max_queue=64))


@pytest.fixture(autouse=True)
def _no_collection_by_chance() -> Iterator[None]:
    """Leave it to the program to look for leftovers."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def engine_objects() -> Counter[str]:
    """Count what the engine's classes, and the event loop's own for it, have in memory."""
    kinds = (type(thing) for thing in gc.get_objects())
    return Counter(kind.__qualname__ for kind in kinds if kind.__module__.startswith(("engine.", "asyncio.locks")))


async def opened(tmp_path: Path, name: str, *, scripted: bool) -> Session:
    """Open a new case."""
    parts = usual_parts()
    if scripted:
        parts = replace(parts, extractor=lambda _settings: ScriptedExtractor())
    places = Directories.below(tmp_path / "places")
    case = tmp_path / f"{name}.sluice"
    return await open_case(case, request_id=name, settings=SETTINGS, directories=places, parts=parts)


@pytest.mark.parametrize("scripted", [True, False], ids=["scripted", "real workers"])
async def test_a_closed_case_leaves_nothing_of_its_run(tmp_path: Path, *, scripted: bool) -> None:
    """After the second case, its session still at hand, there are as many objects of each kind as after the first."""
    if scripted:
        write_documents(tmp_path / "in", [3, 200])
    else:
        pdfs.batch(tmp_path / "in", 2, 3)
    left = []
    for name in ("first", "second"):
        session = await opened(tmp_path, name, scripted=scripted)
        summary = await session.run([tmp_path / "in"])
        assert summary.counts.reconciled
        assert engine_objects()["Run"] == 1
        await session.close()
        assert (session.state, session.snapshot().counts) == (summary.state, summary.counts)
        left.append(engine_objects())
    assert left[1] == left[0]
    assert not left[0].keys() & {"Run", "Stage", "CommitLane", "MetricSample", "WorkerPool", "DocumentTimes"}


async def test_a_second_run_of_a_case_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    """While the second run goes on, the first is not in memory any more; and its charts' figures are the second's."""
    session = await opened(tmp_path, "case", scripted=True)
    await session.run([write_documents(tmp_path / "in", [3])])
    first = session.metrics
    await session.run()
    assert session.metrics is not first
    assert engine_objects()["Run"] == 1
    await session.close()
    assert engine_objects()["Run"] == 0
