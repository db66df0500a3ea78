"""Headless runs from end to end: real processes over small PDFs, by their exit codes and their two streams."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import pdfs
from tests.terminal.conftest import Finished
from tests.terminal.program import ROOT, environment, sluicegate, start, summary_of

WORKERS = ("--workers", "1")
KEYS = {
    *("documents", "pages", "reconciled", "reasons", "audit_records", "audit_head", "elapsed_s", "pages_per_s"),
    *("peak_rss_bytes", "max_queue_depth", "max_permits_held", "holds"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three good documents of two pages."""
    pdfs.batch(tmp_path / "batch", 3, 2)
    return tmp_path / "batch"


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """Where the case file goes."""
    return tmp_path / "a case.sluice"


def test_a_good_batch_ends_with_0_and_one_json_object(folder: Path, case: Path) -> None:
    """All extracted: exit code 0, and standard output is one JSON object with the promised names and numbers."""
    ended = sluicegate("run", folder, "--case", case, "--request-id", "REQ-1", "--json", *WORKERS)
    assert ended.returncode == 0, ended.stderr
    made = summary_of(ended)
    assert set(made) == KEYS
    assert made["documents"] == {"enumerated": 3, "extracted": 3, "dead_letter": 0, "duplicate": 0, "pending": 0}
    assert made["pages"] == {"enumerated": 6, "extracted": 6, "dead_letter": 0, "duplicate": 0, "pending": 0}
    assert made["reconciled"] is True
    assert made["reasons"] == {}
    assert len(made["audit_head"]) == 64
    assert made["audit_records"] > 9
    assert set(made["peak_rss_bytes"]) == {"main", "workers", "tree"}
    assert made["max_permits_held"] >= 1
    assert ended.stdout.count("\n") == 1
    assert "REQ-1" in ended.stderr


def test_dead_letters_end_with_1_and_their_reasons(folder: Path, case: Path) -> None:
    """Reconciled with dead letters: exit code 1; the table explains each reason."""
    pdfs.encrypted_pdf(folder / "locked.pdf")
    pdfs.not_a_pdf(folder / "page.pdf")
    pdfs.empty_file(folder / "empty.pdf")
    ended = sluicegate("run", folder, "--case", case, *WORKERS)
    assert ended.returncode == 1, ended.stderr
    words = " ".join(ended.stdout.split())
    assert "all 6 documents and 6 pages are accounted for, with 3 dead letters" in words
    for reason in ("encrypted", "not_a_pdf", "empty_file"):
        assert reason in words
    assert "It needs a password" in words
    assert f"sluicegate text '{case}' OUT_FOLDER" in words


def test_running_again_is_a_no_op(finished: Finished) -> None:
    """The same folder into the same case: nothing is done again, and the exit code is the same."""
    first = summary_of(finished.ended)
    ended = sluicegate("run", finished.folder, "--case", finished.case, "--json", *WORKERS)
    assert ended.returncode == finished.ended.returncode == 1, ended.stderr
    again = summary_of(ended)
    assert (again["documents"], again["pages"]) == (first["documents"], first["pages"])
    assert again["reasons"] == first["reasons"] == {"not_a_pdf": 1}
    assert "3 documents had been finished by an earlier run" in " ".join(ended.stderr.split())


def test_several_sources_and_single_files(folder: Path, case: Path, tmp_path: Path) -> None:
    """Folders and files may be mixed."""
    other = pdfs.text_pdf(tmp_path / "one.pdf", 1, seed=99)
    ended = sluicegate("run", folder, other, "--case", case, "--json", *WORKERS)
    assert ended.returncode == 0, ended.stderr
    assert summary_of(ended)["pages"]["extracted"] == 7


def test_a_case_goes_where_the_system_says_unless_told(folder: Path, home: Path) -> None:
    """Without --case a new case file is made in the usual place, and the table says where it is."""
    ended = sluicegate("run", folder, *WORKERS)
    assert ended.returncode == 0, ended.stderr
    (made,) = home.rglob("*.sluice")
    assert str(made) in ended.stdout


def test_quiet_says_nothing_where_nothing_is_wrong(folder: Path, case: Path) -> None:
    """Only the exit code speaks."""
    ended = sluicegate("run", folder, "--case", case, "--quiet", *WORKERS)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems refuse such names")
@pytest.mark.skipif(os.name == "nt", reason="its file systems refuse such names")
def test_names_that_look_like_markup_or_are_no_text_change_nothing(folder: Path, tmp_path: Path) -> None:
    """Hostile names of files, folders and cases are processed and come out harmless."""
    hostile = tmp_path / "[red]\x1b[2J"
    hostile.mkdir()
    pdfs.text_pdf(hostile / "[bold].pdf", 1)
    pdfs.text_pdf(Path(os.fsdecode(os.fsencode(hostile) + b"/\xff\n.pdf")), 1, seed=2)
    ended = sluicegate("run", hostile, "--case", hostile / "[b]x.sluice", *WORKERS)
    assert ended.returncode == 0, ended.stderr
    assert "[red]\\u{1b}[2J/[b]x.sluice" in ended.stdout
    assert "\x1b" not in ended.stdout + ended.stderr


def test_impossible_settings_end_with_2_and_leave_no_case(folder: Path, case: Path) -> None:
    """Nothing is made before the settings are known to work."""
    ended = sluicegate("run", folder, "--case", case, "--hi", "50%", "--lo", "60%", *WORKERS)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "low mark" in ended.stderr
    assert not case.exists()


def test_a_folder_that_is_not_there_ends_with_2_and_leaves_no_case(case: Path, tmp_path: Path) -> None:
    """A mistyped folder is told before a case is made."""
    ended = sluicegate("run", tmp_path / "nowhere", "--case", case, "--json", *WORKERS)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "does not exist" in ended.stderr
    assert not case.exists()


def test_another_request_id_than_the_cases_own_ends_with_2(finished: Finished) -> None:
    """A case serves one request: another id is refused, and nothing is written to the case."""
    before = finished.case.read_bytes()
    ended = sluicegate("run", finished.folder, "--case", finished.case, "--request-id", "REQ-2", *WORKERS)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "REQ-1" in ended.stderr
    assert "REQ-2" in ended.stderr
    assert finished.case.read_bytes() == before


def test_a_case_that_is_not_there_cannot_be_gone_on_with(case: Path) -> None:
    """Without a folder there is nothing to make a case of: exit code 4."""
    ended = sluicegate("run", "--case", case, *WORKERS)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "There is no case file" in ended.stderr
    assert not case.exists()


def test_a_file_that_is_no_case_ends_with_4_and_is_left_alone(folder: Path, case: Path) -> None:
    """Somebody's own file under that name is neither used nor changed."""
    case.write_text("my diary")
    ended = sluicegate("run", folder, "--case", case, *WORKERS)
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "Traceback" not in ended.stderr
    assert case.read_text() == "my diary"


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX")
def test_on_a_terminal_the_display_is_drawn_and_removed(folder: Path, case: Path) -> None:
    """The cursor is hidden while the display is redrawn, and comes back; the result goes to standard output."""
    leader, follower = os.openpty()
    # A slow run, so that there is something to draw.
    process = start("run", folder, "--case", case, "--rate", "5", "--burst", "1", *WORKERS, stderr=follower)
    os.close(follower)
    drawn = b""
    try:
        while chunk := os.read(leader, 65536):
            drawn += chunk
    except OSError:
        pass  # the other end of a pseudo-terminal closes with an error
    finally:
        os.close(leader)
    out, _ = process.communicate()
    assert process.returncode == 0
    text = drawn.decode()
    assert "pages/s" in text
    assert "dead letters" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") >= 1
    assert "Reconciliation" in out


def test_help_does_not_wait_for_what_only_a_run_needs() -> None:
    """The words of the command line load without the display's library."""
    program = (
        "import sys\n"
        "from engine.terminal.commands import terminal_commands\n"
        "terminal_commands(['run', '--help'], standalone_mode=False)\n"
        "sys.exit('rich' in sys.modules)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env=environment(), cwd=ROOT, capture_output=True, check=False
    )
    assert ended.returncode == 0
    assert b"--max-queue" in ended.stdout
