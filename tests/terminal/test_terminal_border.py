"""The border: every error ends as one sentence and an exit code."""

import json
import logging
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from engine.errors import CaseInUseError, EngineError, ExitCode, SettingsError, StorageError
from engine.terminal.border import TerminalCommand, debug_option
from engine.terminal.log import FILE_BYTES, FaultFile, logging_to


def end_with(error: BaseException | None, *arguments: str) -> Result:
    """Run a command that raises an error, or returns 1."""

    @click.command("doomed", cls=TerminalCommand)
    @debug_option
    def doomed() -> ExitCode:
        if error is not None:
            raise error
        return ExitCode.DEAD_LETTERS

    return CliRunner().invoke(doomed, [*arguments])


def test_what_a_command_returns_is_the_exit_code() -> None:
    """A command that ends by itself says how."""
    assert end_with(None).exit_code == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("A sentence [about] it."), 2),
        (StorageError("A sentence [about] it."), 3),
        (CaseInUseError("A sentence [about] it."), 4),
    ],
)
def test_an_error_of_the_engine_is_its_sentence_and_its_code(error: EngineError, code: int) -> None:
    """The sentence goes to standard error, without markup and without a traceback."""
    result = end_with(error)
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", "A sentence [about] it.\n")


def test_an_interruption_ends_as_a_stop() -> None:
    """Ctrl+C outside a run is no error and leaves no traceback."""
    result = end_with(KeyboardInterrupt())
    assert result.exit_code == 3
    assert "Interrupted" in result.stderr
    assert "Traceback" not in result.output


def test_a_fault_is_one_sentence_and_stands_in_the_log_without_its_message(home: Path) -> None:
    """Messages of errors may carry names and content: neither the terminal nor the log shows them."""
    result = end_with(ValueError("secret name"))
    assert result.exit_code == 3
    assert "An unexpected error (ValueError) ended the program." in result.stderr
    assert result.stderr.count("\n") == 1
    (log_file,) = home.rglob("terminal.log")
    text = log_file.read_text()
    assert "secret name" not in text + result.stderr
    line = json.loads(text)
    assert line["trace"][0] == "ValueError"
    assert any(place.endswith("doomed") for place in line["trace"])
    assert str(log_file) in result.stderr


def test_errors_of_tasks_are_told_like_any_other() -> None:
    """A group of errors, as tasks raise it, is told by what is inside."""
    result = end_with(ExceptionGroup("tasks", [ExceptionGroup("more", [StorageError("The disk is full.")])]))
    assert (result.exit_code, result.stderr) == (3, "The disk is full.\n")
    assert "An unexpected error (KeyError)" in end_with(ExceptionGroup("tasks", [KeyError("x")])).stderr


def test_debug_shows_where_an_error_came_from() -> None:
    """Whoever asks for it gets the traceback, and the same exit code."""
    result = end_with(SettingsError("A sentence."), "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "in doomed" in result.stderr


def test_wrong_usage_is_left_to_the_command_line() -> None:
    """An unknown option is told with the usage line."""
    result = end_with(None, "--what")
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_no_log_is_made_where_there_is_nothing_to_log(home: Path) -> None:
    """A good run leaves no empty files behind."""
    end_with(None)
    assert list(home.rglob("*")) == []


def test_warnings_of_the_engine_go_to_the_log_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They do not disturb what stands on the terminal, and the logger is left as it was."""
    logger = logging.getLogger("engine")
    before = (list(logger.handlers), logger.propagate)
    with logging_to(tmp_path / "logs") as path:
        logging.getLogger("engine.some.part").warning("something %s", "odd")
    assert json.loads(path.read_text())["message"] == "something odd"
    assert capfd.readouterr() == ("", "")
    assert (list(logger.handlers), logger.propagate) == before


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """A full file is put aside, and only one old file is kept."""
    handler = FaultFile(tmp_path / "terminal.log")
    for _ in range(3):
        handler.path.write_text("x" * (FILE_BYTES + 1))
        handler.emit(logging.makeLogRecord({"name": "engine", "levelname": "WARNING", "msg": "new"}))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["terminal.log", "terminal.log.1"]
    assert json.loads(handler.path.read_text())["message"] == "new"


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """The program works without a log."""
    (tmp_path / "logs").write_text("a file in the way")
    with logging_to(tmp_path / "logs"):
        logging.getLogger("engine").warning("unheard")
