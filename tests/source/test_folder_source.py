"""The walk through folders: what it finds, what it leaves out and why, and that it is lazy and bounded."""

import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from engine.errors import SourceError
from engine.models.document import FoundFile
from engine.models.outcome import SkipReason
from engine.source.folder import FolderSource

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="this system has no such thing as a file")
needs_linux_names = pytest.mark.skipif(sys.platform != "linux", reason="only here may a name be any bytes")


class StopAfter(threading.Event):
    """A stop that comes by itself after it has been asked for a number of times."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self.checks = checks

    def is_set(self) -> bool:
        """Count down, and be set from then on."""
        self.checks -= 1
        return self.checks < 0


Chain = Callable[[str, int], Path]


@pytest.fixture
def chain(root: Path) -> Iterator[Chain]:
    """Make folders within folders, all of one name, each with a document, as deep as one likes."""

    def make(name: str, levels: int) -> Path:
        handle = os.open(root, os.O_RDONLY)
        for _ in range(levels):  # by handles, since no path is long enough for a deep one
            os.close(os.open("a.pdf", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
            os.mkdir(name, dir_fd=handle)
            inner = os.open(name, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = inner
        os.close(handle)
        return root

    yield make
    subprocess.run(["rm", "-r", root], check=True)  # noqa: S607  # unlike ours, it removes any depth


def touch(folder: Path, *names: str) -> None:
    """Make files of one byte, with the folders that they stand in."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def found(*paths: Path, batch_size: int = 256) -> list[FoundFile]:
    """Return everything that the walk finds."""
    batches = FolderSource(paths, batch_size=batch_size).batches(threading.Event())
    return [file for batch in batches for file in batch]


def documents(files: Iterable[FoundFile]) -> list[str]:
    """Return the paths of the documents, in the order in which they were found."""
    return [os.fsdecode(file.path).replace(os.sep, "/") for file in files if file.skip is None]


def left_out(files: Iterable[FoundFile]) -> dict[str, SkipReason]:
    """Return what was left out, and why."""
    return {os.fsdecode(file.path).replace(os.sep, "/"): file.skip for file in files if file.skip is not None}


def prepare_guarded(folder: Path) -> None:
    """Make folders that may not be listed, or listed and not entered."""
    touch(folder, "a.pdf", "closed/in.pdf", "dark/in.pdf", "dark/in.txt", "z.pdf")
    (folder / "closed").chmod(0o300)
    (folder / "dark").chmod(0o444)


def test_documents_are_found_at_any_depth_in_the_order_of_their_bytes(root: Path) -> None:
    """The order is that of the names' bytes within each folder, whatever order the system lists them in."""
    touch(root, "b.pdf", "a/2.pdf", "a/10.pdf", "a/c/x.pdf", "B.pdf", "ä.pdf", "a.pdf", ".hidden/h.pdf")
    assert documents(found(root)) == [
        ".hidden/h.pdf",
        "B.pdf",
        "a/10.pdf",
        "a/2.pdf",
        "a/c/x.pdf",
        "a.pdf",
        "b.pdf",
        "ä.pdf",
    ]


def test_a_document_is_told_by_the_end_of_its_name_in_any_letter_case(root: Path) -> None:
    """`.PDF` and `.Pdf` are documents; a name that merely contains the letters is not, and is listed."""
    touch(root, "1.PDF", "2.Pdf", "3.pdf.bak", "4pdf", "5.txt", ".pdf")
    files = found(root)
    assert documents(files) == [".pdf", "1.PDF", "2.Pdf"]
    assert left_out(files) == dict.fromkeys(("3.pdf.bak", "4pdf", "5.txt"), SkipReason.NOT_SELECTED)


def test_other_suffixes_can_be_chosen(root: Path) -> None:
    """The rule that `.pdf` makes a document is a default."""
    touch(root, "a.pdf", "b.fdf", "c.txt")
    source = FolderSource([root], suffixes=(b".pdf", b".fdf"))
    assert documents(file for batch in source.batches(threading.Event()) for file in batch) == ["a.pdf", "b.fdf"]


def test_an_entry_carries_root_size_and_time(root: Path) -> None:
    """A found file says where it lies, how large it is and when it was changed, and so does one left out."""
    (root / "sub").mkdir()
    for name, size in (("sub/a.pdf", 1234), ("sub/b.txt", 7)):
        (root / name).write_bytes(b"x" * size)
        os.utime(root / name, ns=(5, 1_700_000_000_123_456_700))
    first, second = found(root)
    assert first == FoundFile(
        root=os.fsencode(root),
        path=os.path.join(b"sub", b"a.pdf"),  # noqa: PTH118  # paths are bytes
        size_bytes=1234,
        mtime_ns=1_700_000_000_123_456_700,
    )
    assert (second.size_bytes, second.mtime_ns, second.skip) == (7, first.mtime_ns, SkipReason.NOT_SELECTED)


def test_what_systems_leave_behind_is_left_out_as_junk(root: Path) -> None:
    """Junk is listed with its own reason, even where its name ends in .pdf; a junk folder is not entered."""
    touch(root, ".DS_Store", "._a.pdf", "Thumbs.db", "Desktop.ini", "__MACOSX/._b.pdf", "__MACOSX/c.pdf", "a.pdf")
    files = found(root)
    assert documents(files) == ["a.pdf"]
    names = (".DS_Store", "._a.pdf", "Thumbs.db", "Desktop.ini", "__MACOSX")
    assert left_out(files) == dict.fromkeys(names, SkipReason.HIDDEN_JUNK)


@pytest.mark.fault(31)
def test_a_folder_named_like_a_document_is_listed_and_entered(root: Path) -> None:
    """`x.pdf` may be a folder: it is no document, and what is inside is found."""
    touch(root, "x.pdf/in.pdf", "x.pdf/y.PDF/in.pdf")
    files = found(root)
    assert documents(files) == ["x.pdf/in.pdf", "x.pdf/y.PDF/in.pdf"]
    assert left_out(files) == dict.fromkeys(("x.pdf", "x.pdf/y.PDF"), SkipReason.DIRECTORY)


@needs_posix
@pytest.mark.fault(31)
def test_links_are_listed_and_not_followed(root: Path, tmp_path: Path) -> None:
    """Links to a file, out of the root, to nothing and in a circle are each listed once, and the walk ends."""
    touch(root, "real.pdf")
    touch(tmp_path / "outside", "secret.pdf")
    (root / "file.pdf").symlink_to("real.pdf")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "nothing.pdf").symlink_to("gone.pdf")
    (root / "self.pdf").symlink_to("self.pdf")
    (root / "sub").mkdir()
    (root / "sub" / "up").symlink_to("..")
    files = found(root)
    assert documents(files) == ["real.pdf"]
    links = ("file.pdf", "out", "nothing.pdf", "self.pdf", "sub/up")
    assert left_out(files) == dict.fromkeys(links, SkipReason.SYMBOLIC_LINK)


@needs_posix
@pytest.mark.fault(31)
def test_pipes_and_sockets_are_listed_and_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named pipe would keep whoever opens it waiting for ever; it is told by its kind, as is a socket."""
    os.mkfifo(root / "pipe.pdf")
    monkeypatch.chdir(root)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("talk.pdf")
        assert left_out(found(root)) == {"pipe.pdf": SkipReason.FIFO, "talk.pdf": SkipReason.SOCKET}


@needs_posix
@pytest.mark.fault(31)
def test_a_device_is_listed_as_one(root: Path) -> None:
    """A device under the name of a document is left out as a device."""
    try:
        os.mknod(root / "null.pdf", 0o20666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("making a device needs more rights than this run has")
    assert left_out(found(root)) == {"null.pdf": SkipReason.DEVICE}


@needs_linux_names
@pytest.mark.fault(38)
def test_names_are_bytes_whatever_they_are(root: Path) -> None:
    """Names that are not UTF-8, with newlines, control characters or 255 bytes come out as they are on the disk."""
    names = [
        b"\xff\xfe.pdf",
        b"line\nbreak.pdf",
        b"-rf.pdf",
        b"=1+1.pdf",
        b"\xe2\x80\xaefdp.exe.pdf",
        b"a" * 251 + b".pdf",
    ]
    for name in names:
        Path(os.fsdecode(os.path.join(os.fsencode(root), name))).write_bytes(b"x")  # noqa: PTH118  # names are bytes
    assert [file.path for file in found(root)] == sorted(names)


@needs_posix
def test_a_tree_deeper_than_a_path_may_be_long_is_walked_as_far_as_possible(chain: Chain) -> None:
    """Where the system can no longer name a folder, that folder is listed; what can be named is found."""
    files = found(chain("d" * 200, 30))
    reached = len(documents(files))
    assert 15 <= reached < 30
    assert [len(path.split("/")) for path in left_out(files)] == [reached]
    assert set(left_out(files).values()) == {SkipReason.UNREADABLE_DIRECTORY}


@needs_posix
def test_a_tree_of_many_levels_needs_no_recursion(chain: Chain) -> None:
    """The walk keeps its own stack: it goes deeper than the interpreter would let a function call itself."""
    levels = sys.getrecursionlimit() + 200
    assert len(documents(found(chain("d", levels)))) == levels


def test_folders_that_may_not_be_listed_are_listed(guarded: Path) -> None:
    """A closed folder is named with its reason, and its neighbours are found."""
    files = found(guarded)
    assert documents(files) == ["a.pdf", "dark/in.pdf", "z.pdf"]
    assert left_out(files) == dict.fromkeys(("closed", "dark/in.txt"), SkipReason.UNREADABLE_DIRECTORY)


def test_a_document_that_may_not_be_looked_at_is_still_a_document(guarded: Path) -> None:
    """It is handed on with no size, so that it becomes a dead letter and is not hidden among what was left out."""
    (dark,) = [file for file in found(guarded) if file.path.startswith(b"dark") and file.skip is None]
    assert (dark.size_bytes, dark.mtime_ns) == (0, 0)


@pytest.mark.fault(27)
def test_entries_that_vanish_under_way_are_listed(root: Path) -> None:
    """A file that goes between its name and a look at it has vanished; its folder and the rest go on."""
    touch(root, "a.pdf", "b.pdf", "c.pdf")
    batches = FolderSource([root], batch_size=1).batches(threading.Event())
    files = [*next(batches)]
    (root / "b.pdf").unlink()
    files += [file for batch in batches for file in batch]
    assert documents(files) == ["a.pdf", "c.pdf"]
    assert left_out(files) == {"b.pdf": SkipReason.VANISHED}


def test_a_folder_that_vanishes_before_it_is_entered_is_listed(root: Path) -> None:
    """The folder `b.pdf` is removed after it was seen and before it was listed."""
    touch(root, "a.pdf", "b.pdf/in.pdf", "c.pdf")
    batches = FolderSource([root], batch_size=2).batches(threading.Event())
    files = [*next(batches)]
    shutil.rmtree(root / "b.pdf")
    files += [file for batch in batches for file in batch]
    assert [(file.path, file.skip) for file in files] == [
        (b"a.pdf", None),
        (b"b.pdf", SkipReason.DIRECTORY),
        (b"b.pdf", SkipReason.VANISHED),
        (b"c.pdf", None),
    ]


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "replaced"])
def test_a_source_that_goes_away_under_way_is_an_error(root: Path, *, replaced: bool) -> None:
    """A drive that is pulled must not turn thousands of documents into a tidy list of vanished ones."""
    touch(root, "a.pdf", "b.pdf", "c.pdf")
    batches = FolderSource([root], batch_size=1).batches(threading.Event())
    next(batches)
    root.rename(root.with_name("elsewhere"))
    if replaced:
        root.mkdir()
    with pytest.raises(SourceError, match="can no longer be reached"):
        next(batches)


def test_the_first_batch_comes_before_the_walk_is_over(root: Path) -> None:
    """What is added to a later folder after the first batch is found: the walk had not been there yet."""
    touch(root, "a/1.pdf", "a/2.pdf", "b/1.pdf")
    batches = FolderSource([root], batch_size=2).batches(threading.Event())
    first = next(batches)
    touch(root, "b/2.pdf")
    assert documents(first) == ["a/1.pdf", "a/2.pdf"]
    assert documents(next(batches)) == ["b/1.pdf", "b/2.pdf"]
    assert next(batches, None) is None


def test_batches_are_full_but_for_the_last(root: Path) -> None:
    """No batch exceeds its size, whichever folders the entries lie in, and none is empty."""
    touch(root, *(f"{number % 3}/{number}.pdf" for number in range(10)))
    batches = list(FolderSource([root], batch_size=4).batches(threading.Event()))
    assert [len(batch) for batch in batches] == [4, 4, 2]
    assert list(FolderSource([], batch_size=4).batches(threading.Event())) == []


def test_a_folder_listed_in_parts_gives_the_same_as_one_listed_at_once(root: Path) -> None:
    """However few names are held, every entry comes once and in the same order."""
    touch(root, *(f"{number}.pdf" for number in range(20)), "5/a.pdf", "5/b.pdf", "5/c.pdf")
    whole = found(root)
    assert len(whole) == 23
    for held in (1, 2, 3, 10, 21, 22):
        source = FolderSource([root], names_held=held)
        assert [file for batch in source.batches(threading.Event()) for file in batch] == whole


def peak_bytes(folder: Path, entries: int) -> int:
    """Return how much memory a walk over so many files in one folder takes at most."""
    folder.mkdir()
    for number in range(entries):
        os.close(os.open(folder / f"{number:0200d}.pdf", os.O_CREAT | os.O_WRONLY))
    source = FolderSource([folder], names_held=500, batch_size=100)
    tracemalloc.start()
    try:
        assert sum(len(batch) for batch in source.batches(threading.Event())) == entries
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_follow_the_number_of_entries(root: Path) -> None:
    """Five times the files in one folder take about the same memory; a list of their names would take five times it."""
    few = peak_bytes(root / "few", 1_000)
    assert peak_bytes(root / "many", 5_000) < 2 * few


def test_stop_ends_the_walk_between_batches(root: Path) -> None:
    """After a stop no further batch comes, and the iterator ends by itself."""
    touch(root, *(f"{number}.pdf" for number in range(10)))
    stop = threading.Event()
    batches = FolderSource([root], batch_size=2).batches(stop)
    next(batches)
    stop.set()
    assert next(batches, None) is None


@pytest.mark.parametrize("checks", [0, 1, 5, 150, 200])
def test_stop_is_heeded_while_a_folder_is_listed_and_looked_through(root: Path, checks: int) -> None:
    """Wherever the stop comes, within the listing or between two looks, the walk ends after one more step."""
    touch(root, *(f"{number}.pdf" for number in range(100)))
    stop = StopAfter(checks)
    assert list(FolderSource([root], batch_size=1000).batches(stop)) == []
    assert stop.checks > -10


def test_a_single_file_has_its_folder_as_root(root: Path) -> None:
    """A file that was named alone is found as a file of its folder, and its neighbours are not."""
    touch(root, "a.pdf", "b.pdf")
    (file,) = found(root / "b.pdf")
    assert (file.root, file.path, file.skip) == (os.fsencode(root), b"b.pdf", None)


def test_a_single_file_follows_the_rules_of_names(root: Path) -> None:
    """Naming a text file does not make it a document: it is listed as not selected."""
    touch(root, "notes.txt")
    assert left_out(found(root / "notes.txt")) == {"notes.txt": SkipReason.NOT_SELECTED}


def test_several_sources_come_in_the_order_in_which_they_were_named(root: Path) -> None:
    """Folders and single files can be mixed; each keeps its own root."""
    touch(root, "one/a.pdf", "two/a.pdf", "three.pdf")
    files = found(root / "two", root / "three.pdf", root / "one")
    assert [(Path(os.fsdecode(file.root)).name, file.path) for file in files] == [
        ("two", b"a.pdf"),
        ("root", b"three.pdf"),
        ("one", b"a.pdf"),
    ]


def test_overlapping_sources_give_each_file_once(root: Path) -> None:
    """A source inside another one, or named twice, is left to the outer one; a similar name is not inside."""
    touch(root, "in/a.pdf", "in/deep/b.pdf", "inner/c.pdf")
    sources = [root / "in" / "deep", root / "in", root / "in" / "a.pdf", root / "inner", root / "in" / ".." / "in"]
    files = found(*sources)
    assert [(Path(os.fsdecode(file.root)).name, documents([file])) for file in files] == [
        ("in", ["a.pdf"]),
        ("in", ["deep/b.pdf"]),
        ("inner", ["c.pdf"]),
    ]


def test_a_junk_folder_that_was_named_is_walked(root: Path) -> None:
    """The outer source would leave it out, so that it counts as a source of its own."""
    touch(root, "a.pdf", "__MACOSX/b.pdf")
    assert documents(found(root, root / "__MACOSX")) == ["a.pdf", "b.pdf"]


def test_no_file_of_a_source_is_ever_opened(root: Path) -> None:
    """The interpreter reports every opening of a file to an audit hook: none is below the root."""
    touch(root, "a.pdf", "sub/b.pdf", "c.txt")
    script = f"""
        import sys, threading
        from pathlib import Path
        from engine.source.folder import FolderSource
        opened = []
        sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
        open({str(root.parent / "control")!r}, "w").close()
        count = sum(len(batch) for batch in FolderSource([Path({str(root)!r})]).batches(threading.Event()))
        print(count, sum("control" in name for name in opened), sum({str(root)!r} in name for name in opened))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["3", "1", "0"]
