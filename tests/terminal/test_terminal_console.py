"""The streams of the terminal: harmless words, and readers that go away."""

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engine.terminal.console import LastingStream, PlainWordsConsole, command_line, shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("plain name.pdf", "plain name.pdf"),
        ("Überprüfung 検査.pdf", "Überprüfung 検査.pdf"),
        ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
        ("a\nb\x9b", "a\\u{a}b\\u{9b}"),
        ("fdp.\u202egnp", "fdp.\\u{202e}gnp"),
        ("a\u2028b", "a\\u{2028}b"),
        (os.fsdecode(b"\xff.pdf"), "\\xff.pdf"),
    ],
)
def test_names_are_shown_without_what_would_mislead(name: str, words: str) -> None:
    """Control characters, direction marks and broken bytes stand as numbers; all other writing stays as it is."""
    assert shown(name) == words
    assert shown(Path(name)) == words


def test_a_line_is_written_as_it_stands() -> None:
    """No markup, no highlighting, no emoji, no folding."""
    stream = io.StringIO()
    words = "[bold]1[/bold] :smile: " + "word " * 60
    PlainWordsConsole(stream).write_line(words)
    assert stream.getvalue() == words + "\n"


@pytest.mark.skipif(os.name == "nt", reason="quotes as POSIX shells do")
def test_a_command_is_quoted_for_the_shell() -> None:
    """What is offered for pasting names the same file again."""
    words: list[str | Path] = ["sluicegate", "run", Path("/a b/it's"), "--case", Path("/$HOME;x")]
    assert shlex.split(command_line(words)) == [str(word) for word in words]


def test_an_encoding_without_the_letters_writes_escapes() -> None:
    """An old terminal gets escapes in place of an error."""
    raw = io.BytesIO()
    console = PlainWordsConsole(io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    console.write_line("検査")
    assert raw.getvalue() == b"\\u691c\\u67fb\n"


class GoneStream(io.StringIO):
    """A stream whose other end was closed; it counts the tries."""

    tries = 0

    def write(self, _: str) -> int:
        """Override: nobody is there."""
        self.tries += 1
        raise BrokenPipeError


def test_a_stream_without_reader_falls_silent() -> None:
    """The first error is the last: nothing is raised, and nothing is tried again."""
    gone = GoneStream()
    stream = LastingStream(gone)
    assert [stream.write("words"), stream.write("words")] == [5, 5]
    stream.flush()
    assert gone.tries == 1
    assert not stream.isatty()


def test_a_closed_pipe_does_not_change_how_the_program_ends() -> None:
    """A reader such as `head` that leaves early changes no exit code and makes nothing complain at the end."""
    program = (
        "import sys\n"
        "from engine.terminal.console import output\n"
        "console = output()\n"
        "sys.stdin.read()\n"
        "for _ in range(20000):\n"
        "    console.write_line('x' * 100)\n"
        "sys.exit(3)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()  # the reader is gone before the first word
    process.stdin.close()
    process.stdin = process.stdout = None
    _, complaint = process.communicate()
    assert (process.returncode, complaint) == (3, b"")
