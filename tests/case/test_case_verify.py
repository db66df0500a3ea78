"""Verification of an exported log: what is sound passes, and every kind of tampering is found."""

import hashlib
import json
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.case.casefile import CaseFile
from engine.case.export import export_audit
from engine.case.verify import NO_CHECKPOINT, main, verify_file
from engine.errors import CaseError
from engine.models.facts import FilesFound, Noted
from engine.models.outcome import Reason, SkipReason
from engine.models.run import Tally, VerifyReport
from tests.case.factory import commit_all, dead, done, extracted, failed, file, found, probed, rechained, retried

Lines = list[bytes]


@pytest.fixture
def lines(case: CaseFile, tmp_path: Path) -> Lines:
    """Give the lines of a reconciled log with every kind of record, the header first."""
    skipped = FilesFound(files=(file("b.txt", skip=SkipReason.NOT_SELECTED),))
    commit_all(
        case,
        Noted(event="RUN_STARTED", fields={"operator": "me"}),
        found("a.pdf"),
        skipped,
        found("copy.pdf", "bad.pdf", "half.pdf"),
        probed(1, "same", pages=4),
        retried(1, 2),
        done(1, 3, extracted(1, "ä", damaged=True)),
        probed(3, "same", pages=4),
        Noted(event="HELD", fields={"cause": "user"}, checkpoint=True),
        done(1, dead(2, Reason.TIME_LIMIT), 4),
        failed(4, Reason.ENCRYPTED),
        probed(5, pages=2),
        failed(5, Reason.SOURCE_VANISHED),
        Noted(event="RECONCILED"),
        Noted(event="RUN_ENDED", checkpoint=True),
    )
    with case.reader() as reader:
        export_audit(reader, tmp_path / "sound.jsonl")
    return (tmp_path / "sound.jsonl").read_bytes().splitlines()


def _verified(tmp_path: Path, lines: Lines, *, ending: bytes = b"\n", expect_head: str | None = None) -> VerifyReport:
    out = tmp_path / "log.jsonl"
    out.write_bytes(b"\n".join(lines) + ending)
    return verify_file(out, expect_head)


def _head(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def test_a_sound_log_verifies_and_adds_up(lines: Lines, case: CaseFile, tmp_path: Path) -> None:
    """No problem; number, head and counts are those of the case; what was not compared is said."""
    report = _verified(tmp_path, lines)
    assert report.problems == ()
    assert report.ok
    counts = case.counts()
    assert (report.records, report.head) == (counts.audit_records, counts.audit_head)
    assert report.counts is not None
    assert report.counts.documents == counts.documents == Tally(enumerated=4, extracted=1, dead_letter=2, duplicate=1)
    assert report.counts.pages == counts.pages == Tally(enumerated=10, extracted=3, dead_letter=3, duplicate=4)
    assert (report.counts.skipped, report.counts.reasons) == (counts.skipped, counts.reasons)
    assert report.counts.reconciled
    assert NO_CHECKPOINT in report.notes


@pytest.mark.parametrize(
    ("event", "field", "word"),
    [
        ("DEAD_LETTER", "reason", "made_up"),
        ("DEAD_LETTER", "failure_class", "nonsense"),
        ("DEAD_LETTER", "failure_class", "transient"),  # its reason is a structural one
        ("EXTRACTED", "method", "magic"),
        ("DUPLICATE", "method", "magic"),
        ("DOCUMENT", "outcome", "LOST"),
        ("SKIPPED", "reason", "made_up"),
        ("RETRY", "reason", "made_up"),
    ],
)
def test_a_word_outside_its_closed_list_is_a_problem(
    lines: Lines, tmp_path: Path, event: str, field: str, word: str
) -> None:
    """A log whose chain was made anew around a word that no record can have does not verify."""
    index = next(number for number, line in enumerate(lines) if number and json.loads(line)["event"] == event)
    record = json.loads(lines[index])
    changed = [*lines]
    changed[index] = json.dumps(
        record | {field: word}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    report = _verified(tmp_path, rechained(changed))
    assert any("has one that cannot be" in problem and field in problem for problem in report.problems), report.problems


def test_every_record_but_the_quick_ones_was_in_it(lines: Lines) -> None:
    """The log of these tests holds every event, so that none is left unjudged."""
    events = {json.loads(line)["event"] for line in lines[1:]}
    assert events >= {"EXTRACTED", "DEAD_LETTER", "DUPLICATE", "DOCUMENT", "SKIPPED", "RETRY", "CHECKPOINT"}


def test_a_log_that_is_not_finished_is_sound_and_says_so(case: CaseFile, tmp_path: Path) -> None:
    """An export in the middle of a run has no problem, and a note."""
    commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf", "b.pdf"), probed(1, pages=2), done(1, 2))
    with case.reader() as reader:
        export_audit(reader, tmp_path / "log.jsonl")
    report = verify_file(tmp_path / "log.jsonl")
    assert report.ok
    assert any("exported before they were done" in note for note in report.notes)
    assert any("does not state that everything" in note for note in report.notes)
    assert report.counts is not None
    assert not report.counts.reconciled


def test_an_expected_head_is_looked_for_in_the_whole_log(lines: Lines, tmp_path: Path) -> None:
    """The last line's head passes without a note; one further up passes, and says how much follows it."""
    last = _verified(tmp_path, lines, expect_head=_head(lines[-1]).upper() + "\n")
    assert last.ok
    assert NO_CHECKPOINT not in last.notes
    middle = _verified(tmp_path, lines, expect_head=_head(lines[5]))
    assert middle.ok
    assert f"record 5; {len(lines) - 6} records follow" in middle.notes[0]
    assert not _verified(tmp_path, lines, expect_head="ab" * 32).ok


def _edit(lines: Lines) -> Lines:
    index = next(number for number, line in enumerate(lines) if b'"dur_ms":3' in line)
    return [*lines[:index], lines[index].replace(b'"dur_ms":3', b'"dur_ms":4'), *lines[index + 1 :]]


def _swap(lines: Lines) -> Lines:
    return [*lines[:4], lines[5], lines[4], *lines[6:]]


@pytest.mark.parametrize(
    ("tamper", "finding"),
    [
        (_edit, "does not link to the line before"),
        (lambda lines: [*lines[:7], *lines[8:]], "gap or are out of order"),
        (lambda lines: [*lines[:7], lines[6], *lines[7:]], "gap or are out of order"),
        (_swap, "gap or are out of order"),
        (lambda lines: [lines[0].replace(b"FOIA", b"FOIB"), *lines[1:]], "does not link to the line before"),
        (lambda lines: lines[1:], "no header"),
        (lambda _: [b"%PDF-1.7"], "no JSON object"),
        (lambda _: [b""], "no JSON object"),
        (lambda lines: [*lines[:5], lines[5].replace(b",", b", ", 1), *lines[6:]], "one form"),
        (lambda lines: [*lines[:5], b"{" + lines[5][1:-1] + b',"v":1}', *lines[6:]], "one form"),
        (lambda lines: [*lines[:5], lines[5].replace(b'"run":1', b'"run":1.0'), *lines[6:]], "no JSON object"),
        (lambda lines: [*lines[:5], lines[5].replace(b'"run":1', b'"run":NaN'), *lines[6:]], "no JSON object"),
        (lambda lines: [*lines[:5], lines[5].replace(b'"run":1', b'"run":[1]'), *lines[6:]], "no flat JSON"),
        (lambda lines: [*lines[:5], b"[" * 100_000, *lines[6:]], "no JSON object"),
        (lambda lines: [*lines[:5], b"\xff\xfe", *lines[6:]], "no JSON object"),
        (lambda lines: [*lines[:5], b"", *lines[5:]], "no JSON object"),
        (lambda lines: rechained([*lines[:5], b'{"event":"X"}', *lines[5:]]), "lacks a field"),
        (lambda lines: [*lines, b"{}"], "that cannot be (event)"),
        (lambda lines: [*lines, b'{"event":"\\ud800"}'], "no JSON object"),
        (lambda lines: [*lines, b'{"a":' + b"9" * 5000 + b"}"], "no JSON object"),
    ],
)
def test_plain_tampering_is_found(lines: Lines, tmp_path: Path, tamper: Callable[[Lines], Lines], finding: str) -> None:
    """Editing, deleting, inserting, reordering, another header, another form: each is a problem with its line."""
    report = _verified(tmp_path, tamper(lines))
    assert not report.ok
    assert any(finding in problem for problem in report.problems)
    assert all(problem.startswith("Line ") or "more problems" in problem for problem in report.problems)


def _changed(lines: Lines, index: int, **fields: Any) -> Lines:
    """Change fields of one record and link everything after it anew, as somebody who covers it up would."""
    record = json.loads(lines[index]) | fields
    written = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return rechained([*lines[:index], written, *lines[index + 1 :]])


def _without(lines: Lines, index: int) -> Lines:
    return rechained([*lines[:index], *lines[index + 1 :]])


def _twice(lines: Lines, index: int, at: int) -> Lines:
    return rechained([*lines[:at], lines[index], *lines[at:]])


def _find(lines: Lines, event: str, **fields: Any) -> int:
    for number, line in enumerate(lines[1:], start=1):
        record = json.loads(line)
        if record["event"] == event and all(record.get(name) == value for name, value in fields.items()):
            return number
    raise AssertionError(event)


@pytest.mark.parametrize(
    ("tamper", "finding"),
    [
        (lambda lines: _without(lines, _find(lines, "EXTRACTED", page=3)), "without one terminal record for each"),
        (lambda lines: _without(lines, _find(lines, "DOCUMENT", doc_id="D0000004")), "states another number"),
        (lambda lines: _without(lines, _find(lines, "SKIPPED")), "skipped 1, counted 0"),
        (lambda lines: _twice(lines, _find(lines, "EXTRACTED", page=3), 7), "second terminal record"),
        (lambda lines: _twice(lines, _find(lines, "DEAD_LETTER", page=2), len(lines) - 4), "after its end"),
        (lambda lines: _twice(lines, _find(lines, "DOCUMENT"), len(lines) - 4), "after its end"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=3), page=9), "without one terminal record"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=3), page=0), "impossible number"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=3), key="ab" * 32), "key does not follow"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=3), doc_sha256="zz"), "hash is impossible"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=4), doc_sha256="ab" * 32), "changes between"),
        (lambda lines: _changed(lines, _find(lines, "EXTRACTED", page=1), text_sha256=""), "no hash of its text"),
        (lambda lines: _changed(lines, _find(lines, "DEAD_LETTER", page=2), text_sha256="a" * 64), "without being"),
        (lambda lines: _changed(lines, _find(lines, "DEAD_LETTER", page=2), event="EXTRACTED"), "no hash of its"),
        (lambda lines: _changed(lines, _find(lines, "DOCUMENT"), page_count=3), "without one terminal record"),
        (lambda lines: _changed(lines, _find(lines, "DOCUMENT"), page_count="4"), "without one terminal record"),
        (lambda lines: _changed(lines, _find(lines, "DOCUMENT"), pages_extracted=4), "other numbers of pages"),
        (lambda lines: _changed(lines, _find(lines, "DOCUMENT"), outcome="DEAD_LETTER"), "outcome does not follow"),
        (lambda lines: _changed(lines, _find(lines, "RECONCILED"), pages_extracted=4), "pages_extracted 4, counted 3"),
        (lambda lines: _changed(lines, _find(lines, "RECONCILED"), reconciled=False), "or not, and the records differ"),
        (lambda lines: _changed(lines, _find(lines, "RECONCILED"), pages_enumerated=11), "the records differ"),
        (lambda lines: _changed(lines, _find(lines, "RECONCILED"), unfinished_sources=1), "the records differ"),
        (lambda lines: _changed(lines, _find(lines, "RECONCILED"), documents_enumerated=None), "what was enumerated"),
        (lambda lines: _changed(lines, _find(lines, "RUN_ENDED"), run=2), "run's number"),
        (lambda lines: _changed(lines, _find(lines, "RUN_ENDED"), request_id="other"), "request id or time"),
        (lambda lines: _changed(lines, _find(lines, "RUN_ENDED"), ts="yesterday"), "request id or time"),
        (lambda lines: _changed(lines, _find(lines, "RUN_ENDED"), mono_ms="1"), "lacks a field"),
        (lambda lines: _changed(lines, _find(lines, "RUN_ENDED"), elapsed=2**53), "too large"),
        (lambda lines: _changed(lines, _find(lines, "SKIPPED"), doc_id="D2"), "number is impossible"),
    ],
)
def test_tampering_with_a_chain_made_anew_is_found_where_the_records_disagree(
    lines: Lines, tmp_path: Path, tamper: Callable[[Lines], Lines], finding: str
) -> None:
    """Numbers and links all fit, and still a page is missing, twice there, or the sums do not come out."""
    assert _verified(tmp_path, rechained(lines)).ok
    report = _verified(tmp_path, tamper(lines))
    assert not report.ok
    assert any(finding in problem for problem in report.problems), report.problems


def test_a_checkpoint_that_says_otherwise_is_found(lines: Lines, tmp_path: Path) -> None:
    """A CHECKPOINT must state the number and the hash before it."""
    index = _find(lines, "CHECKPOINT")
    record = json.loads(lines[index]) | {"count": 1}
    changed = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
    report = _verified(tmp_path, [*lines[:index], changed, *lines[index + 1 :]])
    assert any("checkpoint does not match" in problem for problem in report.problems)


def test_a_cut_log_is_found_with_a_checkpoint_and_only_with_one(lines: Lines, tmp_path: Path) -> None:
    """Without a head from elsewhere the rest of a cut log is sound, which the report says cannot be told."""
    cut = lines[:-3]
    report = _verified(tmp_path, cut)
    assert report.ok
    assert NO_CHECKPOINT in report.notes
    report = _verified(tmp_path, cut, expect_head=_head(lines[-1]))
    assert not report.ok
    assert "end was cut off" in report.problems[-1]


def test_a_log_made_anew_is_found_with_a_checkpoint(lines: Lines, tmp_path: Path) -> None:
    """A changed header and new links throughout make a sound log, and not the one that the head belongs to."""
    other = rechained([lines[0].replace(b'"created":"2026', b'"created":"2025'), *lines[1:]])
    assert _verified(tmp_path, other).ok
    assert not _verified(tmp_path, other, expect_head=_head(lines[-1])).ok


@pytest.mark.parametrize("cut", [1, 40])
def test_a_torn_last_line_is_found(lines: Lines, tmp_path: Path, cut: int) -> None:
    """A file that ends within a line is not whole."""
    report = _verified(tmp_path, [*lines[:-1], lines[-1][:-cut]], ending=b"")
    assert not report.ok
    assert any("cut off" in problem for problem in report.problems)


def test_a_file_of_one_endless_line_does_not_fill_the_memory(tmp_path: Path) -> None:
    """Reading stops at the longest possible line."""
    out = tmp_path / "log.jsonl"
    with out.open("wb") as target:
        target.seek(300 * 1024 * 1024)
        target.write(b"x")
    tracemalloc.start()
    try:
        report = verify_file(out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert not report.ok
    assert peak < 40 * 1024 * 1024


@pytest.mark.parametrize("seed", range(3))
def test_any_changed_byte_before_the_end_is_found(lines: Lines, tmp_path: Path, seed: int) -> None:
    """Whatever byte becomes whatever other, the report says no, with a head from elsewhere even in the last line."""
    source = random.Random(seed)  # noqa: S311  # repeatable, not secret
    whole = b"\n".join(lines) + b"\n"
    for _ in range(60):
        position = source.randrange(len(whole))
        other = source.choice([byte for byte in (0, 10, 34, 44, 48, 57, 92, 123, 125, 255) if byte != whole[position]])
        (tmp_path / "log.jsonl").write_bytes(whole[:position] + bytes([other]) + whole[position + 1 :])
        assert not verify_file(tmp_path / "log.jsonl", _head(lines[-1])).ok


def test_problems_of_one_kind_are_counted_and_not_all_listed(lines: Lines, tmp_path: Path) -> None:
    """A thousand broken lines give a few sentences and a number."""
    report = _verified(tmp_path, [lines[0], *[b"x"] * 1000])
    assert len(report.problems) == 6
    assert "995 more problems of this kind" in report.problems[-1]


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    """Verifying 10,000 pages of one document takes no more than verifying a few."""
    peaks = []
    for pages in (500, 10_000):
        log = _long_log(pages)
        (tmp_path / "log.jsonl").write_bytes(b"\n".join(log) + b"\n")
        tracemalloc.start()
        try:
            report = verify_file(tmp_path / "log.jsonl")
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        assert report.problems == ()
    assert peaks[1] < peaks[0] + 200_000


def _long_log(pages: int) -> Lines:
    """Return the log of one document that is under way, its last page first."""
    header = {"case_id": "ab" * 16, "created": "x", "format": "sluicegate-audit", "request_id": "R", "v": 1}
    sha256 = "cd" * 32
    key = hashlib.sha256(bytes.fromhex(sha256) + b"R").hexdigest()
    lines = [json.dumps(header, sort_keys=True, separators=(",", ":")).encode()]
    prev = doc_prev = _head(lines[0])
    for seq in range(1, pages + 1):
        page = pages + 1 - seq
        record = {
            "attempt": 1, "chars": 1, "doc_id": "D0000001", "doc_prev": doc_prev, "doc_sha256": sha256, "dur_ms": 1,
            "event": "EXTRACTED", "key": key, "method": "text", "mono_ms": 1, "page": page, "prev": prev,
            "request_id": "R", "run": 0, "seq": seq, "text_sha256": "ef" * 32, "trace_id": "01" * 16,
            "ts": "2026-03-04T05:06:07.000000+00:00", "v": 1,
        }  # fmt: skip
        lines.append(json.dumps(record, sort_keys=True, separators=(",", ":")).encode())
        prev = doc_prev = _head(lines[-1])
    return lines


def test_an_outsider_needs_nothing_but_python(lines: Lines, tmp_path: Path) -> None:
    """The command runs without any installed package and says by its exit code what it found."""
    root = Path(__file__).parents[2]
    sound = tmp_path / "sound.jsonl"
    for arguments, code, words in (
        ([str(sound)], 0, ": verified"),
        ([str(sound), "--expect-head", "00"], 1, "NOT verified"),
        ([str(tmp_path / "missing")], 2, ""),
        ([], 2, ""),
    ):
        command = [sys.executable, "-S", "-m", "engine.case.verify", *arguments]
        ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert words in ended.stdout
        assert "Traceback" not in ended.stderr
    assert len(lines) > 1


def test_the_command_answers_in_this_process_too(
    lines: Lines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Option before or after the file; the last line is the verdict."""
    sound = str(tmp_path / "sound.jsonl")
    assert main(["--expect-head", _head(lines[-1]), sound]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("verified")
    assert main([sound, sound]) == 2


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """No file, or a folder: a sentence, and no report that could be mistaken for one."""
    for place in (tmp_path / "missing", tmp_path):
        with pytest.raises(CaseError, match="cannot be read"):
            verify_file(place)
