"""The header and the status line: what they show in every state, and what a screen reader hears."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel

from engine import Counts, HoldCause, Posture, RunState
from gui.models.progress import headline
from gui.views.header import RunHeader
from gui.views.icons import Icons
from gui.views.labels import ElidedLabel, Notice, PlainLabel, Tone, set_mark
from gui.views.status_line import StatusLine
from gui.views.theme import Appearance, Themes
from tests.support.window_records import HALF_WAY, RECONCILED, snapshot
from tests.support.windows import Show


@pytest.fixture
def header(themes: Themes, icons: Icons, show: Show) -> RunHeader:
    """Return a header on screen."""
    return show(RunHeader(themes=themes, icons=icons), 1000, 200)


@pytest.fixture
def status(themes: Themes, icons: Icons, show: Show) -> StatusLine:
    """Return a status line on screen."""
    return show(StatusLine(themes=themes, icons=icons), 700, 40)


def _plain(label: QLabel) -> str:
    return label.text().replace("\u00a0", " ")


@pytest.mark.parametrize("state", list(RunState))
def test_every_state_is_shown_with_its_words_and_its_sum(header: RunHeader, state: RunState) -> None:
    """Whatever the state, headline, sums and counts are there, and all of it is plain text."""
    shown = snapshot(state, RECONCILED if state is RunState.FINISHED else HALF_WAY)
    header.show_snapshot(shown)
    assert header.state_label.text() == headline(shown)
    assert " enumerated = " in header.pages_label.text()
    assert " enumerated = " in header.documents_label.text()
    assert header.extracted.number_label.text() == "540"
    assert header.dead.number_label.text() == "56"
    assert header.duplicates.number_label.text() == "10"
    assert header.left_out.number_label.text() == "12"
    for label in header.findChildren(QLabel):
        assert label.textFormat() is Qt.TextFormat.PlainText or not label.text()


def test_the_bar_is_busy_while_no_total_is_known(header: RunHeader) -> None:
    """While files are still found the bar runs without a figure; afterwards it has one, below 100."""
    header.show_snapshot(snapshot(enumerating=True))
    assert (header.bar.minimum(), header.bar.maximum()) == (0, 0)
    assert header.progress_label.text().startswith("Still finding files")
    header.show_snapshot(snapshot())
    assert (header.bar.maximum(), header.bar.value()) == (100, 46)
    assert header.bar.property("notice") is None


def test_the_bar_is_full_only_when_everything_is_accounted_for(header: RunHeader) -> None:
    """The full bar, in the colour of success, belongs to the reconciled case alone."""
    header.show_snapshot(snapshot(RunState.FINISHED, RECONCILED))
    assert (header.bar.value(), header.bar.property("notice")) == (100, "good")
    header.show_snapshot(snapshot(RunState.IDLE, Counts()))
    assert (header.bar.value(), header.bar.property("notice")) == (0, None)


def test_a_sum_is_never_cut_off(header: RunHeader) -> None:
    """Wide enough, the sums stand beside the tiles; else below them, with their whole width."""
    header.show_snapshot(snapshot())
    for width, beside in ((1500, True), (800, False), (1500, True)):
        header.resize(width, 200)
        QApplication.processEvents()
        assert (header.pages_label.y() < header.dead.y() + header.dead.height()) is beside
        assert header.pages_label.width() >= header.pages_label.sizeHint().width()


def test_an_error_is_shown_below_the_headline(header: RunHeader) -> None:
    """The sentence of an error is there to be read, and goes with the error."""
    header.show_snapshot(snapshot(RunState.INCOMPLETE, error="The disk is full."))
    assert header.subline_label.isVisible()
    assert header.subline_label.text() == "The disk is full."
    header.show_snapshot(snapshot())
    assert not header.subline_label.isVisible()


def test_numbers_are_told_to_a_screen_reader(header: RunHeader) -> None:
    """Each tile says what it counts and what that means; the bar says how far it is."""
    header.show_snapshot(snapshot())
    assert header.dead.accessibleName() == "dead letters: 56"
    assert "6 documents that could not be opened" in header.dead.accessibleDescription().replace("\u00a0", " ")
    assert "600 of 1,204" in header.bar.accessibleDescription()


def test_the_header_takes_over_another_theme(header: RunHeader, themes: Themes) -> None:
    """Its drawing is tinted anew when the theme changes."""
    header.show_snapshot(snapshot(RunState.PAUSED))
    before = header._drawing.pixmap().toImage()
    themes.set_appearance(Appearance.DARK)
    QApplication.processEvents()
    assert header._drawing.pixmap().toImage() != before


def test_the_status_line_says_what_the_run_waits_for(status: StatusLine) -> None:
    """The sentence is shown and told to a screen reader; without one the line makes no room."""
    status.show_snapshot(snapshot(bottleneck="The disk is the bottleneck."))
    assert status.sentence_label.text() == status.accessibleDescription() == "The disk is the bottleneck."
    status.show_snapshot(snapshot(bottleneck=""))
    assert not status.isVisible()


def test_the_status_line_stands_out_when_something_outside_holds_the_run_up(status: StatusLine) -> None:
    """The usual watermark is no alarm; a lack of memory is, and its tooltip explains it."""
    status.show_snapshot(snapshot(holds=[HoldCause.WATERMARK]))
    assert status.property("notice") == Tone.INFO.value
    status.show_snapshot(snapshot(holds=[HoldCause.MEMORY]))
    assert status.property("notice") == Tone.WARN.value
    assert "memory budget" in status.toolTip()
    status.show_snapshot(snapshot())
    assert (status.property("notice"), status.toolTip()) == (Tone.INFO.value, "")


def test_labels_take_no_text_for_markup(show: Show) -> None:
    """What looks like markup is shown as it stands, shortened or not."""
    label = PlainLabel("<b>x</b>")
    short = ElidedLabel("<b>x</b> and much more that does not fit")
    assert label.textFormat() is short.textFormat() is Qt.TextFormat.PlainText
    assert "&lt;b&gt;" in short.toolTip()
    show(short, 40, 20)
    show(label, 40, 20)


def test_a_notice_is_hidden_while_it_has_nothing_to_say(show: Show, themes: Themes) -> None:
    """It shows with its words and hides without, and a mark that stays the same costs nothing."""
    notice = show(Notice(), 200, 40)
    notice.say("Too many.")
    assert notice.isVisible()
    assert notice.accessibleName() == "Too many."
    notice.say("Applied.", Tone.GOOD)
    assert notice.property("notice") == "good"
    set_mark(notice, "notice", "good")
    notice.say("")
    assert not notice.isVisible()


@pytest.mark.parametrize(("confined", "short"), [(True, "Workers: sandboxed"), (False, "Workers: reduced protection")])
def test_the_posture_of_the_workers_stands_at_the_right(status: StatusLine, confined: bool, short: str) -> None:  # noqa: FBT001  # a parameter
    """In a word or two, with all of it for whoever points at it or listens; without workers there is nothing."""
    words = "Landlock 3; <b>no</b> seccomp: not supported"
    posture = Posture(limits=("memory 1 GiB", "no core files"), sandbox=words, parser="p 1", confined=confined)
    status.show_snapshot(snapshot())
    assert not status.posture_label.isVisible()
    status.show_snapshot(replace(snapshot(), posture=posture))
    label = status.posture_label
    assert label.isVisible()
    assert label.text() == short
    assert words in label.accessibleDescription()
    assert "memory 1 GiB, no core files" in label.accessibleDescription()
    assert "&lt;b&gt;" in label.toolTip()
    assert label.geometry().left() > status.sentence_label.geometry().right()
    status.show_snapshot(replace(snapshot(), posture=posture, bottleneck=""))
    assert status.isVisible()
    assert label.isVisible()
