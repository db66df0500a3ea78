"""The small PDFs that other tests rely on are what they are called; MuPDF says so, in a process of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import pdfs
from tests.support.findings import READER, findings

LIMITED = "import resource, runpy, sys; resource.setrlimit(resource.{limit}, ({value}, {value})); "
LIMITED += "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def found(path: Path) -> dict[str, Any]:
    """Return what MuPDF makes of the only document in its folder."""
    ((name, facts),) = findings(path.parent).items()
    assert name == path.name.encode()
    return facts


def texts(path: Path) -> list[list[str]]:
    """Return the words on each page of the only document in its folder."""
    return [page["text"].split() for page in found(path)["pages"]]


def good_words(pages: int, bad_page: int = 0) -> list[list[str]]:
    """Return the words that each page should have, without those of a bad one."""
    return [[] if page == bad_page else pdfs.page_words(page) for page in range(1, pages + 1)]


@pytest.mark.parametrize(("words", "rotate"), [(2, 0), (40, 90), (440, 0), (1000, 180)])
def test_a_page_of_text_has_the_words_that_it_should(tmp_path: Path, words: int, rotate: int) -> None:
    """What `page_words` says stands on the page, in that order, however many words there are."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 3, seed=7, words=words, rotate=rotate)
    assert texts(path) == [pdfs.page_words(page, seed=7, words=words) for page in (1, 2, 3)]
    assert {page["rotation"] for page in found(path)["pages"]} == {rotate}


def test_no_two_pages_have_the_same_words() -> None:
    """Seed and page are among the words, so that a mix-up of pages cannot go unseen."""
    pages = {tuple(pdfs.page_words(page, seed=seed, words=2)) for page in range(1, 9) for seed in range(9)}
    assert len(pages) == 72


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    """Documents can be told apart and recognised by their hashes."""
    one, same, other = (pdfs.text_pdf(tmp_path / f"{at}.pdf", seed=seed) for at, seed in enumerate((1, 1, 2)))
    assert one.read_bytes() == same.read_bytes() != other.read_bytes()


def test_a_batch_has_so_many_different_documents(tmp_path: Path) -> None:
    """Every document has its own seed, and so its own words."""
    paths = pdfs.batch(tmp_path / "many", 3, 2, seed=10)
    assert [path.name for path in paths] == ["00001.pdf", "00002.pdf", "00003.pdf"]
    facts = findings(tmp_path / "many")
    for number, path in enumerate(paths, 1):
        pages = facts[path.name.encode()]["pages"]
        assert [page["text"].split() for page in pages] == [pdfs.page_words(at, seed=10 + number) for at in (1, 2)]


def test_blank_pages_are_blank_and_pictures_are_not(tmp_path: Path) -> None:
    """Neither has text; on the one nothing is drawn, on the other something is."""
    blank = found(pdfs.blank_pdf(tmp_path / "blank.pdf", 2))["pages"]
    (tmp_path / "blank.pdf").unlink()
    picture = found(pdfs.image_only_pdf(tmp_path / "picture.pdf", 2))["pages"]
    assert [(page["text"], page["drawn"]) for page in blank + picture] == [("", False)] * 2 + [("", True)] * 2


@pytest.mark.parametrize("keep", [False, True])
def test_a_damaged_page_warns_and_raises_nothing(tmp_path: Path, *, keep: bool) -> None:
    """Its text is missing, or there in spite of the damage; only a warning tells, and on that page alone."""
    path = pdfs.damaged_stream_pdf(tmp_path / "a.pdf", 3, bad_page=2, keep=keep)
    assert texts(path) == good_words(3, 0 if keep else 2)
    assert ["read error" in page["warnings"] for page in found(path)["pages"]] == [False, True, False]


def test_a_page_with_an_error_costs_no_other_page(tmp_path: Path) -> None:
    """It raises, and the pages around it have their words."""
    pages = found(pdfs.page_error_pdf(tmp_path / "a.pdf", 3, bad_page=2))["pages"]
    assert [page.get("error", False) for page in pages] == [False, True, False]
    assert [page.get("text", "").split() for page in pages] == good_words(3, 2)


def test_a_missing_page_has_nothing_but_a_warning(tmp_path: Path) -> None:
    """It raises nothing, has no text, and nothing is drawn on it: a trap for whoever calls it blank."""
    path = pdfs.missing_page_pdf(tmp_path / "a.pdf", 3, bad_page=2)
    page = found(path)["pages"][1]
    assert (page["text"], page["drawn"]) == ("", False)
    assert "non-page object" in page["warnings"]


def test_a_truncated_document_is_repaired_or_lost(tmp_path: Path) -> None:
    """Without its table all pages can be had; without its page tree none can."""
    repaired = pdfs.truncated_pdf(tmp_path / "a.pdf", 4)
    assert found(repaired)["repaired"]
    assert texts(repaired) == good_words(4)
    lost = pdfs.truncated_pdf(repaired, 4, lost=True)
    assert found(lost)["pages"] == []


def test_documents_that_are_none(tmp_path: Path) -> None:
    """Without pages, without objects, without bytes, or a page of HTML."""
    pdfs.no_pages_pdf(tmp_path / "no pages.pdf")
    pdfs.wreck_pdf(tmp_path / "wreck.pdf")
    pdfs.empty_file(tmp_path / "empty.pdf")
    pdfs.not_a_pdf(tmp_path / "html.pdf")
    facts = findings(tmp_path)
    assert facts[b"no pages.pdf"]["pages"] == []
    assert [facts[name]["opens"] for name in (b"wreck.pdf", b"empty.pdf", b"html.pdf")] == [False, False, True]
    assert not facts[b"html.pdf"]["is_pdf"]


@pytest.mark.parametrize(("password", "locked"), [("sesame", True), ("", False)])
def test_an_encrypted_document_opens_with_its_password(tmp_path: Path, password: str, *, locked: bool) -> None:
    """It needs one unless it is empty, and then has its words."""
    path = pdfs.encrypted_pdf(tmp_path / "a.pdf", 2, password=password)
    assert found(path)["locked"] == locked
    assert texts(path) == good_words(2)


def test_an_encrypted_document_stays_shut_without_its_password(tmp_path: Path) -> None:
    """Another password than the one the reader tries keeps it locked."""
    assert "pages" not in found(pdfs.encrypted_pdf(tmp_path / "a.pdf", password="another"))  # noqa: S106  # a test's


@pytest.mark.skipif(sys.platform == "win32", reason="no limits can be set here")
def test_a_page_that_never_ends_takes_time_and_no_memory(tmp_path: Path) -> None:
    """It uses up its share of the processor, within an address space that a memory bomb breaks."""
    import signal  # noqa: PLC0415  # some of its names are missing elsewhere

    pdfs.never_ending_pdf(tmp_path / "a.pdf", 3, bad_page=2)
    script = LIMITED.format(limit="RLIMIT_CPU", value=2)
    done = subprocess.run([sys.executable, "-I", "-c", script, READER, tmp_path], check=False, capture_output=True)
    assert done.returncode in {-signal.SIGXCPU, -signal.SIGKILL}


@pytest.mark.skipif(sys.platform != "linux", reason="only here an address space can be limited")
def test_a_memory_bomb_hits_the_limit_of_memory(tmp_path: Path) -> None:
    """Its page fails for want of memory; the pages around it have their words."""
    pdfs.memory_bomb_pdf(tmp_path / "a.pdf", 3, bad_page=2)
    script = LIMITED.format(limit="RLIMIT_AS", value=250_000_000)
    done = subprocess.run([sys.executable, "-I", "-c", script, READER, tmp_path], check=False, capture_output=True)
    assert done.returncode == 0
    assert done.stdout.count(b'"error": true') == 1
    assert b"seed0 page1" in done.stdout
    assert b"seed0 page3" in done.stdout
