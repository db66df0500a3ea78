"""From dropped paths to a run: which paths are taken, what is asked, and that nothing of it blocks."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QMimeData, QUrl
from PySide6.QtWidgets import QFileDialog, QWidget

from engine import Directories, RunState, SourceError
from gui.app.tasks import TaskOwner
from gui.views.start_dialog import StartDialog
from gui.window.control import CaseControl
from gui.window.opening import Opening, local_paths
from gui.window.seams import Engine
from tests.support.scripted_session import ScriptedOpener, until

pytestmark = pytest.mark.one_loop("qasync")


@dataclass
class Desk:
    """An `Opening` over a bare window, with scripted sessions behind it."""

    opening: Opening
    control: CaseControl
    opener: ScriptedOpener
    window: QWidget
    tasks: TaskOwner
    said: list[str] = field(default_factory=list)

    async def dialog(self) -> StartDialog:
        """Wait for the question before a run, ready to be answered."""
        await until(lambda: self.window.findChildren(StartDialog))
        [dialog] = self.window.findChildren(StartDialog)
        await until(dialog.start_button.isEnabled)
        return dialog

    async def settle(self) -> None:
        """Wait until no task of the window is left but runs."""
        await until(lambda: not set(self.tasks.running) - {"run"})


@asynccontextmanager
async def _desk(tmp_path: Path) -> AsyncIterator[Desk]:
    opener = ScriptedOpener()

    async def sample(folder: Path) -> int:
        await asyncio.sleep(0)
        if (folder.parent / "broken").exists():
            raise SourceError("The sample batch cannot be written here.")
        folder.mkdir(parents=True)  # noqa: ASYNC240  # a temporary folder of the test's own
        return 7

    engine = Engine(directories=Directories.below(tmp_path), open_case=opener, write_sample_batch=sample)
    failures: list[tuple[str, Exception]] = []
    window = QWidget()
    async with TaskOwner(lambda name, error: failures.append((name, error))) as tasks:
        control = CaseControl(engine=engine, tasks=tasks)
        desk = Desk(Opening(control=control, engine=engine, tasks=tasks, window=window), control, opener, window, tasks)
        control.said.connect(lambda text, _tone: desk.said.append(text.replace("\u00a0", " ")))
        yield desk
        await control.close()
        await desk.settle()
    window.deleteLater()
    assert failures == []


async def test_taking_a_folder_asks_once_and_runs_on_it(tmp_path: Path) -> None:
    """The call returns before anything happened; after the one question the run has the sources."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b.pdf").touch()
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path / "a", tmp_path / "b.pdf"])
        assert desk.opener.opened == []
        assert not desk.window.findChildren(StartDialog)
        dialog = await desk.dialog()
        dialog.request_id.setText("R-77")
        dialog.start_button.click()
        await until(lambda: desk.opener.opened and desk.opener.opened[0].calls)
        assert desk.opener.opened[0].info.request_id == "R-77"
        assert desk.opener.opened[0].calls == ["run 2"]


async def test_a_source_that_is_not_there_makes_no_case(tmp_path: Path) -> None:
    """A mistyped folder is told before a case is opened for it."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path / "nowhere"], ask=False)
        await desk.settle()
        assert desk.opener.opened == []
        assert "nowhere" in desk.said[0]


@pytest.mark.parametrize("ask", [True, False])
async def test_a_source_that_cannot_be_looked_at_is_told(tmp_path: Path, ask: bool) -> None:  # noqa: FBT001  # a case
    """A path that the system refuses (here for its length) is a sentence and no fault of the program."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path, tmp_path / ("x" * 300)], ask=ask)
        await desk.settle()
        assert desk.opener.opened == []
        assert "cannot be reached" in desk.said[0]


async def test_a_question_that_is_put_away_starts_nothing(tmp_path: Path) -> None:
    """Cancel leaves everything as it was, and the next drop asks again."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path])
        (await desk.dialog()).reject()
        await desk.settle()
        assert desk.opener.opened == []
        desk.opening.take([tmp_path])
        (await desk.dialog()).reject()
        await desk.settle()


async def test_a_second_drop_while_the_question_stands_is_left_out(tmp_path: Path) -> None:
    """One question at a time: no stack of dialogs."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path])
        dialog = await desk.dialog()
        desk.opening.take([tmp_path])
        await asyncio.sleep(0)
        assert desk.window.findChildren(StartDialog) == [dialog]
        dialog.reject()
        await desk.settle()


async def test_a_case_file_is_opened_and_other_paths_are_run_in_it(tmp_path: Path) -> None:
    """A dropped case is opened without a question; folders dropped with it become its sources."""
    case = tmp_path / "old.sluice"
    case.touch()
    async with _desk(tmp_path) as desk:
        desk.opening.take([case])
        await desk.settle()
        assert [session.info.path for session in desk.opener.opened] == [case]
        assert desk.opener.opened[0].calls == []
        desk.opening.take([tmp_path / "folder", case])
        await until(lambda: desk.opener.opened[0].calls)
        assert desk.opener.opened[0].calls == ["run 1"]


async def test_two_case_files_at_once_are_refused_with_a_sentence(tmp_path: Path) -> None:
    """One window shows one case."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path / "a.sluice", tmp_path / "b.sluice"])
        await desk.settle()
        assert desk.opener.opened == []
        assert "one case" in desk.said[0]


async def test_sources_are_not_taken_while_a_run_goes_on(tmp_path: Path) -> None:
    """A drop during a run says why nothing happens, and the run goes on."""
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path], ask=False)
        await until(lambda: desk.opener.opened and desk.opener.opened[0].state is RunState.RUNNING)
        desk.opening.take([tmp_path])
        await desk.settle()
        assert desk.said[-1].startswith("A run is going on")
        assert desk.control.running


async def test_without_a_question_the_proposals_are_taken(tmp_path: Path) -> None:
    """Called from the command line, it starts at once: the usual place and an id from the folder's name."""
    (tmp_path / "letters").mkdir()
    async with _desk(tmp_path) as desk:
        desk.opening.take([tmp_path / "letters"], ask=False)
        await until(lambda: desk.opener.opened and desk.opener.opened[0].calls)
        assert desk.opener.opened[0].info.request_id.startswith("letters-")
        assert desk.opener.opened[0].info.path.parent == tmp_path / "cases"


async def test_going_on_with_the_open_case_does_not_open_it_again(tmp_path: Path) -> None:
    """More sources for the case that is open are run in its session."""
    async with _desk(tmp_path) as desk:
        await desk.control.open(tmp_path / "a.sluice", request_id="R-1")
        (tmp_path / "a.sluice").touch()
        desk.opening.take([tmp_path])
        dialog = await desk.dialog()
        assert dialog.start_button.text() == "&Go on with this case"
        dialog.start_button.click()
        await until(lambda: desk.opener.opened[0].calls)
        assert desk.opener.opened[0].calls == ["run 1"]
        assert len(desk.opener.opened) == 1


async def test_the_sample_batch_is_written_and_run(tmp_path: Path) -> None:
    """One press: written, told, and running, without a question."""
    async with _desk(tmp_path) as desk:
        desk.opening.sample()
        await until(lambda: desk.opener.opened and desk.opener.opened[0].calls)
        assert desk.said[0] == f"Wrote 7 sample files to {tmp_path / 'samples' / 'sample-batch'}"


async def test_a_sample_batch_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The engine's sentence is told, and nothing is opened."""
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "broken").touch()
    async with _desk(tmp_path) as desk:
        desk.opening.sample()
        await desk.settle()
        assert desk.said == ["The sample batch cannot be written here."]
        assert desk.opener.opened == []


async def test_a_folder_chosen_in_the_file_dialog_is_taken(tmp_path: Path) -> None:
    """The dialog is open without blocking, and its folder goes the same way as a dropped one."""
    (tmp_path / "chosen").mkdir()
    async with _desk(tmp_path) as desk:
        desk.opening.choose_folder()
        await until(lambda: desk.window.findChildren(QFileDialog))
        [files] = desk.window.findChildren(QFileDialog)
        files.setDirectory(str(tmp_path / "chosen"))
        files.done(QFileDialog.DialogCode.Accepted)
        dialog = await desk.dialog()
        assert dialog.request_id.text().startswith("chosen-")
        dialog.reject()
        await desk.settle()


def _urls(*encoded: bytes) -> list[QUrl]:
    mime = QMimeData()
    mime.setData("text/uri-list", QByteArray(b"\r\n".join(encoded) + b"\r\n"))
    return mime.urls()


def test_dropped_addresses_of_other_machines_are_left_out() -> None:
    """Only local files count."""
    urls = _urls(b"https://example.org/a.pdf", b"file:///tmp/a.pdf", b"mailto:someone@example.org")
    assert local_paths(urls) == (Path("/tmp/a.pdf"),)  # noqa: S108  # a name, not a file


@pytest.mark.skipif(sys.platform == "win32", reason="names are not bytes there")
def test_dropped_names_keep_their_bytes() -> None:
    """Spaces, percent signs, markup and bytes that are no UTF-8 arrive as the file system spells them."""
    urls = _urls(b"file:///tmp/a%20b", b"file:///tmp/100%25.pdf", b"file:///tmp/%FF%FE.pdf", b"file:///tmp/%3Cb%3E%0A")
    assert [os.fsencode(path) for path in local_paths(urls)] == [
        b"/tmp/a b",
        b"/tmp/100%.pdf",
        b"/tmp/\xff\xfe.pdf",
        b"/tmp/<b>\n",
    ]
