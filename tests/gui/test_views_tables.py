"""The table view over a million rows: scrolling, keyboard, copying, and words where it is empty."""

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QModelIndex, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QKeySequence
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication, QStyleOptionViewItem

from engine import Outcome, Reason, RowState, SkipReason
from gui.models.blocks import BLOCK_ROWS, KEPT_BLOCKS
from gui.models.columns import Mark
from gui.models.document_table import DocumentTable, outcome_words
from gui.models.record_table import Index
from gui.views.cells import LOOKS, MarkDelegate
from gui.views.colours import DARK
from gui.views.icons import Icons
from gui.views.tables import RecordView
from gui.views.theme import Appearance, Themes
from tests.support.window_records import document, documents
from tests.support.windows import Show, wait_until

MILLION = 1_000_000


@pytest.fixture
def table(application: QApplication) -> Iterator[DocumentTable]:
    """Return a table that is answered at once."""
    made = DocumentTable()
    made.requested.connect(lambda first, limit: made.put_rows(first, documents(first, limit)))
    yield made
    made.deleteLater()


@pytest.fixture
def view(table: DocumentTable, themes: Themes, icons: Icons, show: Show) -> RecordView:
    """Return a view of it on screen."""
    return show(_view(table, themes, icons))


def _view(table: DocumentTable, themes: Themes, icons: Icons) -> RecordView:
    return RecordView(
        table,
        name="Documents",
        empty_title="No documents yet",
        empty_text="Every file that is found is listed here.",
        themes=themes,
        icons=icons,
    )


def _ink(image: QImage) -> int:
    """Return how many pixels differ from the first one."""
    ground = image.pixelColor(0, 0)
    return sum(
        image.pixelColor(x, y) != ground for x in range(0, image.width(), 2) for y in range(0, image.height(), 2)
    )


def test_a_million_rows_are_scrolled_with_bounded_memory(table: DocumentTable, view: RecordView) -> None:
    """From end to end, what shows is fetched and shown, and no more records are held than the kept blocks."""
    table.set_row_count(MILLION)
    bar = view.verticalScrollBar()
    for place in range(60):
        bar.setValue(bar.maximum() * place // 59)
        QApplication.processEvents()
        assert table.held_records <= KEPT_BLOCKS * BLOCK_ROWS
    first, last = view.visible_range() or (0, 0)
    assert last == MILLION - 1
    wait_until(lambda: table.held_record(first) is not None and table.held_record(last) is not None)
    assert table.data(table.index(last, 0)) == "D1000000"
    assert table.held_records <= KEPT_BLOCKS * BLOCK_ROWS


def test_only_what_shows_is_asked_for(table: DocumentTable, view: RecordView) -> None:
    """A view of a million rows asks for the blocks that it shows, and for nothing else."""
    asked: list[int] = []
    table.requested.connect(lambda first, _: asked.append(first))
    table.set_row_count(MILLION)
    wait_until(lambda: table.held_record(0) is not None)
    QApplication.processEvents()
    assert asked == [1]


def test_the_visible_range_is_what_shows(table: DocumentTable, view: RecordView) -> None:
    """It is nothing for an empty table, all of a short one, and a part of a long one."""
    assert view.visible_range() is None
    table.set_row_count(3)
    QApplication.processEvents()
    assert view.visible_range() == (0, 2)
    table.set_row_count(MILLION)
    QApplication.processEvents()
    view.scrollTo(table.index(500_000, 0), RecordView.ScrollHint.PositionAtTop)
    shown = view.visible_range()
    assert shown is not None
    assert shown[0] == 500_000
    assert 10 < shown[1] - shown[0] < 60


def test_growing_keeps_place_and_selection(table: DocumentTable, view: RecordView) -> None:
    """While a run appends rows, the table stays where the user has scrolled to and keeps what is selected."""
    table.set_row_count(1000)
    view.selectRow(700)
    view.scrollTo(table.index(700, 0), RecordView.ScrollHint.PositionAtTop)
    before = view.visible_range()
    table.set_row_count(2000)
    QApplication.processEvents()
    assert view.visible_range() == before
    assert view.currentIndex().row() == 700


def test_a_refresh_asks_only_while_it_can_be_seen(table: DocumentTable, view: RecordView) -> None:
    """A hidden table asks for nothing; a visible one asks anew for what it shows."""
    table.set_row_count(1000)
    wait_until(lambda: table.held_record(0) is not None)
    asked: list[int] = []
    table.requested.connect(lambda first, _: asked.append(first))
    view.hide()
    view.refresh()
    QApplication.processEvents()
    assert asked == []
    view.show()
    view.refresh()
    wait_until(lambda: asked)
    assert asked == [1]


class CountingTable(DocumentTable):
    """Counts how often it is asked whether a cell can be selected."""

    asked = 0

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Override: count."""
        self.asked += 1
        return super().flags(index)


def test_all_rows_are_selected_and_copied_at_once(themes: Themes, icons: Icons, show: Show) -> None:
    """Ctrl+A over many rows does not ask each of them whether it is selected: with a million, that takes minutes."""
    table = CountingTable()
    table.set_row_count(50_000)
    table.put_rows(1, documents(1, 300))
    view = show(_view(table, themes, icons))
    copied = QSignalSpy(view.copied)
    table.asked = 0
    QTest.keySequence(view, QKeySequence(QKeySequence.StandardKey.SelectAll))
    QApplication.processEvents()
    assert view.selectionModel().isRowSelected(49_999)
    assert 0 < table.asked < 10_000
    QTest.keySequence(view, QKeySequence(QKeySequence.StandardKey.Copy))
    # What was never shown is not here to be copied, and the signal says so.
    assert copied.at(0) == [300, 50_000]
    assert len(QGuiApplication.clipboard().text().splitlines()) == 301


def test_selected_rows_are_copied_as_inert_text(table: DocumentTable, view: RecordView) -> None:
    """Ctrl+C puts titles and selected rows on the clipboard, in order, and no formula among them."""
    table.set_row_count(5)
    rows = documents(1, 5)
    rows[3] = document(4, path="=HYPERLINK(1)")
    table.put_rows(1, rows)
    assert not view.copy_action.isEnabled()
    view.selectRow(3)
    view.selectionModel().select(
        table.index(1, 0), view.selectionModel().SelectionFlag.Select | view.selectionModel().SelectionFlag.Rows
    )
    assert view.copy_action.isEnabled()
    QTest.keySequence(view, QKeySequence(QKeySequence.StandardKey.Copy))
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Document", "D0000002", "D0000004"]
    assert lines[2].split("\t")[1] == "'=HYPERLINK(1)"
    assert not QGuiApplication.clipboard().mimeData().hasHtml()


def test_the_keyboard_walks_and_opens(table: DocumentTable, view: RecordView) -> None:
    """Arrow keys change the current record, Return opens it, and Tab leaves the table."""
    table.set_row_count(5)
    table.put_rows(1, documents(1, 5))
    current, opened = QSignalSpy(view.record_changed), QSignalSpy(view.opened)
    view.setFocus()
    view.selectRow(0)
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return)
    record = view.current_record()
    assert record is not None
    assert record.doc_id == 2
    assert current.at(current.count() - 1) == [record]
    assert opened.at(0) == [record]
    assert not view.tabKeyNavigation()


def test_a_current_record_that_changes_is_told_again(table: DocumentTable, view: RecordView) -> None:
    """Whoever shows the current record learns when it comes late or has other values."""
    table.set_row_count(5)
    table.put_rows(1, documents(1, 5))
    view.selectRow(2)
    told = QSignalSpy(view.record_changed)
    rows = documents(1, 5)
    rows[2] = document(3, pages_dead=1)
    table.put_rows(1, rows)
    assert told.count() == 1
    assert told.at(0)[0].pages_dead == 1
    rows[0] = document(1, pages_dead=1)
    table.put_rows(1, rows)
    assert told.count() == 1


def test_an_empty_table_says_why(table: DocumentTable, view: RecordView) -> None:
    """Where there are no rows there are words; with rows they are gone."""
    empty = _ink(view.viewport().grab().toImage())
    assert empty > 200
    table.set_row_count(1)
    table.put_rows(1, documents(1, 1))
    QApplication.processEvents()
    image = view.viewport().grab().toImage()
    assert _ink(image.copy(0, image.height() // 2, image.width(), image.height() // 2)) == 0


ROWS_BY_MARK = {
    Mark.EXTRACTED: document(),
    Mark.PARTLY: document(repaired=True),
    Mark.DEAD_LETTER: document(outcome=Outcome.DEAD_LETTER, reason=Reason.ENCRYPTED),
    Mark.DUPLICATE: document(outcome=Outcome.DUPLICATE, duplicate_of=2),
    Mark.LEFT_OUT: document(state=RowState.SKIPPED, outcome=None, reason=SkipReason.FIFO),
    Mark.PENDING: document(state=RowState.PENDING, outcome=None),
    Mark.WORKING: document(state=RowState.OPEN, outcome=None),
}


def _outcome_cell(view: RecordView, table: DocumentTable) -> QStyleOptionViewItem:
    option = QStyleOptionViewItem()
    delegate = view.itemDelegateForColumn(4)
    assert isinstance(delegate, MarkDelegate)
    delegate.initStyleOption(option, table.index(0, 4))
    return option


@pytest.mark.parametrize("mark", list(Mark))
def test_every_mark_has_a_drawing_and_a_colour_beside_its_word(
    table: DocumentTable, view: RecordView, themes: Themes, mark: Mark
) -> None:
    """Colour is never the only sign: the word stays, and a drawing stands beside it."""
    table.set_row_count(1)
    table.put_rows(1, [ROWS_BY_MARK[mark]])
    option = _outcome_cell(view, table)
    assert option.text == outcome_words(ROWS_BY_MARK[mark])
    assert not option.icon.isNull()
    assert option.palette.text().color() == QColor(getattr(themes.current, LOOKS[mark].tone))
    assert len({look.icon for look in LOOKS.values()}) == len(Mark)


def test_paths_are_shortened_in_the_middle(view: RecordView) -> None:
    """Beginning and end of a path tell it from others; the middle may go."""
    assert view.textElideMode() is Qt.TextElideMode.ElideMiddle


def test_the_path_takes_the_room_and_never_vanishes(table: DocumentTable, view: RecordView) -> None:
    """A wide table is filled; a narrow one scrolls sideways and still shows paths that can be told apart."""
    header = view.horizontalHeader()
    view.resize(1200, 400)
    QApplication.processEvents()
    assert header.length() == view.viewport().width()
    view.resize(500, 400)
    QApplication.processEvents()
    assert header.sectionSize(1) >= 200
    assert view.horizontalScrollBar().maximum() > 0


def test_taking_the_focus_selects_the_row_that_it_makes_current(table: DocumentTable, view: RecordView) -> None:
    """Whoever tabs into the table sees where the arrow keys start from."""
    table.set_row_count(5)
    table.put_rows(1, documents(1, 5))
    view.clearFocus()
    view.setCurrentIndex(QModelIndex())
    view.setFocus(Qt.FocusReason.TabFocusReason)
    assert view.selectionModel().isRowSelected(0)


def test_another_theme_redraws_the_cells(table: DocumentTable, view: RecordView, themes: Themes) -> None:
    """Marks take the new colours while the table is on screen."""
    table.set_row_count(1)
    table.put_rows(1, documents(1, 1))
    themes.set_appearance(Appearance.DARK)
    QApplication.processEvents()
    assert _outcome_cell(view, table).palette.text().color() == QColor(DARK.good)


def test_a_closed_view_is_gone(table: DocumentTable, themes: Themes, icons: Icons) -> None:
    """Neither model, themes nor icons keep a view alive that nobody else has."""
    made: Any = _view(table, themes, icons)
    gone = weakref.ref(made)
    made.show()
    made.close()
    made.deleteLater()
    del made
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert gone() is None
    themes.set_appearance(Appearance.DARK)
