"""The closed word lists of what can become of a page, a document or a file.

Covers outcomes, methods, reasons and their class. Which words go into which audit record is the business of
`engine.case`; what to do about a reason (retry or not) follows from its class alone.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """The one terminal word for a page or a document."""

    EXTRACTED = "EXTRACTED"  # Its text (possibly none, on a blank page) is stored in the case.
    DEAD_LETTER = "DEAD_LETTER"  # It could not be processed; the reason stands in its envelope.
    DUPLICATE = "DUPLICATE"  # The same bytes were already accounted for in this case.


class Method(StrEnum):
    """How the text of a page was obtained."""

    TEXT = "text"  # Native text of the page.
    OCR = "ocr"  # Recognised from a picture of the page.
    BLANK = "blank"  # Nothing is drawn on the page, so that there is nothing to read.
    NONE = "none"  # No text was obtained.


class FailureClass(StrEnum):
    """Whether trying again can help."""

    TRANSIENT = "transient"  # The circumstances failed: it is tried again, later.
    STRUCTURAL = "structural"  # The page or document itself fails: it would fail again.


class Reason(StrEnum):
    """Why a page or a document is a dead letter: a closed list, without any text from a parser."""

    READ_FAILED = "read_failed"  # The source could not be read for the moment.
    SOURCE_UNREACHABLE = "source_unreachable"  # The whole source (a network share) is away.
    WORKER_LOST = "worker_lost"  # The worker process ended while it had this page, through no fault found in it.
    OUT_OF_MEMORY = "out_of_memory"  # The system had no memory left for this page.
    EMPTY_FILE = "empty_file"  # The file has no bytes.
    NOT_A_PDF = "not_a_pdf"  # The content is not a PDF, whatever the name says.
    ENCRYPTED = "encrypted"  # A password or a certificate is needed to open it.
    CORRUPT_DOCUMENT = "corrupt_document"  # The document cannot be opened or has no readable page tree.
    CORRUPT_PAGE = "corrupt_page"  # This page is damaged; its neighbours may be fine.
    NO_TEXT = "no_text"  # The page shows something, and no text could be had from it.
    TIME_LIMIT = "time_limit"  # It took longer than its clock allows.
    MEMORY_LIMIT = "memory_limit"  # It needed more memory than a worker may have.
    SIZE_LIMIT = "size_limit"  # Its text or file is larger than allowed.
    WORKER_CRASHED = "worker_crashed"  # It crashed the parser, twice.
    SOURCE_VANISHED = "source_vanished"  # The file is no longer there.
    SOURCE_CHANGED = "source_changed"  # The file changed while it was being processed.
    SOURCE_UNREADABLE = "source_unreadable"  # We may not read the file.
    OCR_UNAVAILABLE = "ocr_unavailable"  # OCR was asked for and is not installed.
    OCR_FAILED = "ocr_failed"  # OCR did not work on this page.
    INTERNAL_ERROR = "internal_error"  # A fault of ours; please report it.

    @property
    def failure_class(self) -> FailureClass:
        """Whether trying again can help."""
        return FailureClass.TRANSIENT if self in _TRANSIENT else FailureClass.STRUCTURAL

    @property
    def ends_worker(self) -> bool:
        """Whether what met it ended its worker, or would have."""
        return self in _WORKER_ENDS

    @property
    def blames_source(self) -> bool:
        """Whether the file as found is to blame, so that another file with the same bytes could still succeed."""
        return self in _SOURCE_FAULTS


_TRANSIENT = frozenset({Reason.READ_FAILED, Reason.SOURCE_UNREACHABLE, Reason.WORKER_LOST, Reason.OUT_OF_MEMORY})
_WORKER_ENDS = frozenset(
    {Reason.WORKER_LOST, Reason.WORKER_CRASHED, Reason.TIME_LIMIT, Reason.MEMORY_LIMIT, Reason.OUT_OF_MEMORY}
)
_SOURCE_FAULTS = frozenset(
    {
        Reason.READ_FAILED,
        Reason.SOURCE_UNREACHABLE,
        Reason.SOURCE_VANISHED,
        Reason.SOURCE_CHANGED,
        Reason.SOURCE_UNREADABLE,
    }
)


class SkipReason(StrEnum):
    """Why the enumeration left a directory entry out."""

    NOT_SELECTED = "not_selected"  # Its name does not end in .pdf.
    HIDDEN_JUNK = "hidden_junk"  # A file that a system or this program made, such as .DS_Store, ._name or the case.
    SYMBOLIC_LINK = "symbolic_link"  # Links are not followed.
    DIRECTORY = "directory"  # A directory whose name ends in .pdf; what is inside it is enumerated.
    FIFO = "fifo"  # A named pipe: reading it could wait for ever.
    SOCKET = "socket"  # A socket.
    DEVICE = "device"  # A block or character device.
    UNREADABLE_DIRECTORY = "unreadable_directory"  # We may not list this directory.
    VANISHED = "vanished"  # It was gone before it could be looked at.


class HoldCause(StrEnum):
    """Why admission stands still."""

    WATERMARK = "watermark"  # The queue reached its high mark and has not yet drained to its low mark.
    USER = "user"  # The Pause button.
    MEMORY = "memory"  # The process tree is over its memory budget.
    DISK = "disk"  # The disk of the case file is nearly full.
    UPSTREAM = "upstream"  # The source went away.
    STORAGE = "storage"  # The case file could not be written; it is tried again when somebody resumes.


class RunState(StrEnum):
    """Where a session's run stands."""

    IDLE = "idle"  # Nothing has been started.
    RUNNING = "running"  # Pages are being admitted and processed.
    PAUSING = "pausing"  # The gate is held by the user, and pages are still in flight.
    PAUSED = "paused"  # The gate is held by the user, and nothing is in flight.
    STOPPING = "stopping"  # No new admissions; what is in flight is drained and committed.
    FINISHED = "finished"  # Everything enumerated has its terminal record.
    INCOMPLETE = "incomplete"  # The run ended early; the case can be resumed.


class RowState(StrEnum):
    """Where a row of the manifest stands."""

    PENDING = "pending"  # Enumerated, not yet looked into.
    OPEN = "open"  # Its pages are known, and some have no terminal record yet.
    WAITING = "waiting"  # The same bytes are being processed under another name; the result decides.
    DONE = "done"  # It has its terminal record.
    SKIPPED = "skipped"  # Left out, for a listed reason.
