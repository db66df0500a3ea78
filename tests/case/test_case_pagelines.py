"""Pages whose lines are compared as a whole with what they must be: not one byte of them goes unseen."""

import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from engine.case.chaincheck import ChainCheck
from engine.case.pagelines import in_a_row
from tests.case.factory import OneByOne, Together

Lines = list[bytes]

HEADER = b'{"case_id":"abab","created":"x","format":"sluicegate-audit","request_id":"R. \xc3\xa4","v":1}'
PLAIN = "2026-03-04T05:06:07.000000+00:00"


def _written(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _record(event: str, **more: Any) -> dict[str, Any]:
    none = {"prev": "0" * 64, "seq": 0, "mono_ms": 70, "request_id": "R. ä", "run": 1, "ts": PLAIN, "v": 1}
    return {**none, "event": event, **more}


def _of(doc_id: int, content: int = 0, **more: Any) -> dict[str, Any]:
    sha256 = f"{content or doc_id:064x}"
    key = hashlib.sha256(bytes.fromhex(sha256) + "R. ä".encode()).hexdigest()
    return {"doc_id": f"D{doc_id:07d}", "doc_prev": "0" * 64, "doc_sha256": sha256, "key": key, **more}


def _pages(doc_id: int, *pages: int, content: int = 0) -> Lines:
    return [
        _written(
            _record(
                "EXTRACTED", attempt=1, chars=17 * page, dur_ms=page % 3, method=("text", "ocr")[page % 2], page=page,
                text_sha256=f"{page:064x}", trace_id=f"{page:032x}", **_of(doc_id, content),
            )
        )
        for page in pages
    ]  # fmt: skip


def _duplicate(doc_id: int, page: int) -> bytes:
    fields = {"attempt": 1, "chars": 0, "dur_ms": 3, "duplicate_of": "D0000001", "method": "none", "page": page}
    return _written(_record("DUPLICATE", text_sha256="", trace_id="", **fields, **_of(doc_id)))


def _end(doc_id: int, pages: int, content: int = 0) -> bytes:
    place = {"mtime_ns": "1", "path": "a.pdf", "path_b64": "YQ==", "root": "/", "root_b64": "Lw==", "size_bytes": 5}
    numbers = {"page_count": pages, "pages_extracted": pages, "pages_dead_letter": 0, "pages_duplicate": 0}
    more = {"outcome": "EXTRACTED", "repaired": False, "trace_id": "", "version": 1}
    return _written(_record("DOCUMENT", **place, **numbers, **more, **_of(doc_id, content)))


def _retry(doc_id: int) -> bytes:
    fields = {"trace_id": "", "reason": "read_failed", "failure_class": "transient", "attempt": 1}
    document = {name: value for name, value in _of(doc_id).items() if name in {"doc_id", "doc_prev"}}
    return _written(_record("RETRY", **fields, **document))


def _hold(event: str) -> bytes:
    return _written(_record(event, cause="watermark", queue_depth=192))


def _chained(lines: Sequence[bytes]) -> Lines:
    """Return lines numbered and linked anew, with all else in them as it is written, be it JSON or not."""
    chained, last_of, root = [HEADER], dict[bytes, bytes](), _hash(HEADER)
    for seq, line in enumerate(lines, 1):
        linked = re.sub(rb'(,"prev":")[0-9a-f]{64}', rb"\g<1>" + _hash(chained[-1]), line)
        linked = re.sub(rb'(,"seq":)0,', rb"\g<1>%d," % seq, linked)
        label = re.search(rb'"doc_id":"([^"]*)"', linked)
        if label:
            doc_prev = last_of.get(label.group(1), root)
            linked = re.sub(rb'("doc_prev":")[0-9a-f]{64}', rb"\g<1>" + doc_prev, linked)
            last_of[label.group(1)] = _hash(linked)
        chained.append(linked)
    return chained


def _hash(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest().encode()


def _log(*lines: bytes) -> Lines:
    start = {"operator": "me", "resumed": False}
    return _chained([_written(_record("RUN_STARTED", **start)), *lines])


def _findings(check: ChainCheck, lines: Lines) -> tuple[Any, ...]:
    check.take_text(b"\n".join(lines[1:]) + b"\n")
    check.finish()
    return check.problems, check.records, check.head, check.open_documents, check.tallies


def _both(lines: Lines) -> Sequence[str]:
    """Return the problems with a log, which must be the same either way."""
    expected = _findings(OneByOne(lines[0]), lines)
    assert _findings(ChainCheck(lines[0]), lines) == expected
    problems: Sequence[str] = expected[0]
    return problems


def _altered(source: random.Random, line: bytes) -> Iterator[bytes]:
    """Yield a line with one byte changed, put in or taken out, at each of its places."""
    others = [b'"', b"0", b"9", b"A", b"a", b"g", b" ", b"\n", b"\xc3", b""]
    for place in range(len(line)):
        byte = source.choice([byte for byte in others if byte != line[place : place + 1]])
        yield line[:place] + byte + line[place + source.choice([0, 1, 1, 1]) :]


def test_pages_of_many_shapes_are_all_taken_together() -> None:
    """Documents by turns, of any length, with digits more or less, and holds: no line but the run's start is alone."""
    turns = [*_pages(1, 1, 2, 3), _hold("HELD"), *_pages(2, 1), *_pages(1, *range(4, 1100)), *_pages(2, 2, 3)]
    lines = _log(
        *turns,
        _end(2, 3),
        _hold("RELEASED"),
        *_pages(10_000_000, 1),
        _end(10_000_000, 1),
        *_pages(123_456_789_012, 9, 8),
    )
    check = Together(HEADER)
    assert _findings(check, lines)[0] == []
    assert check.singles == 1
    assert check.tallies.pages == {"EXTRACTED": 1105}
    assert _both(lines) == []


@pytest.mark.parametrize(
    ("place", "seed"),
    [
        (2, 0),
        (6, 0),
        (8, 0),
        *(pytest.param(place, seed, marks=pytest.mark.whole) for place in (1, 2, 3, 5, 6, 8) for seed in range(1, 6)),
    ],
)
def test_no_byte_of_a_line_goes_unseen(place: int, seed: int) -> None:
    """Whatever byte is another, missing or too many, and the chain made anew: the same words are said of it."""
    lines = [*_pages(1, 1, 2, 3), *_pages(2, 1), _end(2, 1), _hold("HELD"), *_pages(1, 4)]
    lines += [_duplicate(3, 1), _duplicate(3, 2)]
    found_something = number = 0
    for altered in _altered(random.Random(seed), lines[place - 1]):  # noqa: S311  # repeatable, not secret
        found_something += bool(_both(_log(*lines[: place - 1], altered, *lines[place:])))
        number += 1
    assert number > found_something > number * 0.7


def test_a_link_of_another_record_is_found() -> None:
    """A page that links to the wrong line, or to the wrong record of its document, is a problem, chained or not."""
    lines = _log(*_pages(1, 1, 2), *_pages(2, 1), *_pages(1, 3, 4, 5))
    for place, name in ((5, b"doc_prev"), (6, b"doc_prev"), (5, b"prev"), (6, b"prev")):
        for other in (3, 4, 7):
            changed = [*lines]
            changed[place] = re.sub(rb'("%b":")[0-9a-f]{64}' % name, rb"\g<1>" + _hash(lines[other - 1]), lines[place])
            if changed != lines:
                assert "does not link to" in " ".join(_both(changed))


def test_contents_that_change_are_found_where_the_first_record_had_none() -> None:
    """A document that begins with a failed attempt gets its content with its first page, and keeps it."""
    assert _both(_log(_retry(1), *_pages(1, 1, 2), *_pages(2, 1), *_pages(1, 3))) == []
    problems = _both(_log(_retry(1), *_pages(1, 1, 2), *_pages(2, 1), *_pages(1, 3, content=7)))
    assert any("hash or key changes" in problem for problem in problems)


def test_documents_of_the_same_bytes_are_told_apart() -> None:
    """Pages of two documents that have the same hash follow one another: each has its own chain and pages."""
    assert _both(_log(*_pages(1, 1, 2, content=7), *_pages(2, 1, 2, content=7), _end(1, 2, 7), _end(2, 2, 7))) == []
    problems = _both(_log(*_pages(1, 1, 2, content=7), *_pages(2, 3, content=7), _end(1, 3, 7)))
    assert any("without one terminal record for each" in problem for problem in problems)


def test_a_page_twice_or_after_the_end_is_found() -> None:
    """A second record of a page, in a stretch of its own or within one, and one after the document's end."""
    for pages in ((1, 2, 3, 3), (1, 2, 3, 2), (1, 3, 2, 1), (0, 1, 2)):
        assert any("second terminal record" in problem for problem in _both(_log(*_pages(1, *pages))))
    late = _both(_log(*_pages(1, 1, 2), _end(1, 2), *_pages(1, 3, 4)))
    assert any("record after its end" in problem for problem in late)


def test_runs_and_gaps_between_stretches_are_followed() -> None:
    """After a run has started, or numbers are missing, the lines after it are judged by what they must be then."""
    lines = _log(*_pages(1, *range(1, 30)))
    again = _written(_record("RUN_STARTED", run=2))
    second = [line.replace(b'"run":1', b'"run":2') for line in _pages(1, *range(30, 60))]
    assert _both(_log(*_pages(1, *range(1, 30)), again, *second)) == []
    assert any("number does not follow" in problem for problem in _both(_log(*_pages(1, *range(1, 30)), *second)))
    assert any("have a gap" in problem for problem in _both([*lines[:10], *lines[12:]]))


def test_many_breaks_in_a_row_are_no_deep_matter() -> None:
    """Thousands of lines of which each breaks the numbering are judged, all of them."""
    lines = [HEADER, *(b'{"event":"X","seq":%d}' % (seq * 2) for seq in range(1, 4000))]
    check = ChainCheck(HEADER)
    check.take_text(b"\n".join(lines[1:]) + b"\n")
    check.finish()
    assert check.records == 3999
    assert any("3,994 more problems of this kind: the records' numbers" in problem for problem in check.problems)


def test_numbers_in_a_row_are_written_as_numbers_are() -> None:
    """However many, wherever they begin, and whatever stands before each."""
    source = random.Random(3)  # noqa: S311  # repeatable, not secret
    starts = [0, 1, 9, 99, 998, 999, 1000, 1999, *(source.randrange(10**6) for _ in range(30))]
    for first in starts:
        for number in (1, 2, 11, 1000, 1001, 2500):
            for before in (b"", b'1,"seq":'):
                numbers = range(first, first + number)
                assert in_a_row(first, number, before) == b"\n".join(b"%b%d" % (before, each) for each in numbers)
