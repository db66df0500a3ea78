"""Lines that are checked together give the same findings as lines that are checked one by one, whatever is in them."""

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pytest

from engine.case.casefile import CaseFile
from engine.case.chaincheck import ChainCheck
from engine.case.checkedlog import Bits
from engine.case.export import export_audit
from engine.case.verify import LONGEST_LINE, verify_file
from engine.models.facts import FilesFound, Noted
from engine.models.outcome import Method, Reason, SkipReason
from tests.case.factory import (
    OneByOne,
    Together,
    commit_all,
    dead,
    done,
    extracted,
    failed,
    file,
    found,
    probed,
    rechained,
    retried,
)

Lines = list[bytes]


def _log(case: CaseFile, tmp_path: Path) -> Lines:
    """Return a log of pages of some documents, by turns, among records of every other kind."""
    commit_all(
        case,
        Noted(event="RUN_STARTED", fields={"operator": "me"}),
        found("a.pdf", "b.pdf"),
        FilesFound(files=(file("c.txt", skip=SkipReason.NOT_SELECTED),)),
        found("copy.pdf", "bad.pdf", "half.pdf"),
        probed(1, "same", pages=40),
        probed(2, pages=12),
        done(1, *range(1, 17)),
        done(2, 1, 2, extracted(3, ""), 4),
        probed(4, "same", pages=40),
        done(1, *range(25, 33)),
        retried(1, 17),
        done(2, *range(9, 13)),
        done(1, 17, dead(18, Reason.TIME_LIMIT), *range(19, 25), extracted(33, "scan", method=Method.OCR)),
        Noted(event="HELD", fields={"cause": "user"}, checkpoint=True),
        done(2, 8, 7, extracted(6, "ä", damaged=True), 5),
        done(1, *range(34, 41)),
        failed(5, Reason.ENCRYPTED),
        probed(6, pages=3),
        done(6, 1, 2),
        failed(6, Reason.SOURCE_VANISHED),
        Noted(event="RECONCILED"),
        Noted(event="RUN_ENDED", checkpoint=True),
    )
    with case.reader() as reader:
        export_audit(reader, tmp_path / "sound.jsonl")
    return (tmp_path / "sound.jsonl").read_bytes().splitlines()


def _findings(check: ChainCheck) -> dict[str, Any]:
    check.finish()
    return {
        "problems": check.problems,
        "records": check.records,
        "head": check.head,
        "open": check.open_documents,
        "tallies": asdict(check.tallies),
    }


def _general(lines: Lines) -> dict[str, Any]:
    check = OneByOne(lines[0])
    check.take_all(lines[1:])
    return _findings(check)


def _together(lines: Lines, size: int) -> dict[str, Any]:
    check = ChainCheck(lines[0])
    for first in range(1, len(lines), size):
        check.take_all(lines[first : first + size])
    return _findings(check)


def _flip(source: random.Random, line: bytes) -> bytes:
    place = source.randrange(len(line))
    return line[:place] + bytes([source.randrange(256)]) + line[place + 1 :]


def _other_digit(source: random.Random, line: bytes) -> bytes:
    place = source.choice([match.start() for match in re.finditer(rb"[0-9a-f]", line)])
    return line[:place] + source.choice([b"0", b"7", b"a", b"A", b"_", b" ", b"\n"]) + line[place + 1 :]


def _other_number(source: random.Random, line: bytes) -> bytes:
    match = source.choice(list(re.finditer(rb":(-?[0-9]+)", line)) or [re.match(rb"", line)])
    if match is None or not match.group():
        return b""
    written = match.group(1)
    others = [b"0", b"-1", b"1", b"0" + written, written + b"0", written + b".0", b"%d" % 2**53, b"9" * 30, b"1e3"]
    others += [b"true", b"null", b'"1"', b"[1]", b"\xd9\xa1", b" " + written]
    return line[: match.start(1)] + source.choice(others) + line[match.end(1) :]


def _other_field(source: random.Random, line: bytes) -> bytes:
    """Change, remove or add a field, and write the line in its one form."""
    fields = json.loads(line)
    name = source.choice(sorted(fields))
    values = [0, 1, 2, 40, 41, "", "x", "EXTRACTED", "DOCUMENT", "D0000001", "D0000009", "ab" * 32, "AB" * 32, None]
    fields[name] = source.choice([*values, True, 2**60, "ä", '"', "\n" * 64, "2026-13-04T05:06:07.000089+00:00"])
    if source.random() < 0.2:
        del fields[name]
    if source.random() < 0.1:
        fields["damaged"] = True
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _other_form(source: random.Random, line: bytes) -> bytes:
    """Write the same fields in another way."""
    text = line.decode()
    place = source.choice([match.start() for match in re.finditer(r"[a-z]", text)])
    return source.choice(
        [
            line.replace(b",", b", ", 1),
            line + b" ",
            b" " + line,
            line + b"\r",
            line + b"\n",
            b"\n" + line,
            b"{}\n" + line,
            line + b"\n" + line,
            line[:-1] + b',"v":1}',
            b'{"attempt":1,' + line[1:],
            b"\xef\xbb\xbf" + line,
            text.encode("utf-16"),
            f"{text[:place]}\\u{ord(text[place]):04x}{text[place + 1 :]}".encode(),
            json.dumps(dict(reversed(json.loads(line).items())), separators=(",", ":")).encode(),
            line[: source.randrange(len(line))],
        ]
    )


_OF_A_LINE: Final[Sequence[Callable[[random.Random, bytes], bytes]]] = (
    _flip,
    _other_digit,
    _other_number,
    _other_field,
    _other_form,
)


def _mutated(source: random.Random, lines: Lines) -> Lines:
    """Return the log with one or two changes, at times numbered and linked anew after it."""
    result = list(lines)
    for _ in range(source.choice([1, 1, 1, 2])):
        place, other = source.randrange(1, len(result)), source.randrange(1, len(result))
        kind = source.randrange(8)
        if kind == 0:
            del result[place]
        elif kind == 1:
            result.insert(other, result[place])
        elif kind == 2:
            result[place], result[other] = result[other], result[place]
        else:
            try:
                result[place] = source.choice(_OF_A_LINE)(source, result[place])
            except ValueError:  # the second change of a line that is no record any more
                result[place] = b""
    if source.random() < 0.5:
        try:
            return rechained(result)
        except (ValueError, KeyError, TypeError, AttributeError):  # there is no record to link
            return result
    return result


def test_a_sound_log_gives_the_same_either_way(case: CaseFile, tmp_path: Path) -> None:
    """No problem, the same sums, however many lines come at a time; and only unusual lines are taken one by one."""
    lines = _log(case, tmp_path)
    expected = _general(lines)
    assert expected["problems"] == []
    assert all(_together(lines, size) == expected for size in (1, 2, 3, 7, 50, 1000))
    check = Together(lines[0])
    check.take_all(lines[1:])
    records = [json.loads(line) for line in lines[1:]]
    pages = [record for record in records if record["event"] in {"EXTRACTED", "DUPLICATE"} and "damaged" not in record]
    ends = [record for record in records if record.get("outcome") in {"EXTRACTED", "DUPLICATE"}]
    assert (len(pages), len(ends)) == (92, 4)
    assert check.singles == len(records) - len(pages) - len(ends)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(3, 12))])
def test_whatever_is_changed_the_findings_are_the_same(case: CaseFile, tmp_path: Path, seed: int) -> None:
    """Hundreds of changes of every kind: the same problems with the same lines, the same sums and heads."""
    lines = _log(case, tmp_path)
    source = random.Random(seed)  # noqa: S311  # repeatable, not secret
    found_something = 0
    for _ in range(100):
        mutated = _mutated(source, lines)
        expected = _general(mutated)
        assert _together(mutated, source.choice([1, 5, 30, 1000])) == expected
        found_something += bool(expected["problems"])
    assert found_something > 50


@pytest.mark.parametrize(("length", "cut"), [(LONGEST_LINE - 1, False), (LONGEST_LINE, True), (LONGEST_LINE + 1, True)])
def test_a_line_is_whole_up_to_the_longest(case: CaseFile, tmp_path: Path, length: int, cut: bool) -> None:  # noqa: FBT001  # a table's column
    """One byte decides whether a line is judged or the reading ends there; what follows it is then not looked at."""
    lines = _log(case, tmp_path)
    out = tmp_path / "log.jsonl"
    out.write_bytes(b"\n".join([*lines[:50], b"x" * length, *lines[50:]]) + b"\n")
    report = verify_file(out)
    assert any("cut off, or longer" in problem for problem in report.problems) == cut
    assert report.records == (50 if cut else len(lines))


def test_lines_across_the_blocks_of_reading_are_whole(case: CaseFile, tmp_path: Path) -> None:
    """A file of several blocks verifies, and any line's hash is found in it, with the number of its record."""
    commit_all(case, Noted(event="RUN_STARTED"), found("a.pdf"), probed(1, pages=900))
    commit_all(case, *(done(1, *range(first, first + 90)) for first in range(1, 901, 90)))
    with case.reader() as reader:
        export_audit(reader, tmp_path / "log.jsonl")
        lines = list(reader.audit_lines())
    assert (tmp_path / "log.jsonl").stat().st_size > 400_000
    for number in range(1, len(lines), 97):
        prev = json.loads(lines[number])["prev"]
        report = verify_file(tmp_path / "log.jsonl", prev)
        assert report.ok
        assert report.notes[-2].startswith(f"The expected head is that of record {number:,};")


def test_runs_of_bits_are_like_single_ones() -> None:
    """A run is added as a whole or, where one of its numbers is there, not at all."""
    source = random.Random(5)  # noqa: S311  # repeatable, not secret
    bits, plain = Bits(), set[int]()
    for _ in range(300):
        first, number = source.randrange(5000), source.choice([1, 2, 30, 300, 700])
        numbers = set(range(first, first + number))
        is_new = not plain & numbers
        assert bits.add_run(first, number) == is_new
        plain |= numbers if is_new else set()
        assert (bits.count, bits.highest) == (len(plain), max(plain))
    assert all((number in bits) == (number in plain) for number in range(6000))
