"""The shared corpus of real PDFs, where its folder exists beside the project: its rows, and what to expect of each.

Covers reading `MANIFEST.tsv` and the rules by which a row's findings become outcomes of this program. The findings
are those of a plain loop over `page.get_text()`, made elsewhere with another version of the parser: they say how many
pages have text, not whether the others are blank, scanned or broken, so that some expectations are ranges.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.models.outcome import Outcome, Reason

FOLDER = Path(__file__).parents[3] / "shared" / "corpus"
"""Beside the project's own folder."""
_REPAIRED_LATE = frozenset({"zeroed-2000-bytes.pdf"})
"""Found to be broken only while the pages are read: whether it opens as repaired depends on who asks when."""
_SNIFFED_BYTES = 1024
_LIMITS = frozenset({Reason.TIME_LIMIT, Reason.MEMORY_LIMIT})
_NO_TEXT = frozenset({Reason.NO_TEXT, Reason.CORRUPT_PAGE})


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRow:
    """One file and what was found in it."""

    path: Path
    """Where it is."""
    category: str
    sha256: str
    size_bytes: int
    found: str
    """`ok`, `ok (page errors)`, `corrupt`, `encrypted`, `empty`, `timeout` or `memory`."""
    detail: str
    """What is behind `found`, in words."""
    pages: int | None
    """Number of pages; None where it does not open."""
    pages_with_text: int
    zero_text_pages: int
    error_pages: int
    chars: int
    """Characters of all its pages together, 0 where there is nothing but white space."""
    repaired: bool | None
    """Whether it had to be rebuilt; None where that is not known."""
    read_errors: bool
    """Whether there were warnings of broken streams: pages without text are then damaged."""
    password: str
    """A password that opens it, or empty."""
    has_signature: bool
    """Whether `%PDF-` stands in its first 1,024 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusExpectation:
    """What may become of a file; a range holds its both ends."""

    documents: frozenset[tuple[Outcome, Reason | None]]
    """The outcomes, each with its reason, one of which the document must have."""
    pages: int
    """Pages enumerated; 0 where the document cannot be opened."""
    extracted: tuple[int, int] = (0, 0)
    """Fewest and most extracted pages, blank ones included."""
    dead: tuple[int, int] = (0, 0)
    """Fewest and most dead pages."""
    reasons: frozenset[Reason] = frozenset()
    """The reasons that a dead page may have."""
    repaired: bool | None = None
    """Whether the document must be flagged as repaired; None where that is not known."""


def corpus_rows(folder: Path = FOLDER) -> tuple[CorpusRow, ...] | None:
    """Return all rows, or None where there is no corpus."""
    manifest = folder / "MANIFEST.tsv"
    if not manifest.is_file():
        return None
    return tuple(_rows(folder, manifest))


def expected(row: CorpusRow) -> CorpusExpectation:
    """Return what this program must make of a file, by the rules of its design.

    Args:
        row: The file and what was found in it.
    """
    if row.found == "empty":
        return _lost(Reason.EMPTY_FILE)
    if not row.has_signature or row.detail.startswith("not a PDF"):
        return _lost(Reason.NOT_A_PDF)
    if row.found == "encrypted":
        return _lost(Reason.ENCRYPTED)
    if row.found in {"timeout", "memory"}:
        return _one_bad_page(row)
    if not row.pages:
        return _lost(Reason.CORRUPT_DOCUMENT)
    return _readable(row, row.pages)


def _lost(reason: Reason) -> CorpusExpectation:
    return CorpusExpectation(documents=frozenset({(Outcome.DEAD_LETTER, reason)}), pages=0)


def _one_bad_page(row: CorpusRow) -> CorpusExpectation:
    """Return what is expected where one page runs into a limit: that page is lost, and no other."""
    pages = row.pages or 1
    documents = {(Outcome.EXTRACTED, None)} if pages > 1 else {(Outcome.DEAD_LETTER, reason) for reason in _LIMITS}
    return CorpusExpectation(
        documents=frozenset(documents), pages=pages, extracted=(pages - 1, pages - 1), dead=(1, 1), reasons=_LIMITS
    )


def _readable(row: CorpusRow, pages: int) -> CorpusExpectation:
    """Return what is expected of a document that opens: a page without text may be blank, unless it is damaged."""
    maybe_blank = 0 if row.read_errors else row.zero_text_pages
    extracted = (row.pages_with_text, row.pages_with_text + maybe_blank)
    reasons: set[Reason] = set(_NO_TEXT) if maybe_blank else set()
    if row.error_pages or row.read_errors:
        reasons.add(Reason.CORRUPT_PAGE)
    documents: set[tuple[Outcome, Reason | None]] = set()
    if extracted[1] > 0:
        documents.add((Outcome.EXTRACTED, None))
    if extracted[0] == 0:
        documents |= {(Outcome.DEAD_LETTER, reason) for reason in reasons}
    return CorpusExpectation(
        documents=frozenset(documents),
        pages=pages,
        extracted=extracted,
        dead=(pages - extracted[1], pages - extracted[0]),
        reasons=frozenset(reasons),
        repaired=None if row.path.name in _REPAIRED_LATE else row.repaired,
    )


def _rows(folder: Path, manifest: Path) -> Iterator[CorpusRow]:
    with manifest.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = folder / _plain(cells["file"])
            with path.open("rb") as document:
                has_signature = b"%PDF-" in document.read(_SNIFFED_BYTES)
            yield CorpusRow(
                path=path,
                category=cells["category"],
                sha256=cells["sha256"],
                size_bytes=int(cells["size"]),
                found=cells["expected_class"],
                detail=cells["detail"],
                pages=int(cells["pages"]) if cells["pages"] else None,
                pages_with_text=int(cells["pages_with_text"] or 0),
                zero_text_pages=int(cells["zero_text_pages"] or 0),
                error_pages=int(cells["error_pages"] or 0),
                chars=int(cells["chars"] or 0) if int(cells["nonspace_chars"] or 0) else 0,
                repaired=cells["repaired"] == "1" if cells["repaired"] else None,
                read_errors=cells["read_errors"] == "1",
                password=cells["password"],
                has_signature=has_signature,
            )


def _plain(cell: str) -> str:
    """Return a name: plain, or a JSON string where it begins with a double quote."""
    return str(json.loads(cell)) if cell.startswith('"') else cell
