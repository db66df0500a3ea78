"""Everything about one row: in sentences, with every recorded field, beside its table."""

from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QScrollArea

from engine import Outcome, Reason, RowState, SkipReason
from gui.models.dead_letter_table import DeadLetterTable
from gui.models.details import dead_letter_details, document_details
from gui.views.detail_pane import DetailPane, TableWithDetails
from gui.views.icons import Icons
from gui.views.labels import breakable
from gui.views.tables import RecordView
from gui.views.theme import Themes
from tests.support.window_records import dead_letter, document
from tests.support.windows import Show


@pytest.mark.parametrize("reason", list(Reason))
def test_a_dead_letter_is_spelled_out_with_its_whole_envelope(reason: Reason) -> None:
    """What happened, what it means and what to do are said, and every field of the envelope is there."""
    row = dead_letter(reason=reason, signal=9)
    details = dead_letter_details(row)
    assert [question for question, _ in details.sentences][:3] == ["What happened", "What it means", "What to do"]
    fields = dict(details.fields)
    assert fields["Reason"] == reason.value
    assert fields["Class"] == reason.failure_class
    assert fields["Ended by"] == "SIGKILL (9)"
    assert (fields["Trace"], fields["Request"], fields["Worker"]) == (row.trace_id, row.request_id, row.posture)
    assert all(text in details.text for text in (row.path, row.trace_id, reason.value, details.headline))


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        (document(), ["The text was read."]),
        (document(pages_dead=2), ["2\u00a0pages could not be processed"]),
        (document(repaired=True), ["had to be rebuilt"]),
        (document(outcome=Outcome.DEAD_LETTER, reason=Reason.ENCRYPTED, page_count=None), ["password", "\u2013"]),
        (document(outcome=Outcome.DUPLICATE, duplicate_of=7), ["the same bytes".capitalize(), "D0000007"]),
        (document(state=RowState.SKIPPED, outcome=None, reason=SkipReason.SYMBOLIC_LINK), ["Links are not followed"]),
        (document(state=RowState.PENDING, outcome=None, page_count=None), ["not yet looked into"]),
    ],
)
def test_a_document_is_spelled_out_wherever_it_stands(row: Any, parts: list[str]) -> None:
    """Every kind of row has its sentences, its findings, and where the file lies."""
    text = document_details(row).text
    for part in [*parts, row.path, row.root]:
        assert part in text


@pytest.fixture
def joined(themes: Themes, icons: Icons, show: Show) -> TableWithDetails:
    """Return a table of three dead letters with its details, on screen."""
    table = DeadLetterTable()
    view = RecordView(table, name="x", empty_title="x", empty_text="x", themes=themes, icons=icons)
    table.setParent(view)
    table.set_row_count(3)
    table.put_rows(1, [dead_letter(1), dead_letter(2, path="<b>x</b>.pdf", reason=Reason.ENCRYPTED)])
    return show(TableWithDetails(view, dead_letter_details, icons=icons), 1000, 400)


def _shown(joined: TableWithDetails) -> list[str]:
    return [label.text() for label in joined.pane.findChildren(QLabel) if label.isVisible()]


def test_the_current_row_is_spelled_out_beside_the_table(joined: TableWithDetails) -> None:
    """Without a row there is a hint; with one its details; a row that has not come yet gives the hint again."""
    joined.view.setCurrentIndex(QModelIndex())
    assert _shown(joined) == ["Select a row to see what happened, what it means and what to do."]
    joined.view.selectRow(1)
    QApplication.processEvents()
    details = dead_letter_details(dead_letter(2, path="<b>x</b>.pdf", reason=Reason.ENCRYPTED))
    assert details.headline in _shown(joined)
    assert all(value in _shown(joined) for _, value in (*details.sentences, *details.fields))
    assert joined.pane.accessibleDescription() == details.text
    joined.view.selectRow(2)
    assert joined.pane.details is None


def test_the_details_can_be_copied(joined: TableWithDetails) -> None:
    """One button copies all of it as plain text, for a report."""
    joined.view.selectRow(0)
    joined.pane.copy_button.click()
    assert QGuiApplication.clipboard().text() == dead_letter_details(dead_letter(1)).text
    assert not QGuiApplication.clipboard().mimeData().hasHtml()


def test_long_paths_break_and_stay_what_they_are() -> None:
    """Places for a break are added for showing, and nothing is lost or changed."""
    path = "department/a_very-long.name/" + "x" * 100 + ".pdf"
    shown = breakable(path)
    assert shown.replace("\u200b", "") == path
    assert max(len(part) for part in shown.split("\u200b")) <= 24


def test_whatever_is_recorded_fits_the_width_of_the_pane(icons: Icons, show: Show) -> None:
    """Words without a place to break, such as long names and the layers of a sandbox, are broken, not cut off."""
    pane = show(DetailPane(icons=icons), 330, 400)
    row = replace(dead_letter(path="x" * 150 + ".pdf"), posture="landlock:" + "files+network" * 9, request_id="R" * 60)
    pane.show_details(dead_letter_details(row))
    QApplication.processEvents()
    [area] = pane.findChildren(QScrollArea)
    inside = area.widget()
    assert inside is not None
    assert inside.width() <= area.viewport().width()
    assert inside.minimumSizeHint().width() <= area.viewport().width()
