"""The slot: what a worker writes is what the parent reads, and nothing that a worker does to it harms the parent."""

import os
import sys

import pytest

from engine.work.slot import Mark, Phase, Slot, SlotFile

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the slot is a named section there")


def worker_end(file: SlotFile) -> Slot:
    """Map the slot as a worker does, in this process."""
    return Slot.inherited(f"fd:{os.dup(file.inherited_fds[0])}")


def test_each_step_is_seen_and_differs_from_the_one_before() -> None:
    """The parent sees phase and page, and a repeated step as something new."""
    file = SlotFile()
    slot = worker_end(file)
    assert file.read() == Mark()
    slot.step(Phase.PAGE, 7)
    first = file.read()
    slot.step(Phase.PAGE, 7)
    second = file.read()
    file.close()
    assert (first.phase, first.page) == (second.phase, second.page) == (Phase.PAGE, 7)
    assert first != second


def test_the_largest_page_number_and_a_turn_that_overflows_are_kept_apart() -> None:
    """Neither a page number of 32 bits nor a turn beyond 24 bits spills into the other fields."""
    file = SlotFile()
    slot = worker_end(file)
    slot._turn = (1 << 24) - 1
    slot.step(Phase.PAGE, (1 << 32) - 1)
    mark = file.read()
    file.close()
    assert mark == Mark(turn=0, phase=Phase.PAGE, page=(1 << 32) - 1)


def test_a_slot_that_the_worker_shortened_reads_as_empty() -> None:
    """Truncating the file under the parent's nose neither kills it nor raises."""
    file = SlotFile()
    worker_end(file).step(Phase.PAGE, 3)
    os.ftruncate(file.inherited_fds[0], 0)
    assert file.read() == Mark()
    file.close()
    assert file.read() == Mark()
