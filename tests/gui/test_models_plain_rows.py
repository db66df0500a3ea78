"""Rows as text to paste: tab-separated, and inert in a spreadsheet."""

import pytest

from gui.models.document_table import COLUMNS
from gui.models.plain_rows import inert, tab_separated
from tests.support.window_records import document


@pytest.mark.parametrize("cell", ["=SUM(A1)", "+1", "-1", "@x", "|x", "%x", "  =x", "\t=x", "\uff1dx", "\x00=x"])
def test_a_cell_that_a_spreadsheet_takes_for_a_formula_is_made_text(cell: str) -> None:
    """Whatever begins like a formula, after blanks too and in full width, gets an apostrophe in front."""
    assert inert(cell).startswith("'")


@pytest.mark.parametrize("cell", ["letters/a.pdf", "12", "", "a=b", "\u2013"])
def test_any_other_cell_stays_as_it_is(cell: str) -> None:
    """What is no formula is not changed."""
    assert inert(cell) == cell


def test_a_cell_never_breaks_its_line() -> None:
    """Tabs and every kind of line break become spaces, so that the columns stay in place."""
    assert inert("a\tb\nc\rd\u2028e\x85f\vg\fh") == "a b c d e f g h"


def test_rows_have_their_titles_and_one_line_each() -> None:
    """The first line has the titles, and a hostile path stays within its own cell."""
    text = tab_separated(COLUMNS, [document(1), document(2, path='=cmd|"/c calc"\n.pdf')])
    lines = text.splitlines()
    assert lines[0].split("\t")[:2] == ["Document", "Path"]
    assert [len(line.split("\t")) for line in lines] == [len(COLUMNS)] * 3
    assert lines[2].split("\t")[1] == """'=cmd|"/c calc" .pdf"""
