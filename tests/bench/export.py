"""Export and verification of a long audit log: records a second, and the memory that they take.

The case is made by the program's own commit code. Both are measured in a process of their own, one after the other.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.case.export import export_audit
from engine.case.reader import CaseReader
from engine.case.verify import verify_file
from tests.bench.bulk import bulk_session, write_bulk
from tests.bench.programs import python_module, run_program
from tests.bench.tables import megabytes, table

_CHARS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One of the steps."""

    step: str
    """`commit`, `export` or `verify`."""
    records: int
    time_s: float
    cpu_s: float
    records_per_s: float
    peak_rss_bytes: int


def measure(pages: int, *, say: Callable[[str], None] = print) -> tuple[Step, ...]:
    """Make a case of so many pages, export its log and verify the export.

    Raises:
        ProgramError: When one of them fails, or the export is not verified.
    """
    with tempfile.TemporaryDirectory(prefix="sluicegate-bench-") as home:
        steps = []
        for step in ("commit", "export", "verify"):
            ended = run_program(python_module("export", step, home, "--pages", str(pages)))
            report = ended.report
            steps.append(
                Step(
                    step=step,
                    records=report["records"],
                    time_s=report["time_s"],
                    cpu_s=report["cpu_s"],
                    records_per_s=report["records"] / report["time_s"],
                    peak_rss_bytes=ended.rss.tree,
                )
            )
            say(f"{step}: {steps[-1].records:,} records, {steps[-1].time_s:.2f} s")
    return tuple(steps)


def lines(steps: tuple[Step, ...]) -> Iterator[str]:
    """Yield the table."""
    rows = [
        (
            step.step,
            f"{step.records:,}",
            f"{step.time_s:.2f}",
            f"{step.cpu_s:.2f}",
            f"{step.records_per_s:,.0f}",
            megabytes(step.peak_rss_bytes),
        )
        for step in steps
    ]
    yield from table(("step", "records", "time (s)", "CPU (s)", "records/s", "peak RSS (MB)"), rows)


async def _commit(home: Path, pages: int) -> int:
    session = bulk_session(home / "cases" / "bench.sluice", home, chars=_CHARS)
    source = write_bulk(home / "source", pages)
    try:
        summary = await session.run([source])
    finally:
        await session.close()
    if not summary.counts.reconciled or summary.counts.pages.extracted != pages:
        raise SystemExit(f"The case holds {summary.counts.pages.extracted} of {pages} pages.")
    return summary.counts.audit_records


def _export(home: Path) -> int:
    with CaseReader(home / "cases" / "bench.sluice") as reader:
        records, head = export_audit(reader, home / "audit.jsonl")
    (home / "head").write_text(head)
    return records


def _verify(home: Path) -> int:
    report = verify_file(home / "audit.jsonl", expect_head=(home / "head").read_text())
    if not report.ok:
        raise SystemExit(" ".join(report.problems))
    return report.records


def main() -> None:
    """Do one step and print what it took; the time of imports is not in it."""
    parser = argparse.ArgumentParser(description="One step of the export's benchmark")
    parser.add_argument("step", choices=("commit", "export", "verify"))
    parser.add_argument("home", type=Path)
    parser.add_argument("--pages", type=int, required=True)
    given = parser.parse_args()
    started_s, cpu_s = time.perf_counter(), time.process_time()
    match given.step:
        case "commit":
            records = asyncio.run(_commit(given.home, given.pages))
        case "export":
            records = _export(given.home)
        case _:
            records = _verify(given.home)
    report: dict[str, Any] = {
        "records": records,
        "time_s": time.perf_counter() - started_s,
        "cpu_s": time.process_time() - cpu_s,
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
