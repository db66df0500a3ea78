"""The power fails: whatever of the unsynced writes reached the disk, every acknowledged fact is there afterwards.

A layer below SQLite writes down each change that a scripted series of commits makes, in order, with each sync and each
acknowledgement. From that, images are made of what a disk may hold after the power failed at some moment: all that
was synced, and of the rest any part, in sectors of 512 bytes. Each is opened like any case.

The number of images is `SLUICEGATE_IMAGES`, the seed `SLUICEGATE_SEED`; both are printed.
"""

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.journal import Checkpoint
from engine.case.verify import verify_file
from engine.errors import CaseError, StorageError
from engine.models.facts import Fact, Noted
from tests.case.factory import dead, done, extracted, failed, found, probed
from tests.faults.sqlite_layer import Layer, LayeredFile, OpenedName, makes_file, path_of

SEED = int(os.environ.get("SLUICEGATE_SEED", "20262"))
IMAGES = int(os.environ.get("SLUICEGATE_IMAGES", "3000"))
SECTOR_BYTES = 512
NAME_CHANGES = frozenset({"create", "delete"})

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="the layer relies on the locks of POSIX"),
    pytest.mark.fault(12, by="the power fails: images of synced writes and any part of the others"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a file, in the order in which they were made."""

    file: str
    kind: str
    """`create`, `write`, `truncate`, `sync`, `failed sync` or `delete`."""
    offset: int = 0
    """Where a write begins, or the length after a truncation."""
    data: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What had been acknowledged after so many changes."""

    changes: int
    lines: Sequence[bytes]
    """The audit log: the texts' hashes are in it."""


@dataclass(slots=True)
class Diary:
    """Everything that happened on the disk, and what was acknowledged when; changed by one thread."""

    changes: list[Change] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    kept: list[tuple[int, Checkpoint]] = field(default_factory=list)
    """Checkpoints kept elsewhere, each with the number of changes before it."""
    syncs_until_failure: int = 0
    """How many syncs of the write-ahead log from now on the next failing one is; 0 for none."""

    def fails_now(self, file: str) -> bool:
        """Whether the sync that is asked for fails."""
        if not file.endswith("-wal") or not self.syncs_until_failure:
            return False
        self.syncs_until_failure -= 1
        return not self.syncs_until_failure

    def keep(self, case_id: str, checkpoints: Sequence[Checkpoint]) -> None:  # noqa: ARG002  # there is one case
        """Keep checkpoints, as the ledger does."""
        self.kept += [(len(self.changes), point) for point in checkpoints]

    def last(self, case_id: str) -> Checkpoint | None:  # noqa: ARG002  # there is one case
        """Return the last checkpoint, as the ledger does."""
        return self.kept[-1][1] if self.kept else None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBefore:
    """A ledger as it was at one moment."""

    point: Checkpoint | None

    def keep(self, case_id: str, checkpoints: Sequence[Checkpoint]) -> None:
        """Forget them: the image is thrown away."""

    def last(self, case_id: str) -> Checkpoint | None:  # noqa: ARG002  # there is one case
        """Return the last checkpoint that had been kept."""
        return self.point


class WatchedFile(LayeredFile):
    """A file whose changes are written down."""

    def __init__(self, below: str, name: OpenedName, flags: list[int], diary: Diary) -> None:
        path = path_of(name)
        self._name = "" if path is None else path.name
        self._diary = diary
        super().__init__(below, name, flags)

    def _note(self, kind: str, offset: int = 0, data: bytes = b"") -> None:
        if self._name:
            self._diary.changes.append(Change(file=self._name, kind=kind, offset=offset, data=data))

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        """Override: write it down."""
        super().xWrite(data, offset)
        self._note("write", offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802  # SQLite's name
        """Override: write it down."""
        super().xTruncate(newsize)
        self._note("truncate", newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        """Override: write it down, or fail."""
        if self._diary.fails_now(self._name):
            self._note("failed sync")
            raise apsw.IOError
        super().xSync(flags)
        self._note("sync")


class WatchedDisk(Layer):
    """The disk whose changes are written down."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        super().__init__("watched")

    def xOpen(self, name: OpenedName, flags: list[int]) -> WatchedFile:  # noqa: N802  # SQLite's name
        """Override: write down the making of a file."""
        path = path_of(name)
        if path is not None and makes_file(path, flags):
            self._diary.changes.append(Change(file=path.name, kind="create"))
        return WatchedFile(self.below, name, flags, self._diary)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802  # SQLite's call
        """Override: write it down."""
        super().xDelete(filename, syncdir)
        self._diary.changes.append(Change(file=Path(filename).name, kind="delete"))


@contextmanager
def watched(diary: Diary) -> Iterator[Diary]:
    """Write down everything that SQLite changes within the block."""
    disk = WatchedDisk(diary)
    try:
        yield diary
    finally:
        disk.unregister()


def script() -> Iterator[list[Fact]]:
    """Yield groups of facts: many documents, texts long and short, dead letters, checkpoints."""
    dice = random.Random(7)  # noqa: S311  # always the same script
    yield [Noted(event="RUN_STARTED")]
    yield [found(*(f"{number}.pdf" for number in range(1, 41)))]
    for number in range(1, 41):
        if number % 13 == 0:
            yield [failed(number)]
            continue
        yield [probed(number, f"content {number}", pages=6)]
        long = "word " * dice.choice([20, 400, 9000])
        yield [done(number, *(extracted(page, f"{number} {page} {long}") for page in (1, 2, 3)))]
        yield [done(number, dead(4), 5), done(number, 6)]
        if number % 9 == 0:
            yield [Noted(event="HELD", checkpoint=True)]


@contextmanager
def renewals_watched(diary: Diary, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write down where the program itself, past SQLite, writes the whole log again and syncs it."""

    def fsync(handle: int) -> None:
        real(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.name.endswith("-wal") and os.lseek(handle, 0, os.SEEK_CUR) == path.stat().st_size:
            diary.changes.append(Change(file=path.name, kind="write", data=path.read_bytes()))
            diary.changes.append(Change(file=path.name, kind="sync"))

    real = os.fsync
    monkeypatch.setattr(os, "fsync", fsync)
    yield
    monkeypatch.undo()


def record(path: Path, prepare: Callable[[CaseFile], None], into: Diary | None = None, *, fail_every: int = 0) -> Diary:
    """Play the script on a new case, closed and opened again on the way; return what happened on the disk.

    Args:
        path: Where to make the case.
        prepare: Told of each opening.
        into: Where to write it down, if not in a new diary.
        fail_every: Which commits begin with a disk that fails to sync, as a multiple; 0 for none.
    """
    with watched(into or Diary()) as diary:
        case = CaseFile.create(path, request_id="R", ledger=diary)
        try:
            prepare(case)
            promise(diary, case)
            for number, facts in enumerate(script(), start=1):
                diary.syncs_until_failure = int(fail_every > 0 and number % fail_every == 0)
                try:
                    case.commit(facts)
                except StorageError:
                    assert diary.syncs_until_failure == 0
                    case = begun_again(case, facts, diary)
                    prepare(case)
                promise(diary, case)
                if number in {40, 90}:
                    case.close()
                    case = CaseFile.open(path, ledger=diary)
                    prepare(case)
        finally:
            case.close()
    return diary


def begun_again(case: CaseFile, facts: list[Fact], diary: Diary) -> CaseFile:
    """Open a case anew after a failed commit, as another start of the program does, and do what is not done."""
    before = case.counts().audit_records
    case.close()
    case = CaseFile.open(case.path, ledger=diary)
    if case.counts().audit_records == before:
        case.commit(facts)
    return case


def promise(diary: Diary, case: CaseFile) -> None:
    """Note what is acknowledged now."""
    known = diary.promises[-1].lines if diary.promises else []
    with case.reader() as reader:
        lines = [*known, *list(reader.audit_lines(first=len(known) + 1))]
    assert len(lines) == case.counts().audit_records
    diary.promises.append(Promise(changes=len(diary.changes), lines=lines))


def image(changes: Sequence[Change], dice: random.Random) -> dict[str, bytes]:
    """Return what the disk may hold when the power fails after these changes: all that was synced, any part else."""
    folder_synced = synced_folder(changes)
    files = {}
    for name in sorted({change.file for change in changes}):
        own = [(number, change) for number, change in enumerate(changes) if change.file == name]
        # Changes of one name reach the disk in order. What was synced before the last one that did belongs to that.
        names = [number for number, change in own if change.kind in NAME_CHANGES]
        certain = sum(number <= folder_synced for number in names)
        arrived = names[: dice.randrange(certain, len(names) + 1)]
        if not arrived or changes[arrived[-1]].kind == "delete":
            continue
        until = next((number for number in names if number > arrived[-1]), len(changes))
        files[name] = content([change for number, change in own if arrived[-1] < number < until], dice)
    return files


def synced_folder(changes: Sequence[Change]) -> int:
    """Return the number of the change after which names were last synced: a new log's first sync does that."""
    fresh: set[str] = set()
    last = -1
    for number, change in enumerate(changes):
        if change.kind == "create" and change.file.endswith(("-wal", "-journal")):
            fresh.add(change.file)
        elif change.kind == "sync" and change.file in fresh:
            fresh.remove(change.file)
            last = number
    return last


def content(changes: Sequence[Change], dice: random.Random) -> bytes:
    """Return what one file may hold.

    A sync vouches for what was written since the one before. What a failed one was to bring to the disk is never sure
    again: the system may call it written from then on.
    """
    syncs = [number for number, change in enumerate(changes) if change.kind.endswith("sync")]
    share = dice.choice([0.0, 0.1, 0.5, 0.9, 1.0])
    held = bytearray()
    for number, change in enumerate(changes):
        sync = next((at for at in syncs if at >= number), None)
        if sync is not None and changes[sync].kind == "sync":
            apply(held, change)
        elif dice.random() < share:
            apply(held, change, dice if dice.random() < 0.5 else None)
    return bytes(held)


def apply(held: bytearray, change: Change, torn: random.Random | None = None) -> None:
    """Make a change in what a file holds; of a torn write, some sectors arrive."""
    if change.kind == "truncate":
        del held[change.offset :]
        held.extend(b"\0" * (change.offset - len(held)))
    elif change.kind == "write":
        for start in range(0, len(change.data), SECTOR_BYTES):
            if torn is None or torn.random() < 0.5:
                part = change.data[start : start + SECTOR_BYTES]
                at = change.offset + start
                held.extend(b"\0" * (at - len(held)))
                held[at : at + len(part)] = part


def lay_out(folder: Path, files: dict[str, bytes]) -> Path:
    """Write an image to a folder; return where the case is in it."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "case.sluice"


def missing(path: Path, promised: Promise, point: Checkpoint | None) -> int:
    """Open an image; return how many acknowledged records are not there, and check everything that is."""
    with CaseFile.open(path, ledger=KeptBefore(point=point)) as case:
        with case.reader() as reader:
            lines = list(reader.audit_lines())
            records, head = export_audit(reader, path.with_name("audit.jsonl"))
        common = min(len(lines), len(promised.lines))
        assert lines[:common] == list(promised.lines[:common])
        assert records == len(lines)
        report = verify_file(path.with_name("audit.jsonl"), expect_head=head)
        assert report.ok, report.problems
        assert case.commit([Noted(event="RESUMED")]).counts.audit_records == len(lines) + 1
    return len(promised.lines) - common


def try_images(tmp_path: Path, diary: Diary, images: int, seed: int) -> tuple[int, int]:
    """Let the power fail at random moments.

    Returns:
        In how many images acknowledged records were missing, and how many held more than was acknowledged.
    """
    dice = random.Random(seed)  # noqa: S311  # reproducible on purpose
    first = diary.promises[0].changes
    lost = unborn = 0
    for number in range(images):
        # Some at the very beginning, where the file itself is being made.
        at = dice.randrange(first + 1) if number % 10 == 0 else dice.randrange(first, len(diary.changes) + 1)
        path = lay_out(tmp_path / str(number), image(diary.changes[:at], dice))
        promised = [promise for promise in diary.promises if promise.changes <= at]
        points = [point for changes, point in diary.kept if changes <= at]
        if promised:
            lost += missing(path, promised[-1], points[-1] if points else None) > 0
        else:
            unborn += 1
            begin_anew(path)
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
    return lost, unborn


def begin_anew(path: Path) -> None:
    """Check that a case whose creation was never acknowledged is there whole, or can be created at the same place."""
    if CaseFile.is_new(path):
        CaseFile.create(path, request_id="R").close()
    with CaseFile.open(path) as case:
        assert case.counts().audit_records == 0


def often_checkpointed(case: CaseFile) -> None:
    """Let the log be moved into the file again and again, as in a long run."""
    assert case._writer is not None
    case._writer._connection.pragma("wal_autocheckpoint", 30)


def synced_less(case: CaseFile) -> None:
    """Take away the sync at each commit."""
    often_checkpointed(case)
    assert case._writer is not None
    case._writer._connection.pragma("synchronous", "normal")


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Diary:
    """Give the diary of one playing of the script."""
    return record(tmp_path_factory.mktemp("diary") / "case.sluice", often_checkpointed)


def test_after_a_power_failure_everything_acknowledged_is_there(diary: Diary, tmp_path: Path) -> None:
    """Sixty moments of a fixed series."""
    lost, _ = try_images(tmp_path, diary, images=60, seed=1)
    assert lost == 0


@pytest.mark.fault(19, by="syncs fail, the case is opened anew and goes on, and then the power fails")
@pytest.mark.skipif(sys.platform != "linux", reason="which file is synced is asked of /proc")
def test_after_failed_syncs_a_power_failure_takes_nothing_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a failed sync left in doubt is not built upon."""
    diary = Diary()
    with renewals_watched(diary, monkeypatch):
        record(tmp_path / "case.sluice", often_checkpointed, diary, fail_every=7)
    assert sum(change.kind == "failed sync" for change in diary.changes) > 5
    lost, _ = try_images(tmp_path, diary, images=60, seed=2)
    assert lost == 0


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_after_thousands_of_power_failures_everything_acknowledged_is_there(diary: Diary, tmp_path: Path) -> None:
    """Random moments, each with another part of the unsynced writes."""
    print(f"images={IMAGES} seed={SEED}: repeat with SLUICEGATE_IMAGES={IMAGES} SLUICEGATE_SEED={SEED}")
    lost, unborn = try_images(tmp_path, diary, images=IMAGES, seed=SEED)
    print(f"{IMAGES} images of {len(diary.changes)} changes, {unborn} before the case was there; {lost} lost something")
    assert lost == 0


def test_without_the_sync_at_each_commit_something_would_be_missing(tmp_path: Path) -> None:
    """The images are able to lose something: a case that syncs less does lose it."""
    diary = record(tmp_path / "case.sluice", synced_less)
    try:
        lost, _ = try_images(tmp_path, diary, images=60, seed=1)
    except CaseError:  # a checkpoint kept elsewhere tells that the log is shorter
        lost = 1
    assert lost > 0
