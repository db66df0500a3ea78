"""Export, verification, texts and the sample batch, from end to end."""

from pathlib import Path

import pytest

from tests.support import pdfs
from tests.terminal.program import sluicegate

WORKERS = ("--workers", "2")


@pytest.fixture
def case(tmp_path: Path) -> Path:
    """A finished case: two good documents of two pages, and one that is no PDF."""
    folder, case = tmp_path / "batch", tmp_path / "case.sluice"
    pdfs.batch(folder, 2, 2)
    pdfs.not_a_pdf(folder / "page.pdf")
    assert sluicegate("run", folder, "--case", case, "--quiet", *WORKERS).returncode == 1
    return case


@pytest.fixture
def audit(case: Path, tmp_path: Path) -> Path:
    """Its audit log, exported."""
    out = tmp_path / "audit.jsonl"
    ended = sluicegate("export", case, "--audit", out)
    assert ended.returncode == 0, ended.stderr
    return out


def test_an_export_is_verified_and_tells_count_and_head(case: Path, tmp_path: Path) -> None:
    """What is printed is enough to check the file later, by pasting one line."""
    out = tmp_path / "audit.jsonl"
    ended = sluicegate("export", case, "--audit", out)
    assert ended.returncode == 0, ended.stderr
    head = next(line.split()[-1] for line in ended.stdout.splitlines() if line.startswith("Head of the chain:"))
    assert len(head) == 64
    assert "Verified." in ended.stdout
    assert f"sluicegate verify {out} --expect-head {head}" in ended.stdout

    checked = sluicegate("verify", out, "--expect-head", head)
    assert checked.returncode == 0, checked.stdout
    assert "Verified." in checked.stdout


def test_a_verification_says_what_it_did_not_compare(audit: Path) -> None:
    """Without a head from elsewhere a shortened log cannot be found out, and that is said."""
    ended = sluicegate("verify", audit)
    assert ended.returncode == 0, ended.stdout
    assert "Note:" in ended.stdout
    assert "checkpoint" in ended.stdout or "head" in ended.stdout


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
    """Lines cut off at the end show against the head that was kept."""
    lines = audit.read_bytes().splitlines(keepends=True)
    audit.write_bytes(b"".join(lines[:-1]))
    ended = sluicegate("verify", audit, "--expect-head", "0" * 64)
    assert ended.returncode == 1
    assert "Problem:" in ended.stdout


@pytest.mark.parametrize("content", [None, b"", b"my diary\n", b"\xff\xfe\x00"])
def test_what_is_no_audit_log_ends_with_4(tmp_path: Path, content: bytes | None) -> None:
    """A missing file or another kind of file is told in one sentence."""
    file = tmp_path / "log.jsonl"
    if content is not None:
        file.write_bytes(content)
    ended = sluicegate("verify", file)
    assert ended.returncode == 4, ended.stdout
    assert ended.stderr
    assert "Traceback" not in ended.stderr


def test_texts_are_written_and_counted(case: Path, tmp_path: Path) -> None:
    """Every page's text is there to read, and the numbers are told."""
    out = tmp_path / "texts"
    ended = sluicegate("text", case, out)
    assert ended.returncode == 0, ended.stderr
    assert "4 pages of 2 documents" in ended.stdout
    written = " ".join(path.read_text(encoding="utf-8") for path in sorted(out.rglob("*.txt")))
    for seed in (1, 2):
        for page in (1, 2):
            assert pdfs.page_words(page, seed=seed)[0] in written


@pytest.mark.parametrize("arguments", [("export", "CASE", "--audit", "OUT"), ("text", "CASE", "OUT")])
def test_an_export_from_no_case_ends_with_4(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """A missing case is not made by asking for its contents."""
    words = {"CASE": str(tmp_path / "no.sluice"), "OUT": str(tmp_path / "out")}
    ended = sluicegate(*(words.get(word, word) for word in arguments))
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "There is no case file" in ended.stderr
    assert list(tmp_path.glob("*.sluice")) == []


def test_the_sample_batch_can_be_run_as_told(tmp_path: Path) -> None:
    """The batch says what is in it and how to run it, and that command works."""
    folder = tmp_path / "sample"
    ended = sluicegate("sample", folder)
    assert ended.returncode == 0, ended.stderr
    assert f"sluicegate run {folder}" in ended.stdout
    assert any(folder.rglob("*.pdf"))
