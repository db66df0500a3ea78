"""Names of any bytes: shown so that they can mislead nobody, and processed like any other."""

import json
import os
import sys
from pathlib import Path

import pytest

from engine.case.reader import CaseReader
from engine.models.names import display_name
from engine.models.outcome import Outcome
from tests.faults import program
from tests.support import pdfs
from tests.support.runs import golden_set, records_of

NAMES = (
    b"=cmd|' C'!A0.pdf",
    b"..pdf",
    b"...pdf",
    b"-rf.pdf",
    b" .pdf",
    b"%s%n{0}.pdf",
    b"a'\"; DROP TABLE audit; --.pdf",
    b"[red]bold.pdf",
    b"<b>html&amp;.pdf",
    "re\u202efdp.pdf".encode(),
    "zero\u200bwidth.pdf".encode(),
    "\u00e9.pdf".encode(),  # composed
    "e\u0301.pdf".encode(),  # decomposed: another name
    ("x" * 251 + ".pdf").encode(),
    b"line\nbreak.pdf",
    b"return\rtab\t.pdf",
    b"bell\x07\x1b[31mred.pdf",
    b"not utf-8 \xff\xfe.pdf",
    b"\xed\xa0\x80 surrogate.pdf",
    b"back\\slash\\xff.pdf",
)


def write_all(folder: Path) -> None:
    """Write a document under each name."""
    folder.mkdir()
    for number, name in enumerate(NAMES):
        pdfs.text_pdf(folder / "new", pages=1, seed=100 + number)
        (folder / "new").rename(os.fsdecode(os.path.join(os.fsencode(folder), name)))  # noqa: PTH118  # bytes


@pytest.mark.fault(38)
@pytest.mark.skipif(sys.platform != "linux", reason="only here may a name be any bytes")
def test_names_of_any_bytes_are_processed_and_shown_escaped(tmp_path: Path) -> None:
    """Every document is extracted; log, texts and tables hold each name on one line, and its bytes beside it."""
    folder, case = tmp_path / "in", tmp_path / "case.sluice"
    write_all(folder)
    before = program.fingerprint(folder)
    program.finish(case, folder, tmp_path, ("--workers", "2"))
    assert program.fingerprint(folder) == before
    program.assert_sound(case)
    assert {outcome for _, _, outcome, _ in golden_set(case)} == {"EXTRACTED"}

    documents = [record for record in records_of(case) if record["event"] == "DOCUMENT"]
    assert {record["path"] for record in documents} == {display_name(name) for name in NAMES}
    assert len({record["path"] for record in documents}) == len(NAMES)
    with CaseReader(case) as reader:
        lines = list(reader.audit_lines())
        rows = reader.document_rows(1, 100)
    assert [row.outcome for row in rows] == [Outcome.EXTRACTED] * len(NAMES)
    for row in rows:
        assert row.path.isprintable()
        assert "\u202e" not in row.path
    for line in lines:
        assert b"\n" not in line
        assert json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == line

    out = tmp_path / "texts"
    process = program.launch(("text", str(case), str(out)), tmp_path)
    code, said = program.ending(process)
    assert code == 0, said
    files = list(out.rglob("*.txt"))
    assert len(files) == len(NAMES)
    assert all(path.resolve().is_relative_to(out.resolve()) for path in files)
    assert all(path.read_text(encoding="utf-8").strip() for path in files)
