"""Answers: exactly what was asked for is taken, everything else is the one error, whatever a worker sends."""

import json
import random
from typing import Any

import pytest

from engine.models.document import Failure, Posture, Probe
from engine.models.outcome import Method, Outcome, Reason
from engine.work.frames import Frame, FrameBuffer, FrameCaps, FrameError
from engine.work.messages import (
    FoundPage,
    PageKind,
    failure_frame,
    pages_frame,
    probe_frame,
    ready_frame,
)
from engine.work.replies import failure_of, pages_of, posture_of, probe_of

PAGES = (
    FoundPage(page=3, kind=PageKind.TEXT, dur_ms=5, text="é\ufffd\n".encode(), replaced=1, damaged=True),
    FoundPage(page=4, kind=PageKind.BLANK, dur_ms=1),
    FoundPage(page=5, kind=PageKind.NO_TEXT, dur_ms=2),
    FoundPage(page=6, kind=PageKind.FAILED, dur_ms=3, reason=Reason.CORRUPT_PAGE, code=7),
)


def framed(data: bytes) -> Frame:
    """Return the frame that these bytes are."""
    buffer = FrameBuffer()
    buffer.feed(data)
    frame = buffer.take(FrameCaps(header_bytes=1 << 20, payload_bytes=1 << 24))
    assert frame is not None
    return frame


def pages(header: dict[str, Any], payload: bytes = b"") -> object:
    """Read an answer to a span of pages 3 and 4."""
    return pages_of(Frame({"number": 1} | header, payload), (3, 4), max_text_bytes=100, attempt=1)


def test_pages_become_results() -> None:
    """Text, blank, no text and failed pages each become the outcome that stands for them."""
    results, done = pages_of(framed(pages_frame(9, PAGES, done=True)), (3, 4, 5, 6), max_text_bytes=100, attempt=2)
    assert done
    assert [(result.page, result.outcome, result.method) for result in results] == [
        (3, Outcome.EXTRACTED, Method.TEXT),
        (4, Outcome.EXTRACTED, Method.BLANK),
        (5, Outcome.DEAD_LETTER, Method.NONE),
        (6, Outcome.DEAD_LETTER, Method.NONE),
    ]
    text, blank, no_text, failed = results
    assert (text.text, text.replaced, text.damaged, text.dur_ms, text.attempt) == ("é\ufffd\n", 1, True, 5, 2)
    assert blank.text == ""
    assert no_text.failure == Failure(reason=Reason.NO_TEXT)
    assert failed.failure == Failure(reason=Reason.CORRUPT_PAGE, code=7)
    assert failed.dur_ms == 3


def test_a_part_of_a_span_is_taken_and_not_the_last() -> None:
    """Pages that come early are taken as long as they are the next ones."""
    results, done = pages_of(framed(pages_frame(9, PAGES[:2], done=False)), (3, 4, 5), max_text_bytes=100, attempt=1)
    assert [result.page for result in results] == [3, 4]
    assert not done


def test_a_span_ends_early_only_with_a_page_that_ran_out_of_memory() -> None:
    """A page without room is the last one of its answer, and says so."""
    for code, rows in (
        (True, [[3, "failed", 1, "memory_limit", 2]]),
        (False, [[3, "failed", 1, "corrupt_page", 2]]),
        (True, [[3, "failed", 1, "memory_limit", 2], [4, "failed", 1, "out_of_memory", None]]),
    ):
        results, done = pages_of(
            Frame({"number": 1, "pages": rows, "done": code}, b""), (3, 4, 5), max_text_bytes=100, attempt=1
        )
        assert (len(results), done) == (len(rows), code)
        with pytest.raises(FrameError):
            pages({"pages": rows, "done": not code})


WRONG: list[tuple[dict[str, Any], bytes]] = [
    ({}, b""),
    ({"pages": [], "done": True}, b""),
    ({"pages": [[3, "blank", 1], [4, "blank", 1]], "done": False}, b""),
    ({"pages": [[3, "blank", 1]], "done": True}, b""),
    ({"pages": [[3, "blank", 1], [4, "blank", 1]], "done": 1}, b""),
    ({"pages": [[3, "blank", 1], [4, "blank", 1]], "done": True, "more": 1}, b""),
    ({"pages": [[3, "blank", 1], [4, "blank", 1], [5, "blank", 1]], "done": True}, b""),
    ({"pages": [[4, "blank", 1], [3, "blank", 1]], "done": True}, b""),
    ({"pages": [[3, "blank", 1], [3, "blank", 1]], "done": True}, b""),
    ({"pages": [[3.0, "blank", 1], [4, "blank", 1]], "done": True}, b""),
    ({"pages": [[True, "blank", 1]], "done": False}, b""),
    ({"pages": [[3, "blank", -1]], "done": False}, b""),
    ({"pages": [[3, "blank", 2**31]], "done": False}, b""),
    ({"pages": [[3, "blank", "1"]], "done": False}, b""),
    ({"pages": [[3, "blank"]], "done": False}, b""),
    ({"pages": [[3, "blank", 1, 0]], "done": False}, b""),
    ({"pages": [[3, "odd", 1]], "done": False}, b""),
    ({"pages": [[3, ["blank"], 1]], "done": False}, b""),
    ({"pages": [{"page": 3}], "done": False}, b""),
    ({"pages": "pages", "done": False}, b""),
    ({"pages": [[3, "blank", 1]], "done": False}, b"x"),
    ({"pages": [[3, "text", 1, 1, 0, False]], "done": False}, b"xy"),
    ({"pages": [[3, "text", 1, 3, 0, False]], "done": False}, b"xy"),
    ({"pages": [[3, "text", 1, 0, 0, False]], "done": False}, b""),
    ({"pages": [[3, "text", 1, 2, 3, False]], "done": False}, b"xy"),
    ({"pages": [[3, "text", 1, 2, 0, 0]], "done": False}, b"xy"),
    ({"pages": [[3, "text", 1, 2, 0]], "done": False}, b"xy"),
    ({"pages": [[3, "text", 1, 101, 0, False]], "done": False}, b"x" * 101),
    ({"pages": [[3, "text", 1, 2, 0, False]], "done": False}, b" \n"),
    ({"pages": [[3, "text", 1, 3, 1, False]], "done": False}, "\ufffd".encode()),
    ({"pages": [[3, "text", 1, 2, 0, False]], "done": False}, b"a\x00"),
    ({"pages": [[3, "text", 1, 2, 0, False]], "done": False}, b"a\r"),
    ({"pages": [[3, "text", 1, 3, 0, False]], "done": False}, b"a\xc2\x85"),
    ({"pages": [[3, "text", 1, 3, 0, False]], "done": False}, b"\xed\xa0\x80"),
    ({"pages": [[3, "text", 1, 1, 0, False], [4, "text", 1, 1, 0, False]], "done": True}, b"\xc3\xa9"),
    ({"pages": [[3, "failed", 1, "no_such_reason", None]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, "worker_lost", None]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, "encrypted", None]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, ["corrupt_page"], None]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, "corrupt_page", 2**40]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, "corrupt_page", "password"]], "done": False}, b""),
    ({"pages": [[3, "failed", 1, "corrupt_page"]], "done": False}, b""),
]


def test_pages_that_are_not_exactly_right_are_refused(subtests: pytest.Subtests) -> None:
    """Wrong fields, types, numbers, orders, lengths, characters and reasons are each the one error."""
    for header, payload in WRONG:
        with subtests.test(header=header, payload=payload), pytest.raises(FrameError):
            pages(header, payload)


def test_a_failure_of_the_document_is_read_and_only_with_a_known_reason() -> None:
    """A document may fail for a listed reason; a worker cannot make up one, nor answer another request."""
    assert failure_of(framed(failure_frame(4, Reason.ENCRYPTED, 7)), 4) == Failure(reason=Reason.ENCRYPTED, code=7)
    assert failure_of(Frame({"number": 4, "pages": []}, b""), 4) is None
    for header in (
        {"number": 5, "failed": ["encrypted", 7]},
        {"failed": ["encrypted", 7]},
        {"number": 4, "failed": ["worker_crashed", 7]},
        {"number": 4, "failed": ["encrypted"]},
        {"number": 4, "failed": "encrypted"},
        {"number": 4, "failed": ["encrypted", 7], "text": "secret"},
    ):
        with pytest.raises(FrameError):
            failure_of(Frame(header, b""), 4)


def test_a_probe_is_read_and_checked() -> None:
    """A probe needs a hash, a page and sensible sizes."""
    good: dict[str, Any] = {"sha256": "a" * 64, "page_count": 3, "size_bytes": 9, "mtime_ns": -5, "repaired": False}
    frame = framed(probe_frame(1, sha256="a" * 64, page_count=3, size_bytes=9, mtime_ns=-5, repaired=False))
    assert probe_of(frame) == Probe(sha256="a" * 64, page_count=3, size_bytes=9, mtime_ns=-5, repaired=False)
    changes: list[dict[str, Any]] = [
        *({"sha256": value} for value in ("A" * 64, "a" * 63, 5)),
        *({"page_count": value} for value in (0, 2**31, "3", True)),
        *({"size_bytes": 0}, {"mtime_ns": 2**63}, {"repaired": 1}, {"extra": 1}),
    ]
    for change in changes:
        with pytest.raises(FrameError):
            probe_of(Frame({"number": 1, "probe": good | change}, b""))
    with pytest.raises(FrameError):
        probe_of(Frame({"number": 1, "probe": good}, b"x"))


def test_a_posture_is_made_of_plain_words() -> None:
    """A worker reports its protections in printable ASCII, or is not let in."""
    frame = framed(ready_frame(limits=["no core dumps"], sandbox="none", parser="Parser 1.0"))
    assert posture_of(frame) == Posture(limits=("no core dumps",), sandbox="none", parser="Parser 1.0")
    good = {"limits": [], "sandbox": "none", "confined": True, "parser": "p"}
    assert posture_of(Frame({"ready": good}, b"")).confined
    for changes in (
        {"limits": "all"},
        {"limits": ["x\x1b[2J"]},
        {"limits": ["x"] * 40},
        {"sandbox": ""},
        {"parser": "x" * 1000},
        {"confined": 1},
        {"more": "p"},
    ):
        with pytest.raises(FrameError):
            posture_of(Frame({"ready": good | changes}, b""))
    for name in good:
        with pytest.raises(FrameError):
            posture_of(Frame({"ready": {other: good[other] for other in good if other != name}}, b""))


def mutated(value: Any, dice: random.Random) -> Any:
    """Return a JSON value with something about it changed."""
    odd: list[Any] = [None, True, False, -1, 0, 2**70, 1.5, "", "x", "blank", [], {}, [[]], {"a": 1}, float("nan")]
    if isinstance(value, dict) and value and dice.random() < 0.8:
        key = dice.choice(list(value))
        if dice.random() < 0.2:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: mutated(value[key], dice)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        index = dice.randrange(len(value))
        if dice.random() < 0.2:
            return value[:index] + value[index + 1 :] * dice.randrange(3)
        return [*value[:index], mutated(value[index], dice), *value[index + 1 :]]
    return dice.choice(odd)


def test_no_mutation_of_an_answer_raises_anything_but_the_one_error() -> None:
    """Answers with fields changed, dropped, repeated or replaced, and bytes flipped, are taken or refused."""
    dice = random.Random(1)  # noqa: S311  # a repeatable test
    answers = (
        pages_frame(1, PAGES, done=True),
        failure_frame(1, Reason.CORRUPT_DOCUMENT, 7),
        probe_frame(1, sha256="a" * 64, page_count=3, size_bytes=9, mtime_ns=5, repaired=False),
        ready_frame(limits=["a"], sandbox="none", parser="p"),
    )
    refused = 0
    for _ in range(4000):
        frame = framed(dice.choice(answers))
        header, payload = frame.header, bytearray(frame.payload)
        for _ in range(dice.randrange(1, 4)):
            header = mutated(header, dice)
        if payload and dice.random() < 0.5:
            payload[dice.randrange(len(payload))] = dice.randrange(256)
        if not isinstance(header, dict):
            continue
        changed = Frame(json.loads(json.dumps(header)), bytes(payload))
        for read in (
            lambda frame=changed: failure_of(frame, 1),
            lambda frame=changed: pages_of(frame, (3, 4, 5, 6), max_text_bytes=100, attempt=1),
            lambda frame=changed: probe_of(frame),
            lambda frame=changed: posture_of(frame),
        ):
            try:
                read()
            except FrameError:
                refused += 1
    assert refused > 4000
