"""Rows as plain text to paste elsewhere: tab-separated, and inert in a spreadsheet.

A spreadsheet takes a cell that begins like a formula for one. Names of files come from strangers, so such a cell
gets an apostrophe in front, which spreadsheets take for "this is text".
"""

from collections.abc import Iterable, Sequence

from gui.models.columns import Column, Row

_FORMULA_STARTS = tuple("=+-@|%\x00＝＋－＠")  # noqa: RUF001  # the full-width forms are meant: some programs read them as formulas
_BREAKS = str.maketrans(dict.fromkeys("\t\r\n\v\f\x85\u2028\u2029", " "))


def tab_separated(columns: Sequence[Column[Row]], rows: Iterable[Row]) -> str:
    """Return a line of titles and a line for each row."""
    lines = ["\t".join(column.title for column in columns)]
    lines.extend("\t".join(inert(column.display(row)) for column in columns) for row in rows)
    return "\n".join(lines) + "\n"


def inert(cell: str) -> str:
    """Return a cell's text on one line, such that no spreadsheet takes it for a formula."""
    line = cell.translate(_BREAKS)
    return f"'{line}" if line.lstrip().startswith(_FORMULA_STARTS) else line
