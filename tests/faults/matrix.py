"""The fault matrix: forty ways in which a run can be disturbed, and what has to hold each time.

Words only. A test says with the marker `fault(row)` that it injects the fault of a row for real and checks what the
row demands; `tests.faults.table` puts the two together at the end of `make faults`. A row that no test can inject
carries the reason.

What must always hold, whatever happens (the invariants, by number):
    I1  the audit chain verifies.
    I2  no page has two terminal records, and each has one when the run has ended.
    I3  what was acknowledged is on disk.
    I4  all other pages are finished.
    I5  no process, temporary file or descriptor is left over.
    I6  the memory of the main process stays flat.
    I7  a resume gives what an undisturbed run gives.
    I8  the sources are as they were.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the matrix."""

    number: int
    fault: str
    seen: str
    """What the user sees."""
    holds: str
    """What must hold besides."""
    means: str
    """How it is injected."""
    reason: str = ""
    """Why no test injects it; empty where one must."""


def _row(number: int, fault: str, *, seen: str, holds: str, means: str, reason: str = "") -> Row:
    return Row(number=number, fault=fault, seen=seen, holds=holds, means=means, reason=reason)


ROWS: tuple[Row, ...] = (
    _row(
        1,
        "a worker crashes on a page",
        seen="the page is worker_crashed with its signal; the run goes on",
        holds="I1 I2 I4 I5",
        means="kill -SEGV of a worker on its page",
    ),
    _row(
        2,
        "a worker is killed from outside",
        seen="worker_lost with signal 9, tried again",
        holds="I2 I4",
        means="kill -KILL; a memory cgroup around the worker",
    ),
    _row(
        3,
        "a page wants more memory than a worker may have",
        seen="memory_limit",
        holds="I4 I6",
        means="a page that inflates, under RLIMIT_AS",
    ),
    _row(
        4,
        "a page never ends",
        seen="time_limit after the page's clock",
        holds="I4, the processor is free again at once",
        means="nested forms that double at each level",
    ),
    _row(
        5,
        "a worker is stopped",
        seen="time_limit; the worker is replaced",
        holds="I4 I5",
        means="kill -STOP of a worker on its page",
    ),
    _row(
        6,
        "a worker exits with 0 in the middle of a document",
        seen="worker_crashed; the rest is tried again",
        holds="I2 I4",
        means="a misbehaving worker",
    ),
    _row(
        7,
        "a worker sends garbage, a huge length, or closes its output",
        seen="worker_crashed",
        holds="I4, the memory of the main process is bounded",
        means="a misbehaving worker",
    ),
    _row(
        8, "a worker floods its standard error", seen="nothing", holds="I6, no deadlock", means="a misbehaving worker"
    ),
    _row(
        9,
        "a worker answers after its work was given to another",
        seen="nothing",
        holds="I2",
        means="a misbehaving worker that answers late and twice",
    ),
    _row(
        10,
        "no worker can start",
        seen="one clear sentence, and the run ends",
        holds="no record for a page that nobody tried; no spinning",
        means="a module that is missing; strace: execve fails",
    ),
    _row(
        11,
        "the system refuses new processes for a while",
        seen="the run waits, says why, and goes on",
        holds="I2",
        means="strace: clone, vfork and fork fail with EAGAIN",
    ),
    _row(
        12,
        "the application is killed",
        seen="the next run goes on where it was",
        holds="I1 I2 I3 I5 I7",
        means="kill -KILL at random moments",
    ),
    _row(
        13,
        "the application is killed at each write",
        seen="the next run goes on where it was",
        holds="I1 I3 I7",
        means="SIGKILL at the n-th write of the case file",
    ),
    _row(
        14,
        "the application is killed while it exports",
        seen="nothing stands under the final name",
        holds="I1",
        means="SIGKILL before the rename",
    ),
    _row(
        15,
        "the application is killed while a case migrates",
        seen="the case opens, old or new",
        holds="I1",
        means="SIGKILL inside the migration",
    ),
    _row(
        16,
        "the user logs out, closes the window, or ends the program",
        seen="stopped safely, and how to go on",
        holds="I1 I3 I5",
        means="kill -TERM; a close event of the window",
    ),
    _row(
        17,
        "the disk of the case is full",
        seen="a sentence; no page is marked failed",
        holds="I1 I3 I7",
        means="a small tmpfs",
    ),
    _row(
        18,
        "the case file may not grow",
        seen="a sentence; no page is marked failed",
        holds="I1 I3 I7",
        means="RLIMIT_FSIZE",
    ),
    _row(
        19,
        "the disk fails to flush",
        seen="a sentence; no automatic retry",
        holds="I1 I3, what was not flushed is not acknowledged",
        means="strace: fdatasync fails with EIO",
    ),
    _row(
        20,
        "the disk is full from the n-th write on",
        seen="as for a full disk",
        holds="I1 I3 I7",
        means="strace: pwrite64 fails with ENOSPC",
    ),
    _row(
        21,
        "the folder of the case is read-only",
        seen="told before anything starts, another place is named",
        holds="nothing is created",
        means="a read-only bind mount",
    ),
    _row(
        22,
        "the case would lie on a network file system",
        seen="refused with the reason",
        holds="nothing is created",
        means="the system's table of mounts, as given",
    ),
    _row(
        23,
        "the case is open already",
        seen="told which process has it",
        holds="I1, the first one goes on",
        means="starting twice",
    ),
    _row(
        24,
        "bits of the case file flip",
        seen="damaged; a repair into a new file is offered",
        holds="the damaged file is left as it is",
        means="bytes changed in the file",
    ),
    _row(
        25,
        "the case was replaced by an older copy",
        seen="the log is shorter than its last known checkpoint",
        holds="nothing is written",
        means="an older copy put in its place",
    ),
    _row(
        26,
        "the write-ahead log was deleted",
        seen="as for an older copy",
        holds="I1 of what is left",
        means="unlink after kill -KILL",
    ),
    _row(
        27,
        "a source vanishes before or while it is read",
        seen="source_vanished",
        holds="I4 I8",
        means="unlink between listing and reading",
    ),
    _row(
        28,
        "a source changes during the run",
        seen="source_changed",
        holds="text of two versions is never mixed",
        means="a rewrite between probe and reading",
    ),
    _row(
        29,
        "a source may not be read",
        seen="source_unreadable",
        holds="I4",
        means="chmod 000, without the rights of root (setpriv)",
    ),
    _row(
        30,
        "reading a source fails or never returns",
        seen="read_failed after several tries; time_limit",
        holds="I4, the program stays responsive",
        means="strace: read fails with EIO; fanotify: a read that waits",
    ),
    _row(
        31,
        "pipes, sockets, devices, links in a circle or out of the folder, folders named .pdf",
        seen="left out, each with its reason",
        holds="nothing blocks, nothing outside is read",
        means="mkfifo, bind, mknod, symlink, mkdir",
    ),
    _row(
        32,
        "a hundred thousand files, and one of very many pages",
        seen="progress",
        holds="I6",
        means="a generated folder",
    ),
    _row(
        33,
        "the wall clock jumps by days",
        seen="CLOCK_JUMPED in the log",
        holds="I1, no wave of time-outs, durations of at least 0",
        means="a wall clock that the test sets",
    ),
    _row(
        34,
        "the machine sleeps",
        seen="the run goes on",
        holds="no wave of time-outs",
        means="SIGSTOP of the whole tree for longer than the page's clock",
    ),
    _row(
        35,
        "the descriptors run out",
        seen="the run waits or works with fewer workers, and says so",
        holds="I2, no page is marked failed for it",
        means="prlimit --nofile on the running process",
    ),
    _row(
        36,
        "the temporary folder is full or closed",
        seen="nothing",
        holds="I4",
        means="TMPDIR on a full tmpfs, and one that does not exist",
    ),
    _row(
        37,
        "OCR is missing, hangs or crashes",
        seen="ocr_unavailable, ocr_failed",
        holds="I4",
        means="none yet",
        reason="this version recognises no text in pictures; such pages are no_text",
    ),
    _row(
        38,
        "names of any bytes: no UTF-8, line breaks, reversed writing, 255 bytes, =cmd",
        seen="shown escaped, and processed",
        holds="valid JSON, I4",
        means="files with such names",
    ),
    _row(
        39,
        "encrypted, no PDF at all, empty, inflating",
        seen="its reason",
        holds="tried once; twice where it cost its worker",
        means="such files",
    ),
    _row(
        40,
        "a flood of events meets the window",
        seen="the window stays responsive",
        holds="I6, nothing out of order, nothing missing",
        means="a thousand commits a second",
    ),
)
