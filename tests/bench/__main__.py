"""The benchmark's command line: `python -m tests.bench [PART] [OPTIONS]`, or `make bench`.

Prints a table and writes all figures as JSON. Nothing here judges a figure: what is fast enough is for people to say.
"""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.settings import Settings
from engine.version import __version__
from tests.bench import documents, enumeration, export, fairness, large, memory, scale, start, tables, throughput
from tests.bench.programs import ProgramError

Measured = tuple[Any, Iterable[str]]
"""The figures, as records, and the lines of their table."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure one thing, print its table and write its figures."""
    given = _parser().parse_args(arguments)
    out: Path = given.out or documents.usual_place() / f"{given.part}.json"
    try:
        result, lines = given.measure(given)
    except ProgramError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.writelines(["\n", *(f"{line}\n" for line in lines)])
    write(out, given.part, result)
    if given.part == "memory":
        out.with_suffix(".svg").write_text(memory.picture(result), encoding="utf-8")
    sys.stdout.write(f"\nAll figures: {out}\n")
    return 0


def write(out: Path, part: str, result: Any) -> None:
    """Write figures as JSON, with what is needed to compare them with others."""
    figures = {
        "benchmark": part,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "version": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": Settings().flow.workers,
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "result": asdict(result) if is_dataclass(result) and not isinstance(result, type) else [*map(asdict, result)],
    }
    out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _throughput(given: argparse.Namespace) -> Measured:
    if given.folder is not None:
        folder = given.folder.expanduser()
    else:
        folder = documents.collection(_small_office() if given.quick else _office()).folder
    work = throughput.Work.over(folder, workers=given.workers)
    pairs = 1 if given.quick else given.pairs
    result = throughput.measure(work, pairs=pairs, parts=given.only or throughput.PARTS, profile=given.profile)
    return result, tables.of_throughput(result)


def _enumeration(given: argparse.Namespace) -> Measured:
    result = enumeration.measure(given.files, workers=given.workers, flat=given.flat)
    return result, enumeration.lines(result)


def _fairness(given: argparse.Namespace) -> Measured:
    result = fairness.measure(given.small, given.huge, workers=given.workers, pairs=given.pairs)
    return result, fairness.lines(result)


def _export(given: argparse.Namespace) -> Measured:
    result = export.measure(given.records)
    return result, export.lines(result)


def _memory(given: argparse.Namespace) -> Measured:
    result = memory.measure(given.pages, from_page=given.from_page, workers=given.workers, plan=_office())
    return result, memory.lines(result)


def _start(given: argparse.Namespace) -> Measured:
    result = start.measure(pairs=given.pairs)
    return result, start.lines(result)


def _large(given: argparse.Namespace) -> Measured:
    result = large.measure(pages=given.pages, picture_pages=given.megabytes, workers=given.workers)
    return result, large.lines(result)


def _scale(given: argparse.Namespace) -> Measured:
    result = scale.measure(given.files)
    return result, scale.lines(result)


def _office() -> tuple[documents.Planned, ...]:
    return documents.office(400, 15_000, longest=5_000)


def _small_office() -> tuple[documents.Planned, ...]:
    return documents.office(6, 60, longest=40)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)

    def add(name: str, measure: Any, words: str) -> argparse.ArgumentParser:
        part = parts.add_parser(name, help=words, description=words)
        part.set_defaults(measure=measure)
        part.add_argument("--out", type=Path, help="where the figures go, as JSON")
        part.add_argument("--workers", type=int, default=Settings().flow.workers)
        return part

    main_part = add("throughput", _throughput, "Pages a second: bare script, without and with window, pdftotext.")
    main_part.add_argument("--folder", type=Path, help="documents to read; the default is a generated set")
    main_part.add_argument("--pairs", type=int, default=5, help="turns of all parts")
    main_part.add_argument("--only", nargs="+", choices=throughput.PARTS, help="only these parts")
    main_part.add_argument("--profile", action="store_true", help="show where the main process spends its time")
    main_part.add_argument("--quick", action="store_true", help="one turn over a tiny set: does it work at all?")

    part = add("enumeration", _enumeration, "Very many files: first page, listing, memory, resume.")
    part.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000], help="numbers of files")
    part.add_argument("--flat", action="store_true", help="all in one folder, instead of a thousand in each")

    part = add("fairness", _fairness, "One huge document among many small ones.")
    part.add_argument("--small", type=int, default=2_000, help="documents of one page")
    part.add_argument("--huge", type=int, default=20_000, help="pages of the huge one")
    part.add_argument("--pairs", type=int, default=3)

    part = add("export", _export, "Export and verification of a long audit log.")
    part.add_argument("--records", type=int, default=100_000, help="pages of the case; each is a record")

    part = add("memory", _memory, "How memory moves with the number of pages.")
    part.add_argument("--pages", type=int, default=200_000)
    part.add_argument("--from-page", type=int, default=20_000, help="where the slope begins")

    part = add("start", _start, "Start of the window, against importing Qt and pyqtgraph and one plot.")
    part.add_argument("--pairs", type=int, default=7)

    part = add("large", _large, "A document of very many pages, and one of very many bytes.")
    part.add_argument("--pages", type=int, default=50_000)
    part.add_argument("--megabytes", type=int, default=900)

    part = add("scale", _scale, "A very large case: open, resume, count, rows, export, verify.")
    part.add_argument("--files", type=int, default=1_000_000, help="documents, of three pages each")
    return parser


if __name__ == "__main__":
    sys.exit(main())
