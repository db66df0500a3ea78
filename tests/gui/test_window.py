"""The main window over scripted sessions: what it does at once, what it shows, and how it goes."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QAccessible, QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QDockWidget,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QMenuBar,
    QMessageBox,
    QTabBar,
    QWidget,
)

from engine import CaseInUseError, Directories, RunState, SettingsError
from gui.app.faults import Faults
from gui.views.labels import Tone
from gui.views.messages import Message
from gui.views.start_dialog import StartDialog
from gui.views.tables import RecordView
from gui.window.run_page import RunPage
from gui.window.seams import Engine
from tests.bench.paints import PaintCount
from tests.support.scripted_session import (
    ScriptedOpener,
    ScriptedSession,
    case_info,
    counts_of,
    document_row,
    until,
)
from tests.support.window_records import dead_letter
from tests.support.window_stage import Stage, drag_over, drop, mime_of, staged

pytestmark = pytest.mark.one_loop("qasync")


@dataclass
class Scripted(Stage):
    """A window with scripted sessions behind it."""

    opener: ScriptedOpener

    @property
    def session(self) -> ScriptedSession:
        """The session opened last."""
        return self.opener.opened[-1]

    async def run_on(self, path: Path) -> ScriptedSession:
        """Start a run with the proposals taken, and wait until it runs."""
        self.window.take([path])
        await until(lambda: self.opener.opened and self.session.state is RunState.RUNNING)
        return self.session


@asynccontextmanager
async def _stage(tmp_path: Path) -> AsyncIterator[Scripted]:
    opener = ScriptedOpener()

    async def sample(_folder: Path) -> int:
        return 0

    engine = Engine(directories=Directories.below(tmp_path), open_case=opener, write_sample_batch=sample)
    async with staged(engine) as stage:
        try:
            yield Scripted(stage.window, stage.tasks, opener)
        finally:
            for session in opener.opened:
                session.let_go()


async def test_it_begins_with_the_empty_page(tmp_path: Path) -> None:
    """Without a case there is the place to drop a folder, and nothing that needs a case can be used."""
    async with _stage(tmp_path) as stage:
        window = stage.window
        assert window.pages.currentWidget() is window.empty_page
        assert window.windowTitle() == "Sluicegate"
        assert not window.toolbar.isVisible()
        assert not window.actions_.pause.isEnabled()
        assert not window.actions_.export_audit.isEnabled()
        assert window.actions_.open_folder.isEnabled()


async def test_it_gets_ready_for_a_case_without_showing_it(tmp_path: Path) -> None:
    """Once it is painted the page and the panel of a case are made, and neither is seen."""
    async with _stage(tmp_path) as stage:
        window = stage.window
        assert window.pages.count() == 1
        await stage.settle()
        assert window.pages.count() == 2
        assert window.pages.currentWidget() is window.empty_page
        [dock] = window.findChildren(QDockWidget)
        assert not dock.isVisible()
        assert not window.actions_.limits.isChecked()


async def test_what_is_asked_for_before_it_is_ready_is_made_at_once(tmp_path: Path) -> None:
    """The limits and the page of a case do not wait until the window got ready, and are made only once."""
    async with _stage(tmp_path) as stage:
        window = stage.window
        window.actions_.limits.trigger()
        [dock] = window.findChildren(QDockWidget)
        assert dock.isVisible()
        page = window.run_page
        await stage.settle()
        assert window.findChildren(QDockWidget) == [dock]
        assert dock.isVisible()
        assert window.findChildren(RunPage) == [page]
        window.actions_.limits.trigger()
        assert not dock.isVisible()


async def test_a_drop_returns_at_once_and_then_asks(tmp_path: Path) -> None:
    """When the drop event returns nothing has been opened or looked at; the question follows on the loop."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "c.pdf").touch()
    async with _stage(tmp_path) as stage:
        assert drop(stage.window, mime_of(tmp_path / "a", tmp_path / "b", tmp_path / "c.pdf"))
        assert not stage.window.findChildren(StartDialog)
        assert stage.opener.opened == []
        dialog = await stage.dialog(StartDialog)
        await until(dialog.start_button.isEnabled)
        dialog.start_button.click()
        await until(lambda: stage.opener.opened and stage.session.calls)
        assert stage.session.calls == ["run 3"]


async def test_only_local_files_and_folders_can_be_dropped(tmp_path: Path) -> None:
    """Local paths are accepted and shown as such while they hover; addresses and text are not."""
    async with _stage(tmp_path) as stage:
        address, words = QMimeData(), QMimeData()
        address.setUrls([QUrl("https://example.org/a.pdf")])
        words.setText("/etc/passwd")
        assert not drag_over(stage.window, address)
        assert not drag_over(stage.window, words)
        assert not stage.window.empty_page.zone.active
        assert drag_over(stage.window, mime_of(tmp_path))
        assert stage.window.empty_page.zone.active


async def test_space_pauses_at_once_and_goes_on_again(tmp_path: Path) -> None:
    """When the key press returns, the session is held, the header says so and the button offers to resume."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        stage.window.refresh.now()
        QTest.keyClick(stage.window, Qt.Key.Key_Space)
        assert session.calls == ["run 1", "pause"]
        assert "Pausing, 12 in flight" in stage.header()
        assert stage.window.actions_.pause.text() == "&Resume"
        assert "Pausing" in stage.window.windowTitle()
        QTest.keyClick(stage.window, Qt.Key.Key_Space)
        assert session.calls == ["run 1", "pause", "resume"]
        assert "Running" in stage.header()
        assert stage.window.actions_.pause.text() == "&Pause"


async def test_space_on_a_focused_button_presses_it_and_does_not_pause(tmp_path: Path) -> None:
    """People who work with the keyboard can still press what has the focus."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        box = stage.window.run_page.charts.holds_box
        box.setFocus()
        before = box.isChecked()
        QTest.keyClick(box, Qt.Key.Key_Space)
        assert box.isChecked() != before
        assert session.calls == ["run 1"]


async def test_header_tabs_and_title_show_the_counts_of_the_session(tmp_path: Path) -> None:
    """The numbers are those of the session; the title names case and state, and no document."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.counts = counts_of(1200, dead=34, pending=7)
        session.rows = [document_row(number, f"secret-{number}.pdf") for number in range(1, 1242)]
        stage.window.refresh.tick()
        assert "1,241 pages enumerated = 1,200 extracted + 34 dead letters + 0 duplicates + 7 pending" in stage.header()
        tabs = stage.window.run_page.tabs
        assert [tabs.tabText(0), tabs.tabText(1)] == ["Docu&ments (1,241)", "D&ead letters (34)"]
        model = stage.window.run_page.documents
        assert model.rowCount() == 1241
        await until(lambda: model.held_record(0))
        title = stage.window.windowTitle()
        assert title.startswith(session.info.path.stem)
        assert "Running" in title
        assert "secret" not in title


async def test_a_hidden_window_pulls_for_its_title_only(tmp_path: Path) -> None:
    """While nobody sees it no charts are read; once it is seen again everything is current at once."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        stage.window.refresh.tick()
        stage.window.hide()
        reads, snapshots = session.metrics.reads, session.snapshots
        session.counts = counts_of(5)
        session.state = RunState.STOPPING
        stage.window.refresh.tick()
        assert session.metrics.reads == reads
        assert session.snapshots > snapshots
        assert "Stopping" in stage.window.windowTitle()
        assert "5 extracted" not in stage.header()
        stage.window.show()
        assert session.metrics.reads > reads
        assert "5 extracted" in stage.header()


async def test_a_case_at_rest_is_not_drawn_again_and_again(tmp_path: Path) -> None:
    """Without a run and without news, a tick reads no charts."""
    async with _stage(tmp_path) as stage:
        stage.opener.prepare = ScriptedSession(case_info(tmp_path / "a.sluice"), counts=counts_of(5))
        await stage.window.control.open(tmp_path / "a.sluice")
        stage.window.refresh.tick()
        reads = stage.session.metrics.reads
        stage.window.refresh.tick()
        assert stage.session.metrics.reads == reads


async def test_the_timer_runs_only_while_a_case_is_open(tmp_path: Path) -> None:
    """No case, no timer."""
    async with _stage(tmp_path) as stage:
        assert not stage.window.refresh.active
        await stage.window.control.open(tmp_path / "a.sluice")
        assert stage.window.refresh.active
        await stage.window.control.close()
        assert not stage.window.refresh.active


async def test_an_unfinished_case_offers_to_resume(tmp_path: Path) -> None:
    """Opened again, it shows where it stands, and one press goes on with what is pending."""
    async with _stage(tmp_path) as stage:
        info = replace(case_info(tmp_path / "a.sluice"), paused=True)
        stage.opener.prepare = ScriptedSession(info, counts=counts_of(5, pending=3))
        stage.window.opening.open_case(info.path)
        await until(lambda: stage.window.pages.currentWidget() is stage.window.run_page)
        assert "Paused" in stage.header()
        assert stage.window.actions_.pause.text() == "&Resume"
        stage.window.actions_.pause.trigger()
        await until(lambda: stage.session.state is RunState.RUNNING)
        assert stage.session.calls == ["resume", "run 0"]


async def test_limits_are_applied_or_refused_in_their_panel(tmp_path: Path) -> None:
    """Applied limits reach the session at once; a refusal stands in the panel, which then shows what is in force."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        window, panel = stage.window, stage.window.limits_panel
        window.actions_.limits.trigger()
        assert window.limits_dock.isVisible()
        panel.boxes["workers"].setValue(7)
        panel.apply()
        assert session.settings.flow.workers == 7
        session.refuse = SettingsError("Too many <b>workers</b>.")
        panel.boxes["workers"].setValue(9)
        panel.apply()
        assert panel.answer.text() == "Too many <b>workers</b>."
        assert panel.answer.textFormat() is Qt.TextFormat.PlainText
        assert panel.in_force.workers == 7
        await stage.settle()


async def test_finishing_is_told_and_the_dead_letters_are_marked(tmp_path: Path) -> None:
    """The message has the numbers, the tab the count, and nothing is left to pause."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.finish(counts_of(10, dead=2))
        await until(lambda: not stage.window.control.running)
        assert stage.said() == ["Finished: 12 documents with 12 pages, all accounted for; 2 dead letters."]
        assert stage.window.run_page.tabs.tabText(1) == "D&ead letters (2)"
        assert not stage.window.actions_.pause.isEnabled()
        assert not stage.window.actions_.stop.isEnabled()


async def test_exporting_asks_for_the_file_and_tells_the_result(tmp_path: Path) -> None:
    """The file dialog blocks nothing, the window works while the export is written, and its result is a message."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.counts = counts_of(3)
        stage.window.refresh.tick()
        held = session.hold_export = asyncio.Event()
        stage.window.actions_.export_audit.trigger()
        files = await stage.dialog(QFileDialog)
        files.setDirectory(str(tmp_path))
        name = files.findChild(QLineEdit, "fileNameEdit")
        assert isinstance(name, QLineEdit)
        name.setText("out")
        files.accept()
        await until(lambda: session.calls[-1] == "export out.jsonl")
        stage.window.actions_.pause.trigger()
        assert session.calls[-1] == "pause"
        held.set()
        await stage.settle()
        assert stage.said() == [
            f"Exported 12,345 records to {tmp_path / 'out.jsonl'}; verified; head of the chain 0123456789abcdef"
        ]


async def test_closing_waits_for_an_export_that_is_being_written(tmp_path: Path) -> None:
    """The case is not closed under an export: it is written and told first."""
    async with _stage(tmp_path) as stage:
        await stage.window.control.open(tmp_path / "a.sluice")
        held = stage.session.hold_export = asyncio.Event()
        stage.tasks.start(stage.window.control.export_audit(tmp_path / "x", shown_as="x"), name="export")
        await until(lambda: stage.session.calls)
        stage.window.close()
        await until(lambda: "Closing when the export is written…" in stage.said())
        assert stage.session.calls == ["export x"]
        held.set()
        await stage.window.until_closed()
        assert stage.session.calls == ["export x", "close"]


async def test_closing_during_a_run_asks_once_and_can_be_taken_back(tmp_path: Path) -> None:
    """However often it is closed there is one question; Escape and `Keep running` leave the run alone."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        for _ in range(3):
            stage.window.close()
        question = await stage.dialog(QMessageBox)
        stage.window.close()
        await asyncio.sleep(0)
        assert stage.window.findChildren(QMessageBox) == [question]
        assert question.textFormat() is Qt.TextFormat.PlainText
        question.reject()
        await stage.settle()
        assert session.calls == ["run 1"]
        assert stage.window.isVisible()
        assert not stage.window.leaving.done.is_set()


async def test_closing_during_a_run_stops_safely_before_the_window_goes(tmp_path: Path) -> None:
    """After the answer the session is stopped and closed, and only then the window is let go."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.hold_close = asyncio.Event()
        stage.window.close()
        question = await stage.dialog(QMessageBox)
        question.defaultButton().click()
        await until(lambda: session.calls[-1] == "close")
        assert session.calls == ["run 1", "stop", "close"]
        assert stage.window.isVisible()
        assert not stage.window.leaving.done.is_set()
        session.hold_close.set()
        await stage.window.until_closed()
        assert not stage.window.isVisible()


async def test_closing_at_rest_asks_nothing(tmp_path: Path) -> None:
    """Without a run the window goes at once."""
    async with _stage(tmp_path) as stage:
        await stage.window.control.open(tmp_path / "a.sluice")
        stage.window.close()
        await stage.window.until_closed()
        assert stage.session.calls == ["close"]


async def test_a_stop_from_outside_takes_the_question_away(tmp_path: Path) -> None:
    """When the system ends the program while the question stands, it stops safely without an answer."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        stage.window.close()
        await stage.dialog(QMessageBox)
        stage.window.stop_and_go()
        await stage.window.until_closed()
        assert session.calls == ["run 1", "stop", "close"]


async def test_closing_the_case_goes_back_to_the_empty_page(tmp_path: Path) -> None:
    """The case is closed, the page is empty, and the case stands among the recent ones."""
    async with _stage(tmp_path) as stage:
        (tmp_path / "a.sluice").touch()
        await stage.window.control.open(tmp_path / "a.sluice", request_id="R-5")
        stage.window.refresh.now()
        stage.window.actions_.close_case.trigger()
        await until(lambda: stage.window.pages.currentWidget() is stage.window.empty_page)
        await stage.settle()
        assert stage.window.empty_page.recent.item(0).text() == "R-5"
        assert stage.window.windowTitle() == "Sluicegate"
        assert stage.window.run_page.documents.rowCount() == 0


async def test_a_case_in_use_is_a_message_and_the_window_stays(tmp_path: Path) -> None:
    """The engine's sentence stands on the page, without a dialog."""
    async with _stage(tmp_path) as stage:
        stage.opener.refuse = CaseInUseError("Process 4711 has this case open.")
        stage.window.opening.open_case(tmp_path / "a.sluice")
        await until(stage.said)
        assert stage.said() == ["Process 4711 has this case open."]
        assert stage.window.pages.currentWidget() is stage.window.empty_page


async def test_messages_are_plain_text_whatever_is_in_them(tmp_path: Path) -> None:
    """Markup is shown as written, controls and turned writing direction as their numbers."""
    async with _stage(tmp_path) as stage:
        stage.window.messages.show_message("<img src='http://x'>\u202egpj.exe\x07\udcff", Tone.BAD)
        [message] = stage.window.messages.findChildren(Message)
        [label] = [label for label in message.findChildren(QLabel) if label.text()]
        assert label.textFormat() is Qt.TextFormat.PlainText
        assert label.text() == "<img src='http://x'>\\u{202e}gpj.exe\\u{7}\\u{dcff}"


async def test_hostile_names_are_inert_in_tables_and_recent_cases(tmp_path: Path) -> None:
    """A name that looks like markup is text in the table, and its tooltip shows it escaped."""
    hostile = "<b>a</b><img src=x>.pdf"
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.counts = counts_of(0, pending=1)
        session.rows = [document_row(1, hostile)]
        stage.window.refresh.tick()
        model = stage.window.run_page.documents
        await until(lambda: model.held_record(0))
        index = model.index(0, 1)
        assert index.data() == hostile
        assert "<b>" not in index.data(Qt.ItemDataRole.ToolTipRole)


async def test_messages_do_not_pile_up(tmp_path: Path) -> None:
    """A few stand at once, the same one only once, and what was going on gives way to its result."""
    async with _stage(tmp_path) as stage:
        messages = stage.window.messages
        messages.show_passing("Exporting…")
        messages.show_message("Exported.", Tone.GOOD)
        assert stage.said() == ["Exported."]
        for number in (1, 2, 1, 3, 4):
            messages.show_message(str(number))
        assert stage.said() == ["1", "3", "4"]
        messages.clear()
        assert not messages.isVisible()


async def test_everything_that_takes_the_focus_has_a_name(tmp_path: Path) -> None:
    """A screen reader can name whatever the keyboard reaches, on both pages and in the panel."""
    async with _stage(tmp_path) as stage:
        nameless: list[str] = []

        def look() -> None:
            for widget in stage.window.findChildren(QWidget):
                reached = widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
                if reached and widget.focusProxy() is None:
                    reader = QAccessible.queryAccessibleInterface(widget)
                    if not reader.text(QAccessible.Text.Name):
                        nameless.append(f"{type(widget).__name__} in {type(widget.parent()).__name__}")

        look()
        await stage.run_on(tmp_path)
        stage.window.actions_.limits.trigger()
        stage.window.messages.show_message("Something", Tone.INFO)
        look()
        assert nameless == []


async def test_shortcuts_and_mnemonics_do_not_collide(tmp_path: Path) -> None:
    """No key means two things, and within a menu no letter does."""
    async with _stage(tmp_path) as stage:
        actions = [action for action in stage.window.findChildren(QAction) if not action.shortcut().isEmpty()]
        keys = [action.shortcut().toString() for action in actions if action.parent() is stage.window]
        assert len(keys) == len(set(keys))
        assert {"Space", "Ctrl+O", "Ctrl+E", "Ctrl+Shift+E", "Ctrl+L", "Ctrl+W", "Ctrl+Q"} <= set(keys)
        for menu in [stage.window.menuBar(), *stage.window.menuBar().findChildren(QMenu)]:
            letters = [
                action.text()[action.text().index("&") + 1].lower() for action in menu.actions() if "&" in action.text()
            ]
            assert len(letters) == len(set(letters)), letters


async def test_an_error_in_a_slot_is_shown_in_the_window(tmp_path: Path) -> None:
    """A fault of ours becomes a message, and the window goes on."""
    async with _stage(tmp_path) as stage:
        faults = Faults()
        faults.show = stage.window.show_fault
        faults.report("window", ValueError("with text of a document"))
        assert "ValueError" in stage.said()[0]
        assert "text of a document" not in stage.said()[0]


async def test_a_closed_window_is_garbage(tmp_path: Path) -> None:
    """Once it is closed nothing holds it: not its actions, dialogs, tasks or connections."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.counts = counts_of(3, dead=1)
        stage.window.refresh.tick()
        stage.window.close()
        (await stage.dialog(QMessageBox)).defaultButton().click()
        await stage.window.until_closed()
        watched = [
            weakref.ref(thing)
            for thing in (stage.window, stage.window.control, stage.window.run_page, stage.window.actions_)
        ]
    del stage, session
    gc.collect()
    assert [type(thing()).__name__ for thing in watched] == ["NoneType"] * len(watched)


def _letters(window: QWidget, bar: QMenuBar) -> list[str]:
    """Return the letters that mean something together with Alt, of all that shows."""
    texts = [action.text() for action in bar.actions()]
    for widget in window.findChildren(QWidget):
        if not widget.isVisible():
            continue
        if isinstance(widget, QTabBar):
            texts += [widget.tabText(place) for place in range(widget.count())]
        elif isinstance(widget, QAbstractButton) or (isinstance(widget, QLabel) and widget.buddy() is not None):
            texts.append(widget.text())
    return [keys.toString() for keys in map(QKeySequence.mnemonic, texts) if not keys.isEmpty()]


def _shows_a_record(view: RecordView) -> bool:
    return view.current_record() is not None


async def test_with_alt_a_letter_means_one_thing(tmp_path: Path) -> None:
    """Menus, tabs, buttons and fields that show together share no letter, on either page and tab."""
    async with _stage(tmp_path) as stage:
        window, page = stage.window, stage.window.run_page
        window.actions_.limits.trigger()
        found = {"empty": _letters(window, window.menuBar())}
        session = await stage.run_on(tmp_path)
        session.counts = counts_of(0, dead=1)
        session.rows = [document_row(1, "a.pdf")]
        session.dead = [dead_letter()]
        window.limits_dock.show()
        window.limits_panel.rate_switch.setChecked(True)
        window.refresh.now()
        for place, view in enumerate((page.documents_view, page.dead_letters_view)):
            page.tabs.setCurrentIndex(place)
            view.selectRow(0)
            await until(partial(_shows_a_record, view))
            found[view.accessibleName()] = _letters(window, window.menuBar())
        for letters in found.values():
            assert len(letters) == len(set(letters)), found
        assert {"Alt+H", "Alt+Y", "Alt+G", "Alt+O", "Alt+T", "Alt+A"} <= set(found["Documents"])


async def test_a_tick_takes_one_snapshot(tmp_path: Path) -> None:
    """Title, actions, header and tables show one and the same moment."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        before = session.snapshots
        stage.window.refresh.tick()
        assert session.snapshots == before + 1


async def test_charts_follow_at_their_own_pace(tmp_path: Path) -> None:
    """A tick of the numbers reads no metrics; one of the charts does, as long as a run goes on."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        refresh = stage.window.refresh
        refresh.now()
        reads = session.metrics.reads
        refresh.tick()
        assert session.metrics.reads == reads
        refresh.tick_charts()
        assert session.metrics.reads == reads + 1
        session.finish()
        await until(lambda: not stage.window.control.running)
        reads = session.metrics.reads
        refresh.tick_charts()
        assert session.metrics.reads == reads


async def test_rows_that_show_are_read_anew_once_however_often_the_counts_change(tmp_path: Path) -> None:
    """New counts ask for the rows that show already after a while, all together; new rows come at once."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.rows = [document_row(1, "a.pdf")]
        session.counts = counts_of(0, pending=1)
        page = stage.window.run_page
        asked: list[int] = []
        page.documents.requested.connect(lambda first, _limit: asked.append(first))
        stage.window.refresh.tick()
        await until(lambda: len(asked) == 2)  # the new row at once, and a second later what shows
        await stage.settle()
        for records in (20, 30, 40):
            session.counts = counts_of(0, pending=1, audit_records=records)
            stage.window.refresh.tick()
            assert page.rows_due.waiting
        await until(lambda: len(asked) > 2)
        assert not page.rows_due.waiting
        await stage.settle()
        assert asked == [1, 1, 1]


async def test_counts_that_change_do_not_paint_the_tables_anew(tmp_path: Path) -> None:
    """While pages are done and no file is found, the header changes four times a second, and the tables do not."""
    async with _stage(tmp_path) as stage:
        session = await stage.run_on(tmp_path)
        session.rows = [document_row(number, f"{number}.pdf") for number in range(1, 31)]
        session.counts = counts_of(1, dead=1, pending=28)
        stage.window.refresh.now()
        await stage.settle()
        page = stage.window.run_page
        header = PaintCount(page.header)
        tables = PaintCount()
        for extracted in range(2, 10):
            if extracted == 6:  # what the opening had left to paint is painted
                tables = PaintCount(page.documents_view.viewport(), page.tabs)
            session.counts = counts_of(extracted, dead=1, pending=29 - extracted)
            painted = header.painted
            stage.window.refresh.tick()
            page.rows_due.drop()
            await until(partial(header.painted_since, painted))
        assert tables.painted == 0


async def test_what_can_be_done_is_offered_no_more_while_the_case_is_closing(tmp_path: Path) -> None:
    """Export, pause and close cannot be pressed any more once closing has begun."""
    async with _stage(tmp_path) as stage:
        await stage.window.control.open(tmp_path / "a.sluice")
        session, actions = stage.session, stage.window.actions_
        session.counts = counts_of(3)
        stage.window.refresh.now()
        assert actions.export_audit.isEnabled()
        held = session.hold_close = asyncio.Event()
        actions.close_case.trigger()
        await until(lambda: session.calls == ["close"])
        stage.window.refresh.now()
        assert not any(action.isEnabled() for action in (actions.export_audit, actions.export_text, actions.close_case))
        held.set()
        await stage.settle()
