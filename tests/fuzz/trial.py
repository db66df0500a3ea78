"""One batch of broken documents through the real program, and whether it kept its promises.

Covers starting the program on a folder, reading its case, and checking: no crash, no hang, no fault of ours in its log,
every document and every page accounted for exactly once, a chain that verifies, sources as they were, no process left
over. How the documents are broken is the business of `mutants`, what is told of it that of `tables`.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.verify import verify_file
from engine.errors import EngineError
from engine.models.outcome import Outcome, Reason
from tests.fuzz.mutants import Mutant
from tests.support.pdfs import put
from tests.support.runs import records_of

ROOT = Path(__file__).resolve().parents[2]
LIMITS = (
    *("--workers", "2", "--start-clock", "60s", "--open-clock", "4s", "--page-clock", "2s", "--document-clock", "10s"),
    *("--worker-address-space", "1G", "--worker-kill-rss", "384M", "--worker-max-text", "1M"),
)
"""Short clocks and small workers: what a mutant wants for ever, it is refused soon."""
_TERMINAL = frozenset({Outcome.EXTRACTED, Outcome.DEAD_LETTER, Outcome.DUPLICATE})
_BURIAL_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of one document."""

    path: str
    outcome: str
    reason: str | None
    pages: Counter[str]
    """How many pages had each outcome; dead ones by their reason."""
    strikes: Counter[str]
    """How often a try on it, or on one of its pages, ended a worker, by reason."""


@dataclass(slots=True, kw_only=True)
class Trial:
    """What a batch showed."""

    broken: list[str] = field(default_factory=list)
    """The promises that were not kept, in words."""
    guilty: set[str] = field(default_factory=set)
    """Names of the files that these are about, where they are about some."""
    fates: list[Fate] = field(default_factory=list)
    main_rss_bytes: int = 0
    """Most memory of the main process."""
    elapsed_s: float = 0.0

    def blame(self, path: str, words: str) -> None:
        """Note a promise that was not kept for one file."""
        self.broken.append(f"{path}: {words}")
        self.guilty.add(path)


def tried(mutants: Sequence[Mutant], place: Path) -> Trial:
    """Run the program over a batch.

    Args:
        mutants: The documents.
        place: An empty folder for the documents and everything that the program writes; it is left empty.
    """
    folder = place / "in"
    folder.mkdir(parents=True)
    hashes = {}
    for mutant in mutants:
        put(folder / mutant.name, mutant.data)
        hashes[mutant.name] = hashlib.sha256(mutant.data).hexdigest()
    trial = Trial()
    if run_program(trial, folder, place, hang_s=60.0 + 10.0 * len(mutants)):
        check_records(trial, records_of(place / "case.sluice"), hashes)
        _check_chain(trial, place)
    for name, sha256 in hashes.items():
        if not (folder / name).exists() or hashlib.sha256((folder / name).read_bytes()).hexdigest() != sha256:
            trial.blame(name, "the source is not what it was")
    if sorted(hashes) != sorted(path.name for path in folder.iterdir()):
        trial.broken.append("there are other files in the source than before")
    shutil.rmtree(place)
    return trial


def narrowed(mutants: Sequence[Mutant], place: Path) -> Sequence[Mutant]:
    """Return as few of the documents of a batch that breaks a promise as still break one."""
    halves = (mutants[: len(mutants) // 2], mutants[len(mutants) // 2 :])
    for half in halves if len(mutants) > 1 else ():
        if tried(half, place).broken:
            return narrowed(half, place)
    return mutants


def run_program(trial: Trial, folder: Path, place: Path, *, hang_s: float) -> bool:
    """Run the program, and return whether it left a case to look at."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= {"PYTHONPATH": str(ROOT), "HOME": str(place / "home")}
    command = [sys.executable, "-X", "faulthandler", "-m", "engine.terminal", "run", str(folder), *LIMITS]
    command += ["--case", str(place / "case.sluice"), "--request-id", "fuzz", "--quiet", "--json"]
    with subprocess.Popen(
        command,
        env=environment,
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=hang_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # it then says where it hangs
            _, errors = process.communicate()
            trial.broken.append(f"the program did not end within {hang_s:.0f} s: {errors[-2000:]}")
            return False
    if left := list(_heirs(process.pid)):
        trial.broken.append(f"worker processes are left over: {left}")
    faults = [line for path in place.rglob("terminal.log*") for line in path.read_text().splitlines()]
    trial.broken += [f"the program reported a fault: {line[:2000]}" for line in faults]
    if process.returncode not in {0, 1} or errors:
        trial.broken.append(f"the program ended with {process.returncode}: {errors[-2000:]}")
        return False
    summary = json.loads(output)
    trial.main_rss_bytes = summary["peak_rss_bytes"]["main"]
    trial.elapsed_s = summary["elapsed_s"]
    if not summary["reconciled"]:
        trial.broken.append("the case does not reconcile")
    return True


def _heirs(pid: int) -> Iterator[int]:
    """Yield the workers that a process that has ended left behind."""
    mark = f'"parent_pid": {pid},'
    found = []
    for process in psutil.process_iter():
        try:
            if any(mark in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:  # it has just gone
            continue
    _, left = psutil.wait_procs(found, timeout=_BURIAL_S)
    yield from (process.pid for process in left)


def check_records(trial: Trial, records: Sequence[dict[str, Any]], hashes: Mapping[str, str]) -> None:
    """Check that every document and every page has exactly one terminal record, and the document the right hash.

    Args:
        trial: Where to note what is wrong, and what became of each document.
        records: All records of the case.
        hashes: The documents' hashes, by name.
    """
    documents = [record for record in records if record["event"] == "DOCUMENT"]
    pages = _by_document(record for record in records if record["event"] in _TERMINAL)
    retries = _by_document(record for record in records if record["event"] == "RETRY")
    met = Counter(record["path"] for record in documents)
    for name in {*hashes, *met}:
        if met[name] != 1 or name not in hashes:
            trial.blame(name, f"has {met[name]} records")
    for record in documents:
        own = pages.pop(record["doc_id"], [])
        for words in _faults(record, own, hashes.get(record["path"], "")):
            trial.blame(record["path"], words)
        trial.fates.append(_fate(record, own, retries.get(record["doc_id"], [])))
    if pages:
        trial.broken.append(f"there are records of pages of no document: {sorted(pages)}")


def _by_document(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        found.setdefault(record["doc_id"], []).append(record)
    return found


def _faults(record: dict[str, Any], pages: list[dict[str, Any]], sha256: str) -> Iterator[str]:
    """Yield what is wrong with the records of a document and its pages."""
    count, met = record["page_count"] or 0, sorted(page["page"] for page in pages)
    if met != list(range(1, count + 1)):
        yield f"has {count} pages, and records of the pages {met}"[:300]
    if record["doc_sha256"] not in {sha256, None} or (count and record["doc_sha256"] is None):
        yield "has another hash"
    reasons = {record.get("reason"), *(page.get("reason") for page in pages)}
    if Reason.INTERNAL_ERROR in reasons:
        yield "is said to have met a fault of ours"
    if any(reason.blames_source for reason in Reason if reason in reasons):
        yield f"is said to have been away or unreadable: {reasons}"


def _fate(record: dict[str, Any], pages: Iterable[dict[str, Any]], retries: Iterable[dict[str, Any]]) -> Fate:
    words = Counter(page.get("reason") or page["event"] for page in pages)
    tries = [retry["reason"] for retry in retries]
    # A page's last try has no retry of its own; nor has that of a document that never opened.
    tries += list(words.elements()) if words else [record.get("reason")]
    ends = {reason.value for reason in Reason if reason.ends_worker}
    return Fate(
        path=record["path"],
        outcome=record["outcome"],
        reason=record.get("reason"),
        pages=words,
        strikes=Counter(word for word in tries if word in ends),
    )


def _check_chain(trial: Trial, place: Path) -> None:
    try:
        with CaseFile.open(place / "case.sluice") as case, case.reader() as reader:
            _, head = export_audit(reader, place / "audit.jsonl")
    except EngineError as error:
        trial.broken.append(f"the log cannot be exported: {error}")
        return
    report = verify_file(place / "audit.jsonl", expect_head=head)
    trial.broken += [f"the log does not verify: {problem}" for problem in report.problems]
