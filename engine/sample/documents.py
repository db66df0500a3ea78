"""What the sample batch consists of: every file, page by page, good ones and bad ones.

Covers the plan alone. Drawing it is the business of `writer`, putting it into a folder of `batch`, and what a run
makes of it of `expected`.
"""

import os
import random
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from engine.models.outcome import Reason, SkipReason
from engine.sample import translations
from engine.sample.prose import Lines, Prose


class Kind(StrEnum):
    """What there is on a page."""

    TEXT = "text"  # Lines of text.
    RIGHT_TO_LEFT = "right_to_left"  # Lines of Arabic or Hebrew.
    SCAN = "scan"  # A picture of lines of text, and no text.
    BLANK = "blank"  # Nothing.
    TORN = "torn"  # Lines of text, and more of them in a broken stream.
    BROKEN = "broken"  # All content is in a broken stream.


class Finish(StrEnum):
    """What is done to a document once its pages are drawn."""

    PLAIN = "plain"  # Nothing.
    LOCKED = "locked"  # It cannot be opened without a password.
    RESTRICTED = "restricted"  # It is encrypted, and anybody may open it.
    CUT_AT_END = "cut_at_end"  # The table of its objects is missing; it can be repaired.
    CUT_IN_MIDDLE = "cut_in_middle"  # Its page tree is missing; it cannot be repaired.


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePage:
    """One page."""

    kind: Kind
    lines: Lines = ()
    """The text in the order in which it is read."""
    font: str = "tiro"
    """One of the fonts that every PDF reader has, by its short name; or the script, for one from right to left."""
    size_pt: float = 10.5
    rotate: int = 0
    """Degrees by which the page is turned for display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDocument:
    """A document that has to be drawn."""

    path: str
    """Path below the folder, with slashes; bytes that are no text stand as `os.fsdecode` gives them."""
    pages: tuple[SamplePage, ...]
    finish: Finish = Finish.PLAIN
    optional: bool = False
    """Whether it is left out where the file system does not allow its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCopy:
    """A document with the same bytes as another one."""

    path: str
    of: str
    """Path of the other document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRaw:
    """A file whose bytes are given: no document that could be read, or no document at all."""

    path: str
    content: bytes
    reason: Reason | None = None
    """Why it becomes a dead letter."""
    skip: SkipReason | None = None
    """Why it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleLink:
    """A symbolic link, left out where the system does not allow links."""

    path: str
    to: str


SampleFile = SampleDocument | SampleCopy | SampleRaw | SampleLink

NOTE = "README.txt"
"""The file that says what the folder is; it is the first one written, and tells a batch from other folders."""
SKIPPED_FOLDERS = {"Annex.pdf": SkipReason.DIRECTORY, "__MACOSX": SkipReason.HIDDEN_JUNK}
"""Folders that are listed among what is left out; the first is entered, the other is not."""

_GIF = bytes.fromhex("47494638396101000100800000ffffff0000002c00000000010001000002024401003b")
_HTML = b"<!DOCTYPE html>\n<html><head><title>Not found</title></head><body>This record has moved.</body></html>\n"
_LONG_NAME = (
    "Minutes of the extraordinary meeting of the Works and Water Committee concerning the north reservoir, the "
)
_LONG_NAME += "sluice at Lock Cottage and other matters (final).pdf"


def files() -> Iterator[SampleFile]:
    """Yield every file of the batch but its note, which `batch` writes."""
    yield from _office()
    yield from _translations()
    yield from _scans()
    yield from _damaged()
    yield from _odd_names()
    yield from _left_out()


def _office() -> Iterator[SampleFile]:
    for number in range(1, 11):
        path = f"correspondence/letter-{number:03d}.pdf"
        yield _text(path, Prose(path).letter(2 if number % 4 == 0 else 1))
    for number in range(1, 7):
        path = f"minutes/meeting-{number:02d}.pdf"
        yield _text(path, Prose(path).minutes(12))
    for number, rotate in enumerate((0, 90, 0, 180, 0, 270), 1):
        path = f"inspections/inspection-{number:02d}.pdf"
        yield _text(path, Prose(path).inspection(5), font="helv", rotate=rotate)
    for number in range(1, 6):
        path = f"ledgers/ledger-{number:02d}.pdf"
        yield _text(path, Prose(path).ledger(20), font="cour", size_pt=9)
    for title, pages in (("Review of the water supply", 180), ("Review of the harbour", 140)):
        path = f"reviews/{title.lower().replace(' ', '-')}.pdf"
        yield _text(path, Prose(path).review(title, pages))
    yield _text("Annex.pdf/annex-1.pdf", Prose("annex").inspection(2), font="helv")
    yield SampleCopy(path="correspondence/letter-003 (copy).pdf", of="correspondence/letter-003.pdf")
    yield SampleCopy(path="archive/works and water, second meeting.pdf", of="minutes/meeting-02.pdf")


def _translations() -> Iterator[SampleDocument]:
    for name, pages, font in (
        ("chinese-simplified", translations.SIMPLIFIED_CHINESE, "china-s"),
        ("chinese-traditional", translations.TRADITIONAL_CHINESE, "china-t"),
        ("japanese", translations.JAPANESE, "japan"),
        ("korean", translations.KOREAN, "korea"),
    ):
        yield _text(f"translations/{name}.pdf", pages, font=font, size_pt=12)
    for script, pages in (("arabic", translations.ARABIC), ("hebrew", translations.HEBREW)):
        drawn = tuple(SamplePage(kind=Kind.RIGHT_TO_LEFT, lines=lines, font=script, size_pt=13) for lines in pages)
        yield SampleDocument(path=f"translations/{script}.pdf", pages=drawn)


def _scans() -> Iterator[SampleDocument]:
    prose = Prose("scans")
    yield SampleDocument(path="scans/delivery-note.pdf", pages=_pages(prose.letter(1), kind=Kind.SCAN))
    yield SampleDocument(path="scans/incoming-post.pdf", pages=_pages(prose.letter(3), kind=Kind.SCAN))
    blank = SamplePage(kind=Kind.BLANK)
    first, second, third = prose.minutes(3)
    mixed = (*_pages([first]), *_pages([second], kind=Kind.SCAN), blank, *_pages([third], rotate=90))
    yield SampleDocument(path="scans/mixed-file.pdf", pages=mixed)
    yield SampleDocument(path="scans/empty-form.pdf", pages=(blank, blank))


def _damaged() -> Iterator[SampleFile]:
    prose = Prose("damaged")
    yield _text("damaged/password.pdf", prose.letter(3), finish=Finish.LOCKED)
    yield _text("damaged/restricted.pdf", prose.letter(3), finish=Finish.RESTRICTED)
    yield _text("damaged/truncated_repaired.pdf", prose.minutes(6), finish=Finish.CUT_AT_END)
    yield _text("damaged/truncated_lost.pdf", prose.minutes(6), finish=Finish.CUT_IN_MIDDLE)
    good = _pages(prose.minutes(4))
    yield SampleDocument(
        path="damaged/one-page-unreadable.pdf",
        pages=(*good[:2], *_pages(prose.letter(1), kind=Kind.BROKEN), *good[2:]),
    )
    torn = _pages([prose.notice("The second half of this page was lost on a bad disk.")], kind=Kind.TORN)
    yield SampleDocument(path="damaged/one-page-torn.pdf", pages=(*good[:1], *torn))
    noise = random.Random("bad disk").randbytes(20_000)  # noqa: S311  # the same noise each time
    yield SampleRaw(path="damaged/bad-disk.pdf", content=b"%PDF-1.4\n" + noise, reason=Reason.CORRUPT_DOCUMENT)
    yield SampleRaw(path="damaged/web-page.pdf", content=_HTML, reason=Reason.NOT_A_PDF)
    yield SampleRaw(path="damaged/picture.pdf", content=_GIF, reason=Reason.NOT_A_PDF)
    yield SampleRaw(path="damaged/nothing.pdf", content=b"", reason=Reason.EMPTY_FILE)


def _odd_names() -> Iterator[SampleDocument]:
    everywhere = (
        "Übergröße, Nachtrag für Straße 7.pdf",
        "\N{PAPERCLIP} receipts \N{RECEIPT}.pdf",
        "=SUM(1).pdf",
        "-rf.pdf",
        "comma, and 'quote'  twice  .pdf",
        "CAPITALS.PDF",
        _LONG_NAME,
    )
    somewhere: tuple[str, ...] = ("line\nbreak.pdf", "invoice\N{RIGHT-TO-LEFT OVERRIDE}fdp.pdf")
    if sys.platform != "win32":  # where names are not bytes
        somewhere += (os.fsdecode(b"caf\xe9.pdf"),)
    for number, name in enumerate(everywhere + somewhere, 1):
        page = Prose(f"odd name {number}").notice(f"The name of this document is odd. It is number {number}.")
        yield _text(f"odd names/{name}", [page], font="helv", optional=name in somewhere)


def _left_out() -> Iterator[SampleFile]:
    junk = SkipReason.HIDDEN_JUNK
    yield SampleRaw(path="correspondence/.DS_Store", content=b"\0\0\0\1Bud1\0", skip=junk)
    yield SampleRaw(path="scans/Thumbs.db", content=b"\xd0\xcf\x11\xe0", skip=junk)
    yield SampleRaw(path="minutes/._meeting-01.pdf", content=b"\0\5\x16\7\0\2\0\0", skip=junk)
    yield SampleRaw(path="__MACOSX/._letter-001.pdf", content=b"\0\5\x16\7\0\2\0\0", skip=junk)
    yield SampleRaw(
        path="minutes/list of meetings.txt", content=b"Six meetings were held.\n", skip=SkipReason.NOT_SELECTED
    )
    yield SampleLink(path="minutes/latest.pdf", to="meeting-06.pdf")


def _text(
    path: str,
    pages: Iterable[Lines],
    *,
    font: str = "tiro",
    size_pt: float = 10.5,
    rotate: int = 0,
    finish: Finish = Finish.PLAIN,
    optional: bool = False,
) -> SampleDocument:
    drawn = _pages(pages, font=font, size_pt=size_pt, rotate=rotate)
    return SampleDocument(path=path, pages=drawn, finish=finish, optional=optional)


def _pages(
    pages: Iterable[Lines], *, kind: Kind = Kind.TEXT, font: str = "tiro", size_pt: float = 10.5, rotate: int = 0
) -> tuple[SamplePage, ...]:
    return tuple(SamplePage(kind=kind, lines=lines, font=font, size_pt=size_pt, rotate=rotate) for lines in pages)
