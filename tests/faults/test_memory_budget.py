"""A batch of pages that want all memory, where there is little of it: no page takes the program with it."""

import json
from pathlib import Path

import pytest

from engine.models.outcome import Reason
from engine.settings import MIB
from tests.faults import program
from tests.faults.injection import control_group, needs_group
from tests.support import pdfs
from tests.support.runs import golden_set, records_of

LIMIT_BYTES = 512 * MIB


@needs_group("memory")
@pytest.mark.slow
@pytest.mark.fault(3)
@pytest.mark.parametrize("bombs", [2, pytest.param(3, marks=pytest.mark.whole)])
def test_hostile_pages_in_half_a_gigabyte_never_meet_the_out_of_memory_killer(tmp_path: Path, bombs: int) -> None:
    """The budget follows the group's limit: such pages are dead letters, the others are read, and nothing is killed."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    pdfs.batch(folder, documents=4, pages_each=5, seed=4)
    for number in range(bombs):
        pdfs.memory_bomb_pdf(folder / f"bomb{number}.pdf", pages=3, bad_page=2, seed=number)
    with control_group("memory", memory__limit_in_bytes=LIMIT_BYTES) as group:
        enter = ("sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh")
        code, said = program.ending(program.start(case, folder, tmp_path, ("--page-clock", "20s"), prefix=enter))
        assert code == 1, said
        control = dict(line.split() for line in (group / "memory.oom_control").read_text().splitlines())
        most_bytes = int((group / "memory.max_usage_in_bytes").read_text())
    assert control["oom_kill"] == "0"
    assert most_bytes < LIMIT_BYTES
    program.assert_sound(case)
    dead = {(record["reason"], record["page"]) for record in records_of(case) if record["event"] == "DEAD_LETTER"}
    assert dead == {(Reason.MEMORY_LIMIT, 2)}
    assert sum(outcome == "EXTRACTED" for _, page, outcome, _ in golden_set(case) if page) == 20 + 2 * bombs
    (started,) = [record for record in records_of(case) if record["event"] == "RUN_STARTED"]
    assert json.loads(started["settings"])["memory"]["budget_bytes"] is None
