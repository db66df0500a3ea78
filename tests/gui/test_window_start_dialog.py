"""The question before a run: what it proposes, what it refuses, and what it says of an existing case."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel

from gui.views.start_dialog import StartDialog, look_at, summary_of


@pytest.fixture
def dialog(application: QApplication, tmp_path: Path) -> Iterator[StartDialog]:
    """Return a dialog over two sources, with the place of its case file looked at."""
    made = StartDialog([tmp_path / "a", tmp_path / "b"], request_id="R-1", case_path=tmp_path / "one.sluice")

    def answer(path: Path) -> None:
        made.show_place(look_at(path))

    made.place_asked.connect(answer)
    answer(made.path)
    yield made
    made.place_asked.disconnect(answer)
    made.deleteLater()


def test_the_proposals_can_be_taken_as_they_are(dialog: StartDialog, tmp_path: Path) -> None:
    """With nothing changed, Start begins a new case with the proposed id and place."""
    assert dialog.start_button.isEnabled()
    assert dialog.start_button.text() == "&Start"
    assert dialog.choice.request_id == "R-1"
    assert dialog.choice.case_path == tmp_path / "one.sluice"


def test_a_place_that_cannot_be_looked_at_seems_free(dialog: StartDialog, tmp_path: Path) -> None:
    """A path that the system refuses (here for its length) can be answered for: making the case says what is wrong."""
    dialog.case_path.setText(str(tmp_path / ("x" * 300)))
    assert dialog.start_button.isEnabled()


def test_an_existing_case_is_gone_on_with_or_avoided(dialog: StartDialog, tmp_path: Path) -> None:
    """An existing file changes the offer: go on with it under its own id, or take another name."""
    (tmp_path / "old.sluice").touch()
    (tmp_path / "old 2.sluice").touch()
    dialog.case_path.setText(str(tmp_path / "old.sluice"))
    assert dialog.start_button.text() == "&Go on with this case"
    assert not dialog.request_id.isEnabled()
    assert not dialog.other_name.isHidden()
    assert dialog.choice.request_id is None
    dialog.other_name.click()
    assert dialog.path == tmp_path / "old 3.sluice"
    assert dialog.choice.request_id == "R-1"


def test_a_name_without_suffix_gets_the_one_of_cases(dialog: StartDialog, tmp_path: Path) -> None:
    """A plain name becomes a case file, also where it holds dots."""
    dialog.case_path.setText(str(tmp_path / "v1.2"))
    assert dialog.path == tmp_path / "v1.2.sluice"


@pytest.mark.parametrize("text", ["", "relative.sluice", "  "])
def test_a_place_that_is_no_full_path_cannot_be_started(dialog: StartDialog, text: str) -> None:
    """Start is off, and the dialog says what is missing."""
    dialog.case_path.setText(text)
    assert not dialog.start_button.isEnabled()
    assert "full path" in dialog.hint.text()


def test_a_folder_cannot_be_a_case_file(dialog: StartDialog, tmp_path: Path) -> None:
    """A folder of that name is told, and Start is off."""
    (tmp_path / "folder.sluice").mkdir()
    dialog.case_path.setText(str(tmp_path / "folder.sluice"))
    assert not dialog.start_button.isEnabled()
    assert "folder" in dialog.hint.text()


def test_an_empty_request_id_cannot_be_started(dialog: StartDialog) -> None:
    """Without a request id nothing starts; spaces are none."""
    dialog.request_id.setText("   ")
    assert not dialog.start_button.isEnabled()
    assert "request id" in dialog.hint.text()


def test_nothing_starts_before_the_place_was_looked_at(application: QApplication, tmp_path: Path) -> None:
    """Until the answer about the place is there, Start is off; a late answer about another place changes nothing."""
    dialog = StartDialog([tmp_path], request_id="R-1", case_path=tmp_path / "one.sluice")
    asked: list[Path] = []
    dialog.place_asked.connect(asked.append)
    assert not dialog.start_button.isEnabled()
    dialog.case_path.setText(str(tmp_path / "two.sluice"))
    assert asked == [tmp_path / "two.sluice"]
    dialog.show_place(look_at(tmp_path / "one.sluice"))
    assert not dialog.start_button.isEnabled()
    dialog.show_place(look_at(tmp_path / "two.sluice"))
    assert dialog.start_button.isEnabled()
    dialog.deleteLater()


def test_hostile_names_of_sources_are_shown_inert(application: QApplication, tmp_path: Path) -> None:
    """Markup, line breaks, bytes that are no UTF-8 and turned writing direction are only characters to be read."""
    hostile = [tmp_path / "<img src=x>.pdf", tmp_path / "a\nb.pdf", tmp_path / "\u202efdp.exe", tmp_path / "\udcff.pdf"]
    dialog = StartDialog(hostile, request_id="R-1", case_path=tmp_path / "one.sluice")
    [label] = [label for label in dialog.findChildren(QLabel) if "<img src=x>.pdf" in label.text()]
    assert label.textFormat() is Qt.TextFormat.PlainText
    assert len(label.text().splitlines()) == len(hostile)
    assert "\\u{202e}fdp.exe" in label.text()
    assert "\\xff.pdf" in label.text()
    dialog.deleteLater()


def test_many_sources_are_counted_and_not_listed(tmp_path: Path) -> None:
    """The first few are named, the others counted."""
    summary = summary_of([tmp_path / str(number) for number in range(300)])
    assert summary.splitlines()[-1] == "and 296 more"
    assert len(summary.splitlines()) == 5
