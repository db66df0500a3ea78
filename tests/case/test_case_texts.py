"""Export of the texts: every page in its place, hostile names harmless, all of it or nothing."""

import sys
from pathlib import Path

import pytest

from engine.case.casefile import CaseFile
from engine.case.filenames import LONGEST_NAME, LONGEST_PATH, safe_name, text_path
from engine.case.texts import export_text
from engine.errors import CaseDamagedError, ExportError
from engine.models.outcome import Reason
from engine.models.run import TextReport
from tests.case.factory import commit_all, dead, done, extracted, failed, found, probed, without_guard


def _export(case: CaseFile, folder: Path) -> TextReport:
    with case.reader() as reader:
        return export_text(reader, folder)


def _files(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_bytes().decode() for file in folder.rglob("*") if file.is_file()}


def test_pages_keep_their_numbers(case: CaseFile, tmp_path: Path) -> None:
    """Form feeds separate the pages; blank and dead ones are empty parts; a form feed within a text is a newline."""
    commit_all(case, found("sub/a.pdf"), probed(1, pages=5))
    case.commit([done(1, extracted(1, "ä\ff"), dead(2), extracted(3, ""), extracted(4, "vier\n"), dead(5))])
    report = _export(case, tmp_path / "out")
    assert (report.folder, report.documents, report.pages) == (tmp_path / "out", 1, 5)
    files = _files(tmp_path / "out")
    assert list(files) == ["in/sub/a.D0000001.txt"]
    assert files["in/sub/a.D0000001.txt"].split("\f") == ["ä\nf", "", "", "vier\n", ""]


def test_only_what_has_text_gets_a_file(case: CaseFile, tmp_path: Path) -> None:
    """Duplicates get the text of their original; dead letters, open and pending documents get none."""
    commit_all(case, found(*(f"{number}.pdf" for number in range(1, 8))))
    commit_all(case, probed(1, "same"), done(1, 1), probed(2, "same"), failed(3), probed(4, "bad"), done(4, dead(1)))
    commit_all(case, probed(5, "bad"), probed(6, pages=2), done(6, 1))
    report = _export(case, tmp_path / "out")
    assert (report.documents, report.pages) == (2, 2)
    assert _files(tmp_path / "out") == {
        "in/1.D0000001.txt": "text of page 1",
        "in/2.D0000002.txt": "text of page 1",
    }


def test_an_empty_case_gives_an_empty_folder(case: CaseFile, tmp_path: Path) -> None:
    """There is a folder, and nothing in it; an empty one that is there is taken."""
    (tmp_path / "out").mkdir()
    assert _export(case, tmp_path / "out").documents == 0
    assert list((tmp_path / "out").iterdir()) == []


RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}

HOSTILE = [
    b"../../../etc/passwd.pdf",
    b"..",
    b".",
    b"./.pdf",
    b"/etc/cron.d/x.pdf",
    b"a/../../b.pdf",
    b"...pdf",
    b"con.pdf",
    b"AUX",
    b"nul.tar.pdf",
    b"com1/lpt9.pdf",
    b"trailing. /dots...pdf",
    b"colon:stream.pdf",
    b"back\\slash\\..\\x.pdf",
    b"new\nline\r.pdf",
    b"\xff\xfe.pdf",
    b"rtl\xe2\x80\xaefdp.exe.pdf",
    b"x" * 255,
    b"\xc3\xa9" * 127 + b".pdf",
    b"/".join([b"d" * 100] * 30) + b"/deep.pdf",
    b"~/.bashrc.pdf",
    b"$(rm -rf ~).pdf",
    b"-rf.pdf",
    b"A.pdf",
    b"a.PDF",
    b"a.pdf.pdf",
    b"a",
    b" a .pdf",
    b"a.D0000001.txt",
    b"a.D0000001.txt/inner.pdf",
    b"in/a.d0000024.TXT/inner.pdf",
]


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot be met there")
def test_no_name_escapes_or_collides(case: CaseFile, tmp_path: Path) -> None:
    """Names that break out, are reserved, too long, too deep or the same but for case: each has its own file inside."""
    roots = (b"/in", b"/other/in", b"/", b"/..", b"/deep/con")
    for root in roots:
        case.commit([found(*HOSTILE, root=root)])
    total = len(HOSTILE) * len(roots)
    assert case.counts().documents.enumerated == total
    case.commit([probed(number) for number in range(1, total + 1)])
    case.commit([done(number, extracted(1, f"document {number}")) for number in range(1, total + 1)])
    before = set(tmp_path.iterdir())
    out = tmp_path / "out"
    report = _export(case, out)
    assert report.documents == total
    files = _files(out)
    assert sorted(files.values()) == sorted(f"document {number}" for number in range(1, total + 1))
    assert len({name.casefold() for name in files}) == total
    assert set(tmp_path.iterdir()) - before == {out}
    for name, text in files.items():
        assert f".D{int(text.split()[1]):07d}.txt" in name
        for part in Path(name).parts:
            assert part.split(".")[0].strip().casefold() not in RESERVED
            assert part not in ("", ".", "..")
            assert part == part.strip(" ").rstrip(".")
            assert not set(part) & set('<>:"/\\|?*') and part.isprintable()  # noqa: PT018  # one thing: plain characters
            assert len(part.encode()) <= 255


def test_names_that_are_harmless_are_kept() -> None:
    """What every file system takes is left as it is, umlauts and spaces included."""
    path = text_path(b"/data/Records", "2019/Über uns (final).pdf".encode(), 7)
    assert path.parts == ("Records", "2019", "Über uns (final).D0000007.txt")
    assert safe_name(b"plain name") == "plain name"


def test_names_that_had_to_be_changed_stay_apart() -> None:
    """Two folders whose unsafe characters become the same are not thrown together."""
    assert safe_name(b"a?b") != safe_name(b"a*b")
    assert safe_name(b"con") != safe_name(b"_con")
    assert safe_name(b"x" * 300) != safe_name(b"x" * 301)
    assert len(safe_name(b"x" * 300).encode()) < LONGEST_NAME + 20


def test_a_path_is_cut_where_it_would_be_too_deep() -> None:
    """The file is then found by its number in a folder of its own."""
    deep = text_path(b"/in", b"/".join([b"d" * 100] * (LONGEST_PATH // 100 + 1)) + b"/x.pdf", 9)
    assert deep.parts == ("_deep", "x.D0000009.txt")


@pytest.mark.parametrize("content", ["a file", "a folder with something", "nowhere"])
def test_a_folder_that_cannot_be_used_is_left_alone(case: CaseFile, tmp_path: Path, content: str) -> None:
    """What is there already is never mixed with an export, and a failed one leaves nothing."""
    commit_all(case, found("a.pdf"), probed(1), done(1, 1))
    out = tmp_path / "out"
    if content == "a file":
        out.write_text("mine")
    elif content == "a folder with something":
        out.mkdir()
        (out / "mine.txt").write_text("mine")
    else:
        out = tmp_path / "missing" / "out"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ExportError):
        _export(case, out)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_text_that_is_not_the_one_of_the_log_stops_the_export(case: CaseFile, tmp_path: Path) -> None:
    """A text changed behind the program's back is found by its hash, and no folder appears."""
    commit_all(case, found("a.pdf"), probed(1, pages=2), done(1, 1, 2))
    case.close()
    change = "UPDATE texts SET text = 'other' WHERE place & 1 = 0"
    without_guard(case.path, lambda connection: connection.execute(change))
    with CaseFile.open(case.path) as again, pytest.raises(CaseDamagedError, match=r"page 2 of D0000001"):
        _export(again, tmp_path / "out")
    assert [item.name for item in tmp_path.iterdir() if "out" in item.name or "part" in item.name] == []


def test_a_text_that_is_gone_stops_the_export(case: CaseFile, tmp_path: Path) -> None:
    """A text that was deleted is not passed off as a blank page."""
    commit_all(case, found("a.pdf"), probed(1), done(1, 1))
    case.close()
    without_guard(case.path, lambda connection: connection.execute("DELETE FROM texts"))
    with CaseFile.open(case.path) as again, pytest.raises(CaseDamagedError):
        _export(again, tmp_path / "out")


def test_pages_lost_to_their_source_are_empty(case: CaseFile, tmp_path: Path) -> None:
    """A document that vanished half-way keeps what was extracted, at its place."""
    commit_all(case, found("a.pdf"), probed(1, pages=3), done(1, 2), failed(1, Reason.SOURCE_VANISHED))
    _export(case, tmp_path / "out")
    assert list(_files(tmp_path / "out").values()) == ["\ftext of page 2\f"]
