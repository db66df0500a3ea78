"""The tables' models: bounded memory over a million rows, asking, growing, refreshing, and what cells say."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtTest import QAbstractItemModelTester, QSignalSpy
from PySide6.QtWidgets import QApplication

from engine import FailureClass, Outcome, Reason, RowState, SkipReason
from gui.models.blocks import BLOCK_ROWS, KEPT_BLOCKS
from gui.models.columns import Mark, Role
from gui.models.dead_letter_table import COLUMNS as DEAD_LETTER_COLUMNS
from gui.models.dead_letter_table import DeadLetterTable, ended_by, when
from gui.models.document_table import COLUMNS as DOCUMENT_COLUMNS
from gui.models.document_table import DocumentTable, outcome_words, reason_words
from gui.models.record_table import LOADING, RecordTable
from tests.support.window_records import dead_letter, document, documents
from tests.support.windows import wait_until

MILLION = 1_000_000


@pytest.fixture
def table(application: QApplication) -> Iterator[DocumentTable]:
    """Return a table of documents, empty."""
    made = DocumentTable()
    yield made
    made.deleteLater()


def _requests(table: RecordTable[Any]) -> list[tuple[int, int]]:
    asked: list[tuple[int, int]] = []
    table.requested.connect(lambda first, limit: asked.append((first, limit)))
    return asked


def _text(table: RecordTable[Any], row: int, column: int = 0) -> Any:
    return table.data(table.index(row, column))


def test_the_model_keeps_the_rules_of_models(table: DocumentTable) -> None:
    """Qt's own tester, which warns of every broken rule, finds none while a table lives through its life."""
    tester = QAbstractItemModelTester(table, QAbstractItemModelTester.FailureReportingMode.Warning)
    for count in (0, 1, 40, 40, 12, 60):
        table.set_row_count(count)
        table.put_rows(1, documents(1, count))
    table.refresh_visible(0, 59)
    table.clear()
    table.set_row_count(3)
    tester.deleteLater()


def test_looking_at_a_row_asks_for_its_block_once(table: DocumentTable) -> None:
    """A missing row shows that it is coming, and its block is asked for once, however many cells are looked at."""
    table.set_row_count(1000)
    asked = _requests(table)
    for row in range(300, 340):
        assert _text(table, row) == LOADING
    wait_until(lambda: asked)
    assert asked == [(257, 256)]
    table.put_rows(257, documents(257, 256))
    assert _text(table, 300) == "D0000301"
    assert len(asked) == 1


def test_the_last_block_is_asked_for_only_as_far_as_it_goes(table: DocumentTable) -> None:
    """A request never reaches beyond the last record."""
    table.set_row_count(300)
    asked = _requests(table)
    _text(table, 299)
    wait_until(lambda: asked)
    assert asked == [(257, 44)]


def test_requests_come_one_at_a_time_and_the_newest_first(table: DocumentTable) -> None:
    """While one request is under way no other is made; then what was looked at last is asked for first."""
    table.set_row_count(MILLION)
    asked = _requests(table)
    _text(table, 0)
    wait_until(lambda: asked)
    for row in range(0, 100_000, BLOCK_ROWS):  # a fast scroll
        _text(table, row)
    for _ in range(3):
        first, limit = asked[-1]
        table.put_rows(first, documents(first, limit))
    newest = 100_000 // BLOCK_ROWS
    assert [(first - 1) // BLOCK_ROWS for first, _ in asked] == [0, newest, newest - 1, newest - 2]


def test_a_fast_scroll_asks_only_for_what_it_stopped_at(table: DocumentTable) -> None:
    """Blocks that were flown over are not asked for: a few wait at most."""
    table.set_row_count(MILLION)
    asked = _requests(table)
    table.requested.connect(lambda first, limit: table.put_rows(first, documents(first, limit)))
    for row in range(0, MILLION, BLOCK_ROWS):
        _text(table, row)
    wait_until(lambda: len(asked) >= 4)
    QApplication.processEvents()
    assert len(asked) == 4


def test_a_request_that_fails_can_be_dropped(table: DocumentTable) -> None:
    """After a drop the rows are asked for again when they are looked at again."""
    table.set_row_count(10)
    asked = _requests(table)
    _text(table, 0)
    wait_until(lambda: asked)
    table.drop_request(1)
    _text(table, 0)
    wait_until(lambda: len(asked) == 2)
    assert asked == [(1, 10), (1, 10)]


def test_memory_is_bounded_whatever_is_looked_at(table: DocumentTable) -> None:
    """A walk over a million rows leaves no more records behind than the kept blocks hold."""
    table.set_row_count(MILLION)
    for first in range(1, MILLION, 50 * BLOCK_ROWS):
        table.put_rows(first, documents(first, BLOCK_ROWS))
    assert 0 < table.held_records <= KEPT_BLOCKS * BLOCK_ROWS


def test_growing_inserts_at_the_end_and_never_resets(table: DocumentTable) -> None:
    """What a view has scrolled to and selected survives growth, because there is no reset."""
    resets = QSignalSpy(table.modelReset)
    inserts = QSignalSpy(table.rowsInserted)
    for count in (1, 300, MILLION):
        table.set_row_count(count)
    table.set_row_count(MILLION)
    assert table.rowCount() == MILLION
    assert [inserts.at(place)[1:] for place in range(inserts.count())] == [[0, 0], [1, 299], [300, MILLION - 1]]
    assert resets.count() == 0


def test_rows_that_came_with_a_shorter_table_are_asked_for_when_it_grows(table: DocumentTable) -> None:
    """A block that was read while it was half full is asked for again for the rows that are new."""
    table.set_row_count(10)
    asked = _requests(table)
    table.put_rows(1, documents(1, 10))
    table.set_row_count(20)
    assert _text(table, 5) == "D0000006"
    assert _text(table, 15) == LOADING
    wait_until(lambda: asked)
    assert asked == [(1, 20)]


def test_rows_beyond_the_known_end_are_left_out(table: DocumentTable) -> None:
    """A reader may already know more than was announced; that does not confuse the table."""
    table.set_row_count(3)
    table.put_rows(1, documents(1, 10))
    assert table.held_records == 3
    table.put_rows(8, documents(8, 1))
    assert table.held_records == 3


def test_shrinking_and_clearing_forget(table: DocumentTable) -> None:
    """A smaller table forgets what is beyond its end; a cleared one forgets everything, the requests included."""
    table.set_row_count(10)
    table.put_rows(1, documents(1, 10))
    table.set_row_count(4)
    assert (table.rowCount(), table.held_records) == (4, 4)
    asked = _requests(table)
    table.refresh_visible(0, 3)
    table.clear()
    QApplication.processEvents()
    assert (table.rowCount(), table.held_records, asked) == (0, 0, [])


def test_a_refresh_shows_the_old_until_the_new_comes_and_draws_only_what_differs(table: DocumentTable) -> None:
    """Nothing flickers: old rows stay, and only the rows that are others now are announced."""
    table.set_row_count(100)
    table.put_rows(1, documents(1, 100))
    changed = QSignalSpy(table.dataChanged)
    asked = _requests(table)
    table.refresh_visible(10, 30)
    wait_until(lambda: asked)
    assert _text(table, 20) == "D0000021"
    rows = documents(1, 100)
    rows[20] = document(21, outcome=Outcome.DEAD_LETTER, reason=Reason.ENCRYPTED)
    table.put_rows(1, rows)
    assert changed.count() == 1
    top_left, bottom_right = changed.at(0)[:2]
    assert (top_left.row(), bottom_right.row()) == (20, 20)
    assert (top_left.column(), bottom_right.column()) == (0, len(DOCUMENT_COLUMNS) - 1)


def test_a_refresh_during_a_request_asks_again(table: DocumentTable) -> None:
    """An answer that was under way when the refresh came may be out of date, so that it is asked for once more."""
    table.set_row_count(10)
    asked = _requests(table)
    _text(table, 0)
    wait_until(lambda: asked)
    table.refresh_visible(0, 9)
    table.put_rows(1, documents(1, 10))
    wait_until(lambda: len(asked) == 2)
    table.put_rows(1, documents(1, 10))
    _text(table, 0)
    QApplication.processEvents()
    assert len(asked) == 2


def test_what_does_not_show_is_refreshed_when_it_is_looked_at(table: DocumentTable) -> None:
    """After a refresh a block elsewhere still shows what it held, and is asked for when a view comes to it."""
    table.set_row_count(1000)
    for first in (1, 257):
        table.put_rows(first, documents(first, 256))
    asked = _requests(table)
    table.requested.connect(lambda first, limit: table.put_rows(first, documents(first, limit)))
    table.refresh_visible(0, 10)
    wait_until(lambda: asked)
    assert asked == [(1, 256)]
    assert _text(table, 300) == "D0000301"
    wait_until(lambda: len(asked) == 2)
    assert asked[1] == (257, 256)


def test_roles_give_the_record_its_raw_value_its_mark_and_its_words(table: DocumentTable) -> None:
    """Views, proxies and screen readers each get what they need, for a row that is here."""
    table.set_row_count(2)
    row = document(1, page_count=1204)
    table.put_rows(1, [row])
    pages = table.index(0, 2)
    assert table.data(pages) == "1,204"
    assert table.data(pages, Role.RAW) == 1204
    assert table.data(pages, Role.RECORD) is row
    assert table.data(pages, Role.MARK) is None
    assert table.data(table.index(0, 4), Role.MARK) is Mark.EXTRACTED
    assert table.data(pages, Qt.ItemDataRole.AccessibleTextRole) == "Pages: 1,204"
    assert table.data(pages, Qt.ItemDataRole.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight
    assert table.data(pages, Qt.ItemDataRole.CheckStateRole) is None
    assert table.data(QModelIndex()) is None
    missing = table.index(1, 2)
    assert table.data(missing) == LOADING
    assert table.data(missing, Role.RAW) is None
    assert table.data(missing, Qt.ItemDataRole.ToolTipRole) is None
    table.clear()


def test_text_from_documents_never_becomes_markup(table: DocumentTable) -> None:
    """A path that looks like markup is shown as it is, in the cell and in its tooltip."""
    table.set_row_count(1)
    table.put_rows(1, [document(1, path="<b>x</b>&.pdf")])
    index = table.index(0, 1)
    assert table.data(index) == "<b>x</b>&.pdf"
    assert "&lt;b&gt;x&lt;/b&gt;&amp;.pdf" in table.data(index, Qt.ItemDataRole.ToolTipRole)


@pytest.mark.parametrize("columns", [DOCUMENT_COLUMNS, DEAD_LETTER_COLUMNS])
def test_headers_have_titles_and_explanations(application: QApplication, columns: Sequence[Any]) -> None:
    """Every column has a title, says in its tooltip what it shows, and stands as its figures do."""
    table = RecordTable[Any](columns)
    across = Qt.Orientation.Horizontal
    for place, column in enumerate(columns):
        assert table.headerData(place, across) == column.title
        assert column.tooltip in table.headerData(place, across, Qt.ItemDataRole.ToolTipRole).replace("&#x27;", "'")
        assert table.headerData(place, across, Qt.ItemDataRole.TextAlignmentRole) == column.alignment
    assert table.headerData(len(columns), across) is None
    assert table.headerData(0, Qt.Orientation.Vertical) is None
    assert [column.stretches for column in columns].count(True) == 1


@pytest.mark.parametrize(
    ("row", "outcome", "reason", "mark"),
    [
        (document(), "Extracted", "", Mark.EXTRACTED),
        (document(pages_dead=2), "Extracted, 2\u00a0pages dead", "", Mark.PARTLY),
        (document(repaired=True), "Extracted", "Rebuilt; may lack text", Mark.PARTLY),
        (
            document(outcome=Outcome.DEAD_LETTER, page_count=None, reason=Reason.ENCRYPTED),
            "Dead letter",
            "Password needed",
            Mark.DEAD_LETTER,
        ),
        (document(outcome=Outcome.DUPLICATE, duplicate_of=7), "Duplicate", "Same bytes as D0000007", Mark.DUPLICATE),
        (
            document(state=RowState.SKIPPED, outcome=None, page_count=None, reason=SkipReason.FIFO),
            "Left out",
            "Named pipe",
            Mark.LEFT_OUT,
        ),
        (document(state=RowState.PENDING, outcome=None, page_count=None), "Waiting", "", Mark.PENDING),
        (document(state=RowState.OPEN, outcome=None), "In progress", "", Mark.WORKING),
        (
            document(state=RowState.WAITING, outcome=None, duplicate_of=7),
            "Waiting for its twin",
            "Same bytes as D0000007",
            Mark.PENDING,
        ),
    ],
)
def test_documents_say_where_they_stand_and_why(row: Any, outcome: str, reason: str, mark: Mark) -> None:
    """Outcome and reason are words, and the mark beside them agrees."""
    assert (outcome_words(row), reason_words(row)) == (outcome, reason)
    marks = [column.mark(row) for column in DOCUMENT_COLUMNS if column.mark]
    assert marks == [mark]
    for column in DOCUMENT_COLUMNS:  # every cell of every kind of row can be shown, explained and sorted
        assert isinstance(column.display(row), str)
        assert isinstance((column.tip or column.display)(row), str)
        assert isinstance(column.raw(row), int | str)


@pytest.mark.parametrize("reason", list(Reason))
def test_dead_letters_show_every_reason_in_words(reason: Reason) -> None:
    """Each reason has its cell, its advice in the tooltip, and the class it belongs to."""
    row = dead_letter(reason=reason)
    cells = {column.title: column.display(row) for column in DEAD_LETTER_COLUMNS}
    assert cells["Reason"] != reason.value
    assert cells["Due to"] == ("Circumstances" if reason.failure_class is FailureClass.TRANSIENT else "The file itself")
    tips = {column.title: column.tip(row) for column in DEAD_LETTER_COLUMNS if column.tip}
    assert reason.value in tips["Reason"]
    assert row.trace_id in tips["Reason"]


def test_dead_letters_say_what_ended_them_and_when() -> None:
    """Signals have their names, error numbers are said to be such, and the time is universal, to the second."""
    assert ended_by(dead_letter(signal=9)) == "SIGKILL (9)"
    assert ended_by(dead_letter(signal=4711)) == "signal 4711"
    assert ended_by(dead_letter(code=12)) == "error 12"
    assert ended_by(dead_letter()) == "\u2013"
    assert when(dead_letter()) == "2026-11-29 18:46:01"
    whole = {column.title: column.display(dead_letter(page=None)) for column in DEAD_LETTER_COLUMNS}
    assert whole["Page"] == "whole file"


def test_a_table_of_dead_letters_takes_its_rows(application: QApplication) -> None:
    """The second table is fed as the first one."""
    table = DeadLetterTable()
    table.set_row_count(2)
    table.put_rows(1, [dead_letter(1), dead_letter(2)])
    assert [_text(table, 1, column) for column in range(3)] == ["D0000002", "letters/000002.pdf", "3"]
