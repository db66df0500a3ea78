"""The application's log: JSON lines that carry no text of documents and that nothing can forge."""

import json
import logging
from pathlib import Path
from typing import Any

from gui.app.logs import log_files

PERSONAL = "SSN 123-45-6789"


def _lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "sluicegate.log").read_text(encoding="ascii").splitlines()]


def _parse(text: str) -> None:
    raise ValueError(text)


def test_an_exception_is_logged_by_type_and_place_without_its_message(tmp_path: Path) -> None:
    """Neither the message of an exception nor that of its cause reaches the file; where it happened does."""
    log = logging.getLogger("gui.test")
    with log_files(tmp_path):
        try:
            try:
                _parse(PERSONAL)
            except ValueError as cause:
                raise RuntimeError(PERSONAL) from cause
        except RuntimeError:
            log.exception("reading failed")
    [line] = _lines(tmp_path)
    assert line["exception"] == "RuntimeError"
    assert line["message"] == "reading failed"
    assert any(place.endswith(" _parse") for place in line["trace"])
    assert PERSONAL not in json.dumps(line)


def test_a_librarys_record_is_written_as_its_bare_template(tmp_path: Path) -> None:
    """Arguments of foreign log calls are left out; our own are written."""
    with log_files(tmp_path):
        logging.getLogger("somelib").warning("cannot read %s", PERSONAL)
        logging.getLogger("gui.test").info("opened %s", "a case")
    assert [line["message"] for line in _lines(tmp_path)] == ["cannot read %s", "opened a case"]


def test_line_breaks_and_lone_surrogates_stay_within_one_line(tmp_path: Path) -> None:
    """A message with line breaks or broken text cannot forge a line or stop the log."""
    with log_files(tmp_path):
        logging.getLogger("gui.test").info('a\n{"level": "forged"}\udcff\u2028')
    [line] = _lines(tmp_path)
    assert line["level"] == "INFO"


def test_the_log_goes_to_its_files_only_as_long_as_the_context(tmp_path: Path) -> None:
    """Afterwards nothing is written any more, and the loggers are as they were."""
    log = logging.getLogger("gui.test")
    with log_files(tmp_path) as path:
        assert path == tmp_path / "sluicegate.log"
        log.info("inside")
    log.info("outside")
    assert [line["message"] for line in _lines(tmp_path)] == ["inside"]
    assert logging.getLogger("gui").level == logging.NOTSET


def test_a_folder_that_cannot_be_made_leaves_the_program_without_a_log(tmp_path: Path) -> None:
    """Where the log cannot be written the program works on, and is told so."""
    (tmp_path / "file").write_bytes(b"")
    with log_files(tmp_path / "file" / "logs") as path:
        assert path is None
        logging.getLogger("gui.test").info("nowhere")
