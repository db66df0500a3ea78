"""Short ways to make facts, to read a case back, and to make a log that is wrong in one way."""

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from engine.case.casefile import CaseFile
from engine.case.chaincheck import ChainCheck
from engine.case.schema import MIGRATIONS, apply_steps
from engine.case.storage import connect_writer, has_log, transaction
from engine.models.document import Failure, FoundFile, PageResult, PageUnit, Probe
from engine.models.facts import DocumentFailed, DocumentProbed, FilesFound, PageRetried, PagesDone, Receipt, WorkSlow
from engine.models.outcome import Method, Outcome, Reason, SkipReason

ROOT = b"/in"


def found(*names: str | bytes, root: bytes = ROOT, size: int = 100, mtime: int = 5) -> FilesFound:
    """Files of these names were found."""
    return FilesFound(files=tuple(file(name, root=root, size=size, mtime=mtime) for name in names))


def file(
    name: str | bytes, *, root: bytes = ROOT, size: int = 100, mtime: int = 5, skip: SkipReason | None = None
) -> FoundFile:
    """One file was found."""
    raw = name if isinstance(name, bytes) else name.encode()
    return FoundFile(root=root, path=raw, size_bytes=size, mtime_ns=mtime, skip=skip)


def sha(content: str) -> str:
    """Return the SHA-256 of some content."""
    return hashlib.sha256(content.encode()).hexdigest()


def probed(doc_id: int, content: str | None = None, pages: int = 1, **others: Any) -> DocumentProbed:
    """A document was looked into; its content is its own unless told otherwise."""
    values = {"size_bytes": 100, "mtime_ns": 5, "repaired": False} | others
    return DocumentProbed(
        doc_id=doc_id, probe=Probe(sha256=sha(content or f"document {doc_id}"), page_count=pages, **values)
    )


def extracted(page: int, text: str | None = None, **others: Any) -> PageResult:
    """A page was extracted."""
    written = f"text of page {page}" if text is None else text
    values = {"method": Method.TEXT if written else Method.BLANK, "dur_ms": 3} | others
    return PageResult(page=page, outcome=Outcome.EXTRACTED, text=written, **values)


def dead(page: int, reason: Reason = Reason.CORRUPT_PAGE, **others: Any) -> PageResult:
    """A page is a dead letter."""
    failure = others.pop("failure", Failure(reason=reason))
    return PageResult(page=page, outcome=Outcome.DEAD_LETTER, method=Method.NONE, failure=failure, **others)


def done(doc_id: int, *results: PageResult | int) -> PagesDone:
    """Pages are done; a bare number is an extracted page."""
    return PagesDone(
        doc_id=doc_id, results=tuple(extracted(result) if isinstance(result, int) else result for result in results)
    )


def failed(doc_id: int, reason: Reason = Reason.NOT_A_PDF, attempt: int = 1) -> DocumentFailed:
    """A document cannot be processed."""
    return DocumentFailed(doc_id=doc_id, failure=Failure(reason=reason), attempt=attempt)


def retried(doc_id: int, page: int | None, reason: Reason = Reason.WORKER_CRASHED, attempt: int = 1) -> PageRetried:
    """A page or a document is going to be tried again."""
    return PageRetried(doc_id=doc_id, page=page, failure=Failure(reason=reason), attempt=attempt)


def commit_all(case: CaseFile, *facts: Any) -> Receipt:
    """Commit each fact in a transaction of its own; return the last receipt."""
    receipt = Receipt(counts=case.counts())
    for fact in facts:
        receipt = case.commit([fact])
    return receipt


def records(case: CaseFile) -> list[dict[str, Any]]:
    """Return all audit records."""
    with case.reader() as reader:
        return [json.loads(line) for line in reader.audit_lines()]


def outcomes(case: CaseFile) -> set[tuple[str, int, str, str]]:
    """Return what must be the same however a run was disturbed: document, page, outcome, hash of the text."""
    return {
        (record["doc_id"], record["page"], record["event"], record["text_sha256"])
        for record in records(case)
        if "text_sha256" in record
    }


def without_guard(path: Path, change: Callable[[apsw.Connection], object], *, triggers: Sequence[str] = ()) -> None:
    """Change a closed case file behind the program's back, the named triggers taken off and put back.

    Args:
        path: The case file.
        change: What to do.
        triggers: Names of triggers that stand in the way.
    """
    connection = apsw.Connection(str(path))
    if has_log(path):  # it stays, as the crash that left it would want
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        taken = []
        for name in triggers:
            query = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?"
            taken.append(connection.execute(query, (name,)).get)
            connection.execute(f"DROP TRIGGER {name}")
        change(connection)
        for statement in taken:
            connection.execute(statement)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
    finally:
        connection.close()


def with_log(path: Path, change: Callable[[apsw.Connection], object]) -> None:
    """Change a closed case file, and leave the change in the file and in a write-ahead log, as a crash does."""
    connection = apsw.Connection(str(path))
    try:
        change(connection)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    finally:
        connection.close()


def rechained(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines of a log numbered and linked anew, as somebody would who wants a change to go unnoticed."""
    result = [lines[0]]
    last_of: dict[str, str] = {}
    root = hashlib.sha256(lines[0]).hexdigest()
    for line in lines[1:]:
        fields = json.loads(line)
        fields["seq"] = len(result)
        fields["prev"] = hashlib.sha256(result[-1]).hexdigest()
        if fields["event"] == "CHECKPOINT":
            fields |= {"count": len(result) - 1, "head": fields["prev"]}
        if "doc_id" in fields:
            fields["doc_prev"] = last_of.get(fields["doc_id"], root)
        written = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        if "doc_id" in fields:
            last_of[fields["doc_id"]] = hashlib.sha256(written).hexdigest()
        result.append(written)
    return result


def slow(doc_id: int, page: int | None) -> WorkSlow:
    """A page or a document has been in work for long."""
    return WorkSlow(doc_id=doc_id, page=page)


def killed(case: CaseFile, name: str = "killed.sluice") -> Path:
    """Return a copy of an open case as it would lie there, had its process been killed now: log and lock included."""
    copy = case.path.with_name(name)
    for suffix in ("", "-wal", ".lock"):
        shutil.copy(f"{case.path}{suffix}", f"{copy}{suffix}")
    return copy


def struck(case: CaseFile) -> dict[tuple[int, int], int]:
    """Return what has strikes and no terminal record, and how many; page 0 stands for a whole document."""
    rows = case.strikes(PageUnit(doc_id=0, page=0), 1000)
    return {(row.unit.doc_id, row.unit.page): row.count for row in rows}


def first_version(path: Path) -> None:
    """Turn a closed case into the file that the first version of the tables would have had with the same content."""
    whole = path.with_name(path.name + ".whole")
    path.rename(whole)
    connection = connect_writer(path)
    try:
        with transaction(connection):
            apply_steps(connection, MIGRATIONS[:1])
        connection.execute("ATTACH ? AS whole", (str(whole),))
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        with transaction(connection):
            for name in tables:
                connection.execute(f"INSERT INTO main.{name} SELECT * FROM whole.{name}")  # noqa: S608  # our own tables
    finally:
        connection.close()
    whole.unlink()


class OneByOne(ChainCheck):
    """Takes every line of a log in the general way, which knows nothing of lines that look alike."""

    def _take(self, text: bytes, hashes: Sequence[bytes]) -> None:
        for line, line_hash in zip(text.split(b"\n")[:-1], hashes, strict=True):
            self._take_one(line, line_hash)


class Together(ChainCheck):
    """Counts how many lines of a log were taken one by one."""

    singles = 0

    def _take_one(self, line: bytes, line_hash: bytes) -> None:
        self.singles += 1
        super()._take_one(line, line_hash)
