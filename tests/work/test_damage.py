"""Warnings: what the parser's words say about a page."""

import pytest

from engine.work.child.damage import lost_content, may_be_blank, system_could_not_read

BROKEN = "library error: zlib error: invalid distance too far back\nread error; treating as end of file"


def test_words_that_tell_of_lost_content(subtests: pytest.Subtests) -> None:
    """Each of these says that a part of the page was left out, so that it is neither whole nor blank."""
    for warning in (
        BROKEN,
        "content stream is not a stream (58 0 R)",
        "cannot load content stream part 2/3",
        "encountered syntax errors; page may not be correct",
        "too many syntax errors; ignoring rest of page",
        "premature end of data in flate filter",
    ):
        with subtests.test(warning=warning):
            assert lost_content(f"bogus font ascent\n{warning}")
            assert not may_be_blank(warning)


def test_harmless_words_leave_a_page_blank(subtests: pytest.Subtests) -> None:
    """Nothing is missing for these, so that an empty page may be called blank."""
    for warnings in (
        "",
        "ignoring zlib error: incorrect data check\n... repeated 3 times...",
        "Document claims to have 3 pages, but only has 1.",
        "PDF stream Length incorrect",
    ):
        with subtests.test(warnings=warnings):
            assert may_be_blank(warnings)
            assert not lost_content(warnings)


def test_an_unknown_warning_speaks_against_blank_and_not_against_text() -> None:
    """To call a page blank is a claim; a page with text is not doubted for a word that nobody knows."""
    assert not may_be_blank("non-page object in page tree")
    assert not may_be_blank("something new in the next version")
    assert not lost_content("something new in the next version")


def test_a_failing_disk_is_told_from_a_broken_stream() -> None:
    """MuPDF names the system's error after a colon; a broken stream goes on with a semicolon."""
    assert system_could_not_read("read error: Input/output error\nread error; treating as end of file")
    assert not system_could_not_read(BROKEN)
