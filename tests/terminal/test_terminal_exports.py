"""Export, verification, texts and the sample batch, from end to end."""

import contextlib
import hashlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.terminal.commands import terminal_commands
from tests.support import pdfs
from tests.terminal.conftest import Finished, settle
from tests.terminal.program import sluicegate, summary_of

WORKERS = ("--workers", "1")


def verify(*arguments: str | Path) -> Result:
    """Call `sluicegate verify` in this process."""
    return CliRunner().invoke(terminal_commands, ["verify", *map(str, arguments)])


@pytest.fixture(scope="session")
def exported(made: Finished, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit log of the finished case, exported."""
    place = tmp_path_factory.mktemp("exported")
    case, out = Path(shutil.copy(made.case, place / "case.sluice")), place / "audit.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        settle(place, patch)
        ended = sluicegate("export", case, "--audit", out)
    assert ended.returncode == 0, ended.stderr
    return out


@pytest.fixture
def audit(exported: Path, tmp_path: Path) -> Path:
    """An exported audit log of the test's own."""
    return Path(shutil.copy(exported, tmp_path / "audit.jsonl"))


def test_an_export_is_verified_and_tells_count_and_head(finished: Finished, tmp_path: Path) -> None:
    """What is printed is enough to check the file later, by pasting one line."""
    out = tmp_path / "audit.jsonl"
    ended = sluicegate("export", finished.case, "--audit", out)
    assert ended.returncode == 0, ended.stderr
    head = next(line.split()[-1] for line in ended.stdout.splitlines() if line.startswith("Head of the chain:"))
    assert len(head) == 64
    assert "Verified." in ended.stdout
    assert f"sluicegate verify {out} --expect-head {head}" in ended.stdout

    checked = sluicegate("verify", out, "--expect-head", head)
    assert checked.returncode == 0, checked.stdout
    assert "the log contains it" in checked.stdout
    assert "No checkpoint" not in checked.stdout
    assert "Verified." in checked.stdout


def test_a_verification_says_what_it_did_not_compare(audit: Path) -> None:
    """Without a head from elsewhere a shortened log cannot be found out, and that is said."""
    ended = verify(audit)
    assert ended.exit_code == 0, ended.stdout
    assert "Checked: " in ended.stdout
    assert "Note: No checkpoint kept elsewhere was compared." in ended.stdout
    assert "Recounted documents: 3 enumerated, 2 extracted, 1 dead letters, 0 duplicates, 0 pending." in ended.stdout


def test_a_tampered_export_ends_with_1(audit: Path) -> None:
    """One changed number in one record is a problem, told with its line."""
    lines = audit.read_bytes().splitlines(keepends=True)
    index = next(number for number, line in enumerate(lines) if b'"page":2' in line)
    lines[index] = lines[index].replace(b'"page":2', b'"page":3')
    audit.write_bytes(b"".join(lines))
    ended = sluicegate("verify", audit)
    assert ended.returncode == 1
    assert "Problem:" in ended.stdout
    assert "NOT verified." in ended.stdout


def test_a_shortened_export_is_found_out_against_its_head(audit: Path) -> None:
    """A line cut off at the end shows only against the head that was kept."""
    lines = audit.read_bytes().splitlines(keepends=True)
    head = hashlib.sha256(lines[-1].removesuffix(b"\n")).hexdigest()
    audit.write_bytes(b"".join(lines[:-1]))
    assert verify(audit).exit_code == 0
    ended = verify(audit, "--expect-head", head)
    assert ended.exit_code == 1
    assert "does not contain the line with the expected head" in ended.stdout


@pytest.mark.parametrize("content", [b"", b"my diary\n", b"\xff\xfe\x00"])
def test_what_is_no_audit_log_is_not_verified(tmp_path: Path, content: bytes) -> None:
    """Another kind of file is a problem that is told, and no traceback."""
    file = tmp_path / "log.jsonl"
    file.write_bytes(content)
    ended = verify(file)
    assert (ended.exit_code, ended.stderr) == (1, "")
    assert "Problem: Line 1" in ended.stdout
    assert "NOT verified." in ended.stdout


def test_a_file_that_cannot_be_read_ends_with_4(tmp_path: Path) -> None:
    """A missing log, or a folder in its place, is told in one sentence."""
    for path in (tmp_path / "nowhere.jsonl", tmp_path):
        ended = verify(path)
        assert (ended.exit_code, ended.stdout) == (4, "")
        assert "cannot be read" in ended.stderr


@pytest.mark.parametrize("head", ["0123456789abcdef", "x" * 64, ""])
def test_a_shortened_head_is_wrong_usage(tmp_path: Path, head: str) -> None:
    """Comparing with what cannot be a head would only look like a problem of the log."""
    ended = verify(tmp_path, "--expect-head", head)
    assert ended.exit_code == 2
    assert "64 hexadecimal digits" in " ".join(ended.stderr.split())


def test_texts_are_written_and_counted(finished: Finished, tmp_path: Path) -> None:
    """Every page's text is there to read, and the numbers are told."""
    out = tmp_path / "texts"
    ended = sluicegate("text", finished.case, out)
    assert ended.returncode == 0, ended.stderr
    assert "4 pages of 2 documents" in ended.stdout
    written = [path.read_text(encoding="utf-8").split() for path in out.rglob("*.txt")]
    wanted = [pdfs.page_words(1, seed=seed) + pdfs.page_words(2, seed=seed) for seed in (1, 2)]
    assert sorted(written) == sorted(wanted)


@pytest.mark.parametrize("arguments", [("export", "CASE", "--audit", "OUT"), ("text", "CASE", "OUT")])
def test_an_export_from_no_case_ends_with_4(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A missing case is not made by asking for its contents."""
    words = {"CASE": str(tmp_path / "no.sluice"), "OUT": str(tmp_path / "out")}
    ended = sluicegate(*(words.get(word, word) for word in arguments))
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "There is no case file" in ended.stderr
    assert list(tmp_path.glob("*.sluice")) == []


@pytest.mark.slow
def test_the_sample_batch_can_be_run_as_told(tmp_path: Path) -> None:
    """What is told about the batch is what a run over it finds."""
    folder = tmp_path / "sample"
    written = sluicegate("sample", folder)
    assert written.returncode == 0, written.stderr
    assert written.stdout.splitlines()[-1] == f"sluicegate run {folder}"
    ended = sluicegate("run", folder, "--json", *WORKERS)
    assert ended.returncode == 1, ended.stderr
    made = summary_of(ended)
    assert made["peak_rss_bytes"]["tree"] >= made["peak_rss_bytes"]["main"] > 0
    documents, pages = made["documents"], made["pages"]
    assert (
        f"finds {documents['enumerated']} documents with {pages['enumerated']} pages, among them "
        f"{documents['duplicate']} copies"
    ) in written.stdout
    reasons = ", ".join(f"{reason} {number}" for reason, number in made["reasons"].items())
    assert f"Dead letters to expect, from what is bad on purpose: {reasons}." in written.stdout


def test_a_sample_batch_is_not_written_over_something_else(tmp_path: Path) -> None:
    """A folder with somebody's files is refused and left alone."""
    (tmp_path / "diary.txt").write_text("mine")
    ended = sluicegate("sample", tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "not empty" in ended.stderr
    assert (tmp_path / "diary.txt").read_text() == "mine"


def test_a_log_that_does_not_verify_is_exported_only_as_it_is(finished: Finished, tmp_path: Path) -> None:
    """One changed record inside the case: no file, a sentence with the way out; on request the file, not verified."""
    case = Path(shutil.copy(finished.case, tmp_path / "changed.sluice"))
    with contextlib.closing(sqlite3.connect(case)) as connection:
        connection.execute("DROP TRIGGER audit_is_never_updated")
        connection.execute(
            "UPDATE audit SET line = CAST(replace(CAST(line AS TEXT), 'attempt\":1', 'attempt\":9') AS BLOB) "
            "WHERE seq = (SELECT max(seq) FROM audit WHERE CAST(line AS TEXT) LIKE '%attempt\":1%')"
        )
        connection.execute(_TRIGGER)
        connection.commit()
    out = tmp_path / "log.jsonl"
    ended = sluicegate("export", case, "--audit", out)
    assert ended.returncode == 4
    assert "does not verify, so that nothing was exported" in ended.stderr
    assert "sluicegate repair CASE NEW_CASE" in ended.stderr
    assert list(tmp_path.glob("*.jsonl")) == list(tmp_path.glob(".*.part")) == []
    ended = sluicegate("export", case, "--audit", out, "--as-it-is")
    assert ended.returncode == 1
    assert "NOT verified." in ended.stdout
    assert out.exists()


_TRIGGER = (
    "CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit\n"
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
)
