"""Repair of a damaged case, into a new file: the damaged one is read and never written to.

The new case is the same case: its header and the records that are kept are the old ones, byte for byte, so that a log
that was exported before agrees with it as far as they go. What was done and cannot be kept is pending again, and a
resume does it again. That it was repaired, and how many records were left behind, is a record of its own
(`REPAIRED`), followed by a checkpoint that is kept elsewhere, too.

How the damaged file is read is the business of `rawrows` and `salvage`; what is kept, that of `rebuild`.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import apsw

from engine.case.casefile import CaseFile
from engine.case.chaincheck import ChainCheck
from engine.case.checkpoints import CheckpointKeeper
from engine.case.disks import require_local_disk
from engine.case.journal import Checkpoint
from engine.case.lock import CaseLock
from engine.case.lostfiles import LostFiles
from engine.case.parts import new_part
from engine.case.places import require_place
from engine.case.rawrows import RawRows
from engine.case.reader import CaseReader
from engine.case.rebuild import kept_records, rebuild
from engine.case.salvage import Salvage
from engine.case.soundness import is_sound, require_known
from engine.case.storage import shown, sync_folder
from engine.errors import CaseDamagedError, CaseError, CaseInUseError, StorageError
from engine.models.facts import Noted
from engine.models.run import Counts
from engine.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairReport:
    """What a repair kept and what it left behind."""

    path: Path
    """The new case."""
    counts: Counts
    """The new case as it is now."""
    kept: int
    """Audit records that were kept, as they were."""
    left: int
    """Audit records that the case once had, as far as anything tells, and that were not kept."""
    mended: int
    """Records and texts of which exactly one bit had turned, and was turned back; their hashes prove it."""
    sources: int
    """Folders and files that a resume looks through again."""


def repair(
    damaged: Path, out: Path, *, ledger: CheckpointKeeper | None = None, ignore_checkpoint: bool = False
) -> RepairReport:
    """Make a new case from what is left of a damaged one.

    Args:
        damaged: The damaged case; it is not changed.
        out: The new case; nothing may stand there.
        ledger: Where checkpoints were kept, to be compared with; the new case's is kept there.
        ignore_checkpoint: Whether a log that contradicts the last checkpoint is repaired all the same.

    Raises:
        CaseError: When nothing is wrong with the case, it cannot be read, or the new one cannot be written there.
        CaseInUseError: When another process has the damaged case open.
        CaseTooNewError: When a newer program wrote it.
        CaseDamagedError: When nothing can be made of it, or its log contradicts the last checkpoint.
        StorageError: When the new case's checkpoint could not be kept; then there is no new case.
    """
    require_place(damaged)
    if not damaged.exists():
        raise CaseError(f"There is no case at {shown(damaged)}. Check the name.")
    if os.path.lexists(out):
        raise CaseError(f"There is something at {shown(out)} already. Choose another name for the repaired case.")
    require_place(out)
    require_local_disk(out)
    try:
        with _kept_from_others(damaged), _parts(out) as (part, scratch), RawRows(damaged) as raw:
            require_known(damaged)
            if raw.is_log_whole and is_sound(damaged, ledger):
                raise CaseError(
                    f"Nothing is wrong with {shown(damaged)}: file, audit log, counters and texts were checked from "
                    "the first to the last. Nothing was done. Go on with it as it is."
                )
            case_id, report = _Repair(damaged, raw, ledger).into(part, scratch, compare=not ignore_checkpoint)
            part.rename(out)
            sync_folder(out.absolute().parent)
    except (OSError, apsw.Error) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise CaseError(
            f"{shown(damaged)} could not be repaired into {shown(out)} ({cause}). The damaged case is as it was. Check "
            "the disk, or choose another place for the new one."
        ) from error
    if ledger is not None:
        # Only now: a checkpoint of a case that is not there would make every other copy look like another one.
        try:
            ledger.keep(case_id, [Checkpoint(count=report.counts.audit_records, head=report.counts.audit_head)])
        except StorageError:
            out.unlink()
            raise
    return replace(report, path=out)


class _Repair:
    """One repair."""

    def __init__(self, damaged: Path, raw: RawRows, ledger: CheckpointKeeper | None) -> None:
        self._damaged = damaged
        self._raw = raw
        self._ledger = ledger

    def into(self, part: Path, scratch: apsw.Connection, *, compare: bool) -> tuple[str, RepairReport]:
        """Make the new case, complete and checked, under a name of its own; return which case it is, too."""
        found = Salvage.of(self._damaged, self._raw, scratch)
        point = None if self._ledger is None else self._ledger.last(found.identity.case_id)
        if point is not None:
            self._compare(found, point, refuse=compare)
        with scratch:
            files = LostFiles(found)
            kept = kept_records(found, files)
            rebuild(found, files, kept, part)
        left = max(found.known - kept, 0)
        with CaseFile.open(part) as case:
            case.commit([self._note(kept, left, found.mended)])
            report = RepairReport(
                path=part,
                counts=case.counts(),
                kept=kept,
                left=left,
                mended=found.mended,
                sources=case.counts().unfinished_sources,
            )
        self._check(part)
        return found.identity.case_id, report

    def _compare(self, found: Salvage, point: Checkpoint, *, refuse: bool) -> None:
        """Compare the log with the last checkpoint that was kept elsewhere, as far as it reaches."""
        found.known = max(found.known, point.count)
        if found.sound < point.count:
            return
        if found.head_at(point.count) != point.head and refuse:
            raise CaseDamagedError(
                f"The audit log of {shown(self._damaged)} is not the one that the last known checkpoint belongs to: "
                f"record {point.count:,} differs. Either the log was written anew, and repairing it would hide that; "
                "or it was repaired before, into another file. If you know that it was, repair it again with "
                "--ignore-checkpoint."
            )

    def _note(self, kept: int, left: int, mended: int) -> Noted:
        """Note what was done, so that whoever reads the log knows why it is shorter than one seen before."""
        return Noted(
            event="REPAIRED",
            fields={
                "version": __version__,
                "records_kept": kept,
                "records_left": left,
                "bits_mended": mended,
                "damaged_sha256": self._raw.digest(),
            },
            checkpoint=True,
        )

    def _check(self, part: Path) -> None:
        """Check the whole log of the new case as an outsider would."""
        with CaseReader(part) as reader:
            check = ChainCheck(reader.identity.line)
            for line in reader.audit_lines():
                check.take(line)
        if check.problems:
            raise CaseDamagedError(
                f"{shown(self._damaged)} could not be repaired: the records that are left contradict one another "
                f"({check.problems[0]}) The damaged case is as it was. Go on with a copy from a backup."
            )


@contextlib.contextmanager
def _kept_from_others(damaged: Path) -> Iterator[None]:
    """Keep other processes from the damaged case, where that is possible at all."""
    try:
        lock = CaseLock(damaged)
    except CaseInUseError:
        raise
    except CaseError:  # on a disc or in a backup no lock file can be made, and nobody can write either
        yield
        return
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _parts(out: Path) -> Iterator[tuple[Path, apsw.Connection]]:
    """Give a name for the new case on the disk of `out`, and a scratch database; what is left is removed afterwards.

    Both lie in a folder that the next repair or export removes, should this one be killed.
    """
    folder = new_part(out.absolute().parent)
    folder.mkdir()
    try:
        with contextlib.closing(apsw.Connection(str(folder / "scratch"))) as scratch:
            # It holds nothing that outlives the repair.
            scratch.pragma("journal_mode", "memory")
            scratch.pragma("synchronous", "off")
            yield folder / out.name, scratch
    finally:
        shutil.rmtree(folder, ignore_errors=True)
