"""Audit records: canonical bytes, the chain, and what may stand in a record."""

import hashlib
import json
import random
from itertools import pairwise

import pytest

from engine.case.audit import LARGEST_NUMBER, PageForm, canonical, trace_base, trace_id
from engine.case.casefile import CaseFile
from engine.case.journal import CHECKPOINT_EVERY
from engine.case.storage import ContradictionError
from engine.models.facts import FilesFound, Noted
from engine.models.outcome import Reason, SkipReason
from tests.case.conftest import Clock
from tests.case.factory import commit_all, dead, done, extracted, failed, file, found, probed, records, retried


def _lines(case: CaseFile) -> list[bytes]:
    with case.reader() as reader:
        return [reader.identity.line, *reader.audit_lines()]


def _rich(case: CaseFile) -> None:
    commit_all(
        case,
        Noted(event="RUN_STARTED", fields={"operator": "me"}),
        found("a.pdf", "b.pdf", "c.pdf"),
        probed(1, pages=3),
        retried(1, 2),
        done(1, 3, dead(2, Reason.WORKER_CRASHED)),
        probed(2, "document 1", pages=3),
        done(1, extracted(1, "grün\n", replaced=2, damaged=True)),
        failed(3),
        Noted(event="RUN_ENDED", fields={}, checkpoint=True),
    )


def test_the_chain_can_be_followed_by_hand(case: CaseFile) -> None:
    """Every `prev` is the SHA-256 of the bytes before, beginning with the header; numbers have no gap."""
    _rich(case)
    lines = _lines(case)
    for number, (before, line) in enumerate(pairwise(lines), start=1):
        record = json.loads(line)
        assert record["seq"] == number
        assert record["prev"] == hashlib.sha256(before).hexdigest()
    counts = case.counts()
    assert counts.audit_head == hashlib.sha256(lines[-1]).hexdigest()
    assert counts.audit_records == len(lines) - 1


def test_the_history_of_one_document_can_be_followed_alone(case: CaseFile) -> None:
    """`doc_prev` links a document's records from the header on, whatever stands between them."""
    _rich(case)
    lines = _lines(case)
    last = {f"D000000{number}": hashlib.sha256(lines[0]).hexdigest() for number in (1, 2, 3)}
    followed = 0
    for line in lines[1:]:
        record = json.loads(line)
        if "doc_id" in record:
            assert record["doc_prev"] == last[record["doc_id"]]
            last[record["doc_id"]] = hashlib.sha256(line).hexdigest()
            followed += 1
    assert followed == 10


def test_every_line_is_in_the_one_form(case: CaseFile) -> None:
    """Sorted keys, compact, UTF-8 unescaped, whole numbers, flat: a second writer would give the same bytes."""
    _rich(case)
    for line in _lines(case):
        record = json.loads(line, parse_float=pytest.fail)
        again = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert again == line
        assert all(value is None or type(value) in (int, str, bool) for value in record.values())


def test_a_page_record_says_everything_about_the_page(case: CaseFile, clock: Clock) -> None:
    """The fields of an extracted page with flags, with the values that were given."""
    clock.seconds = 1.5
    _rich(case)
    record = next(item for item in records(case) if item.get("page") == 1 and item["doc_id"] == "D0000001")
    text = "grün\n"
    assert {name: record[name] for name in record if name not in ("prev", "doc_prev", "trace_id")} == {
        "v": 1,
        "seq": 5,
        "ts": "2026-03-04T05:06:08.500089+00:00",
        "mono_ms": 1500,
        "event": "EXTRACTED",
        "run": 1,
        "request_id": "FOIA-2026-0117",
        "doc_id": "D0000001",
        "doc_sha256": hashlib.sha256(b"document 1").hexdigest(),
        "key": hashlib.sha256(hashlib.sha256(b"document 1").digest() + b"FOIA-2026-0117").hexdigest(),
        "page": 1,
        "method": "text",
        "chars": 5,
        "text_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "attempt": 1,
        "dur_ms": 3,
        "replaced": 2,
        "damaged": True,
    }


def test_the_path_stands_in_the_document_record_only(case: CaseFile) -> None:
    """A name with odd bytes is kept exactly in base64, readable beside it, and in no record of a page."""
    commit_all(case, found(b"a\xff\n.pdf"), probed(1), done(1, 1))
    page, document = records(case)
    assert "path" not in page
    assert "path_b64" not in page
    assert document["path_b64"] == "Yf8KLnBkZg=="
    assert document["path"] == "a\\xff\\u{a}.pdf"
    assert document["root"] == "/in"
    assert document["mtime_ns"] == "5"
    assert document["outcome"] == "EXTRACTED"
    assert (document["page_count"], document["pages_extracted"], document["repaired"]) == (1, 1, False)


def test_the_quick_way_gives_the_same_bytes() -> None:
    """Lines of extracted pages are written from a form; the slow way would write the same."""
    source = random.Random(7)  # noqa: S311  # repeatable, not secret
    for request_id in ("FOIA-1", '100 % "done" \\ {x} %s %(a)d', "日本/é"):
        form = PageForm(request_id)
        for _ in range(50):
            numbers = {
                name: source.choice([0, 1, source.randrange(2**31)])
                for name in ("attempt", "chars", "dur_ms", "mono_ms", "page", "run", "seq")
            }
            words = {
                name: f"{source.getrandbits(256):064x}"
                for name in ("doc_id", "doc_prev", "doc_sha256", "key", "method", "prev", "text_sha256", "ts")
            }
            record = {**numbers, **words, "event": "EXTRACTED", "request_id": request_id, "v": 1}
            same = {name: record[name] for name in ("doc_id", "doc_sha256", "key", "mono_ms", "run", "ts")}
            filled_in = (
                "attempt",
                "chars",
                "doc_prev",
                "dur_ms",
                "method",
                "page",
                "prev",
                "seq",
                "text_sha256",
                "page",
            )
            line = form.of_document(**same, trace="ab" * 12) % tuple(record[name] for name in filled_in)  # type: ignore[arg-type]  # two kinds in one call
            assert line.encode() == canonical({**record, "trace_id": trace_id("ab" * 12, numbers["page"])})


def test_trace_ids_are_one_per_page_and_run() -> None:
    """A trace id has the shape that tracing tools expect and differs by case, run, document and page."""
    bases = {trace_base(case_id, run, doc_id) for case_id in ("a", "b") for run in (1, 2) for doc_id in (1, 2)}
    ids = {trace_id(base, page) for base in bases for page in (0, 1, 50_000)}
    assert len(ids) == 24
    assert {len(item) for item in ids} == {32}


@pytest.mark.parametrize(
    "note",
    [
        Noted(event="HELD", fields={"rate": 1.5}),  # type: ignore[dict-item]  # what the type forbids is the point
        Noted(event="HELD", fields={"list": []}),  # type: ignore[dict-item]  # as above
        Noted(event="HELD", fields={"seq": 1}),
        Noted(event="HELD", fields={"Bad Name": 1}),
        Noted(event="HELD", fields={"cause": "\ud800"}),
        Noted(event="HELD", fields={"bytes": LARGEST_NUMBER + 1}),
        Noted(event="EXTRACTED"),
        Noted(event="CHECKPOINT"),
        Noted(event="held"),
    ],
)
def test_what_has_no_place_in_the_log_is_refused(case: CaseFile, note: Noted) -> None:
    """Floats, nested values, lone surrogates, numbers too large, common fields and own events never get in."""
    with pytest.raises(ContradictionError):
        case.commit([note])
    assert case.counts().audit_records == 0


def test_a_checkpoint_follows_a_thousand_records(case: CaseFile) -> None:
    """A CHECKPOINT stands after every 1,000 records and states their number and the hash of the last one."""
    case.commit([Noted(event="HELD") for _ in range(CHECKPOINT_EVERY * 2 + 10)])
    points = [record for record in records(case) if record["event"] == "CHECKPOINT"]
    assert [point["seq"] for point in points] == [1001, 2002]
    assert [point["count"] for point in points] == [1000, 2001]
    assert all(point["head"] == point["prev"] for point in points)


def test_a_checkpoint_is_made_on_request_once(case: CaseFile) -> None:
    """A second request without anything in between adds nothing."""
    case.commit([Noted(event="HELD", checkpoint=True)])
    case.checkpoint()
    assert [record["event"] for record in records(case)] == ["HELD", "CHECKPOINT"]
    case.commit([Noted(event="RELEASED")])
    case.checkpoint()
    case.checkpoint()
    assert [record["event"] for record in records(case)][2:] == ["RELEASED", "CHECKPOINT"]


def test_the_run_counts_up_with_each_start(case: CaseFile) -> None:
    """Records carry the number of the run that they were written in."""
    commit_all(case, *(Noted(event=event) for event in ("RUN_STARTED", "HELD", "RUN_STARTED", "HELD")))
    assert [record["run"] for record in records(case)] == [1, 1, 2, 2]


def test_the_wall_clock_may_jump(case: CaseFile, clock: Clock) -> None:
    """Records are numbered and chained as ever where the clock was set back."""
    clock.seconds = 100
    case.commit([Noted(event="HELD")])
    clock.seconds = 0
    case.commit([Noted(event="RELEASED")])
    assert [record["ts"][:19] for record in records(case)] == ["2026-03-04T05:07:47", "2026-03-04T05:06:07"]


def test_left_out_files_are_recorded_with_their_reason(case: CaseFile) -> None:
    """What the enumeration left out stands in the log, with path, size and why."""
    case.commit([FilesFound(files=(file("notes.txt", skip=SkipReason.NOT_SELECTED), file("x", skip=SkipReason.FIFO)))])
    assert [(record["event"], record["path"], record["reason"]) for record in records(case)] == [
        ("SKIPPED", "notes.txt", "not_selected"),
        ("SKIPPED", "x", "fifo"),
    ]
