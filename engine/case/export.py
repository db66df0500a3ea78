"""Export of the audit log: the header and every record, byte for byte as they were written, to a file of its own.

The file appears under its name only when it is complete and on disk. Whether the log is in itself sound is checked
while it is written only as far as its end is concerned; `verify` checks all of it, from the file.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from engine.case.audit import digest
from engine.case.parts import new_part
from engine.case.reader import CaseReader
from engine.case.storage import REPAIR, shown, sync_folder
from engine.case.targets import check_target
from engine.case.verify import verify_file
from engine.errors import CaseDamagedError, ExportError
from engine.models.run import ExportReport, VerifyReport

_LINES_A_WRITE: Final = 500


def export_audit(reader: CaseReader, out: Path) -> tuple[int, str]:
    """Write the audit log as of now; what is recorded meanwhile is not in it.

    Args:
        reader: The case.
        out: The file to write; an ordinary file that is there is replaced, unless it is a document of the case.

    Returns:
        The number of records, and the SHA-256 of the last line.

    Raises:
        ExportError: When it could not be written; what stood under that name, if anything, still does.
        CaseDamagedError: When the log in the case is not complete; then nothing is exported.
    """
    return _export(reader, out, lambda _written: None)


def export_verified(reader: CaseReader, out: Path, *, as_it_is: bool = False) -> ExportReport:
    """Write the audit log as of now, and verify the file before it takes its name.

    Args:
        reader: The case.
        out: The file to write; an ordinary file that is there is replaced, unless it is a document of the case.
        as_it_is: Whether a log that does not verify is written all the same; the report then says so.

    Raises:
        ExportError: When it could not be written; what stood under that name, if anything, still does.
        CaseDamagedError: When the log does not verify; then nothing is exported.
    """
    found: list[VerifyReport] = []

    def check(written: Path) -> None:
        report = verify_file(written)
        if not (report.ok or as_it_is):
            raise _does_not_verify(reader.path, report)
        found.append(report)

    records, head = _export(reader, out, check)
    return ExportReport(path=out, records=records, head=head, verified=found[0])


def _does_not_verify(case: Path, report: VerifyReport) -> CaseDamagedError:
    more = f" ({len(report.problems) - 1:,} more)" if len(report.problems) > 1 else ""
    return CaseDamagedError(
        f"The audit log of {shown(case)} does not verify, so that nothing was exported. {report.problems[0]}{more} The "
        f"case was damaged, or somebody changed it: {REPAIR}. As evidence of what it is, the log can be exported with "
        "--as-it-is in the terminal; it will not verify for anybody else either."
    )


def _export(reader: CaseReader, out: Path, check: Callable[[Path], object]) -> tuple[int, str]:
    counts = reader.counts()
    with _new_file(out, reader, check) as file:
        records, last = 0, reader.identity.line
        file.write(last + b"\n")
        lines = reader.audit_lines(last=counts.audit_records)
        while group := list(islice(lines, _LINES_A_WRITE)):
            records += len(group)
            last = group[-1]
            group.append(b"")
            file.write(b"\n".join(group))
        head = digest(last)
        if (records, head) != (counts.audit_records, counts.audit_head):
            raise CaseDamagedError(
                f"The audit log of {shown(reader.path)} is not complete: {records:,} of {counts.audit_records:,} "
                "records were found, or the last one was changed. Nothing was exported. Open the case again to have "
                "it checked."
            )
    return records, head


@contextmanager
def _new_file(out: Path, reader: CaseReader, check: Callable[[Path], object]) -> Iterator[BinaryIO]:
    """Give a file beside `out` that takes its name when the block ends without error, and is removed otherwise.

    Args:
        out: The name that it takes; nothing is written where it must not take that.
        reader: The case.
        check: Called with the complete file before it takes that name; what it raises keeps it from doing so.
    """
    try:
        check_target(out, reader)
        temporary = new_part(out.parent)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            with os.fdopen(handle, "wb", buffering=1 << 20) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            check(temporary)
            temporary.replace(out)
            sync_folder(out.absolute().parent)
        except BaseException:  # whatever ends it: no part stays behind
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ExportError(
            f"{shown(out)} could not be written ({error.strerror}). Nothing new stands under that name. Choose another "
            "place, or make room there."
        ) from error
