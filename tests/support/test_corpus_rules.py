"""The rules by which findings about a real PDF become expectations, and the corpus they are for, where it is."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.models.outcome import Outcome, Reason
from tests.support.corpus import FOLDER, CorpusRow, corpus_rows, expected

Documents = frozenset[tuple[Outcome, Reason | None]]
ROW = CorpusRow(
    path=Path("a.pdf"),
    category="normal",
    sha256="0" * 64,
    size_bytes=1000,
    found="ok",
    detail="",
    pages=10,
    pages_with_text=10,
    zero_text_pages=0,
    error_pages=0,
    chars=100,
    repaired=False,
    read_errors=False,
    password="",
    has_signature=True,
)
EXTRACTED: Documents = frozenset({(Outcome.EXTRACTED, None)})
CORRUPT = frozenset({Reason.CORRUPT_PAGE})


def dead(*reasons: Reason) -> Documents:
    """Return the outcomes of a document that is dead for one of these reasons."""
    return frozenset((Outcome.DEAD_LETTER, reason) for reason in reasons)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"found": "empty", "has_signature": False}, Reason.EMPTY_FILE),
        ({"found": "corrupt", "detail": "not a PDF: MuPDF opens it as Image"}, Reason.NOT_A_PDF),
        ({"found": "ok", "has_signature": False}, Reason.NOT_A_PDF),
        ({"found": "encrypted", "pages": None}, Reason.ENCRYPTED),
        ({"found": "corrupt", "pages": 0}, Reason.CORRUPT_DOCUMENT),
        ({"found": "corrupt", "pages": None}, Reason.CORRUPT_DOCUMENT),
    ],
)
def test_a_document_that_cannot_be_opened_has_no_pages(changes: dict[str, object], reason: Reason) -> None:
    """It is one dead letter for one reason."""
    result = expected(replace(ROW, **changes))  # type: ignore[arg-type]  # the changes differ in their kinds
    assert (result.documents, result.pages) == (dead(reason), 0)


def test_a_document_with_text_on_every_page_is_extracted() -> None:
    """No dead page is allowed."""
    result = expected(ROW)
    assert (result.documents, result.extracted, result.dead) == (EXTRACTED, (10, 10), (0, 0))
    assert result.reasons == frozenset()


def test_a_page_without_text_is_blank_or_dead() -> None:
    """The findings do not say which, so that both are allowed, and nothing beyond."""
    result = expected(replace(ROW, pages_with_text=7, zero_text_pages=3))
    assert (result.extracted, result.dead) == ((7, 10), (0, 3))
    assert result.reasons == {Reason.NO_TEXT, Reason.CORRUPT_PAGE}


def test_a_page_without_text_in_a_broken_document_is_dead() -> None:
    """It must never pass as blank."""
    result = expected(replace(ROW, pages_with_text=0, zero_text_pages=10, read_errors=True))
    assert (result.documents, result.extracted) == (dead(Reason.CORRUPT_PAGE), (0, 0))
    assert (result.dead, result.reasons) == ((10, 10), CORRUPT)


def test_a_page_with_an_error_is_corrupt() -> None:
    """Where all pages have one, the document is dead for that reason."""
    some = expected(replace(ROW, found="ok (page errors)", pages_with_text=8, error_pages=2))
    assert (some.documents, some.dead, some.reasons) == (EXTRACTED, (2, 2), CORRUPT)
    every = expected(replace(ROW, found="corrupt", pages_with_text=0, error_pages=10))
    assert (every.documents, every.dead) == (dead(Reason.CORRUPT_PAGE), (10, 10))


def test_one_page_without_end_is_one_dead_page() -> None:
    """The others are extracted; a document of one page is dead for the limit that it ran into."""
    many = expected(replace(ROW, found="timeout", pages=20, pages_with_text=0))
    assert (many.documents, many.extracted, many.dead) == (EXTRACTED, (19, 19), (1, 1))
    one = expected(replace(ROW, found="memory", pages=1, pages_with_text=0))
    assert one.documents == dead(Reason.TIME_LIMIT, Reason.MEMORY_LIMIT)


def test_without_a_corpus_there_are_no_rows(tmp_path: Path) -> None:
    """Tests that need it can tell, and skip."""
    assert corpus_rows(tmp_path) is None


@pytest.mark.corpus
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the shared corpus is not beside the project")
def test_every_row_of_the_corpus_has_an_expectation_that_adds_up() -> None:
    """Every file is there, and every page is either extracted or dead, whichever end of the range is true."""
    rows = corpus_rows()
    assert rows
    for row in rows:
        assert row.path.stat().st_size == row.size_bytes
        result = expected(row)
        assert result.documents
        assert result.extracted[0] + result.dead[1] == result.extracted[1] + result.dead[0] == result.pages
        assert bool(result.reasons) == (result.dead[1] > 0)
