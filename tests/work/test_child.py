"""The worker's program by itself: what it loads, what it lets through, and when it goes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.work.frames import Frame, FrameBuffer, FrameCaps
from engine.work.messages import ExtractRequest, Launch, ProbeRequest
from engine.work.process import default_command
from engine.work.replies import posture_of, probe_of
from engine.work.slot import SlotFile
from tests.support import pdfs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these tests pass descriptors on")

ENGINE = Path(__file__).resolve().parents[2] / "engine"
PRINTING = """
import os, sys, types
package = types.ModuleType("engine")
package.__path__ = [FOLDER]
sys.modules["engine"] = package
from engine.work.child import sandbox, service

def enter():
    print("from Python", flush=True)
    os.write(1, b"from C\\n")
    return sandbox.Reached(words="printed", confined=False)

sandbox.enter = enter
service.run(sys.argv[1])
"""


class Child:
    """A worker process whose pipes the test holds."""

    def __init__(self, *options: str, parent_pid: int | None = None) -> None:
        self.slot = SlotFile()
        launch = Launch(parent_pid=parent_pid or os.getpid(), slot=self.slot.address, address_space_bytes=2**31)
        python, *rest = default_command()
        self.process = subprocess.Popen(
            [python, *options, *rest, launch.to_argument()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=self.slot.inherited_fds,
            bufsize=0,
        )
        self._buffer = FrameBuffer()

    def frame(self) -> Frame:
        """Wait for the next frame."""
        caps = FrameCaps(header_bytes=1 << 20, payload_bytes=1 << 20)
        assert self.process.stdout is not None
        while (frame := self._buffer.take(caps)) is None:
            data = self.process.stdout.read(65536)
            assert data, "the worker has ended"
            self._buffer.feed(data)
        return frame

    def send(self, data: bytes) -> None:
        """Send a request."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def end(self) -> tuple[int, str]:
        """Close its input and return its exit status and all that it complained of."""
        _, complaints = self.process.communicate()
        self.slot.close()
        return self.process.returncode, complaints.decode()


def test_a_worker_loads_what_it_needs_and_nothing_of_the_program() -> None:
    """No event loop, database, window, inference engine or settings; and no library that would cost memory."""
    child = Child("-X", "importtime")
    posture_of(child.frame())
    status, complaints = child.end()
    loaded = {line.rpartition("|")[2].strip() for line in complaints.splitlines() if line.startswith("import time:")}
    assert status == 0
    assert {"pymupdf", "engine.work.child.answers", "engine.models.outcome"} <= loaded
    unwanted = {"asyncio", "apsw", "sqlite3", "psutil", "PySide6", "numpy", "onnxruntime", "click", "rich"}
    assert not unwanted & loaded
    assert not {name for name in loaded if name.startswith(("engine.session", "engine.case", "engine.settings", "gui"))}


def test_a_worker_goes_when_its_input_ends() -> None:
    """Without a parent to serve there is no reason to stay."""
    child = Child()
    posture_of(child.frame())
    assert child.end() == (0, "")


def test_a_worker_whose_parent_is_gone_already_does_not_stay() -> None:
    """Started by a parent that ended before the death signal was asked for, it goes at once."""
    child = Child(parent_pid=1 if os.getppid() != 1 else 2)
    assert child.end() == (0, "") if sys.platform == "linux" else child.end()


def test_ctrl_c_does_not_reach_a_worker(tmp_path: Path) -> None:
    """SIGINT is the parent's to handle: the worker answers as if nothing had happened."""
    path = pdfs.text_pdf(tmp_path / "a.pdf", 1)
    child = Child()
    posture_of(child.frame())
    child.process.send_signal(signal.SIGINT)
    child.send(ProbeRequest(number=5, location=os.fsencode(path), open_s=60).to_frame())
    assert probe_of(child.frame()).page_count == 1
    assert child.end() == (0, "")


def test_nothing_about_a_document_leaves_a_worker_but_its_text(tmp_path: Path) -> None:
    """Neither a secret file name nor a word of the parser stands in an answer or in what the worker complains of."""
    folder = tmp_path / "John_Doe_SSN_078-05-1120"
    folder.mkdir()
    path = pdfs.damaged_stream_pdf(folder / "secret.pdf", 1, bad_page=1)
    wreck = pdfs.wreck_pdf(folder / "wreck.pdf")
    child = Child()
    posture_of(child.frame())
    frames = []
    for number, location in enumerate((path, wreck, folder / "missing.pdf"), 1):
        child.send(ProbeRequest(number=number, location=os.fsencode(location), open_s=60).to_frame())
        frames.append(child.frame())
    found = probe_of(frames[0])
    request = ExtractRequest(
        number=9,
        location=os.fsencode(path),
        size_bytes=found.size_bytes,
        mtime_ns=found.mtime_ns,
        page_count=1,
        first_page=1,
        last_page=1,
        max_text_bytes=100,
        open_s=60,
        page_s=60,
    )
    child.send(request.to_frame())
    frames.append(child.frame())
    status, complaints = child.end()
    assert [frame.header.get("failed", [None])[0] for frame in frames[1:3]] == ["corrupt_document", "source_vanished"]
    assert frames[3].header["pages"] == [[1, "failed", frames[3].header["pages"][0][2], "corrupt_page", None]]
    said = complaints + "".join(str(frame) for frame in frames)
    assert status == 0
    for word in ("John", "SSN", "secret", "zlib", "error", str(tmp_path)):
        assert word not in said


def test_stray_prints_cannot_reach_the_protocol(tmp_path: Path) -> None:
    """What a library prints, from Python or from C, goes to standard error."""
    program = tmp_path / "printing.py"
    program.write_text(PRINTING.replace("FOLDER", repr(str(ENGINE))), encoding="utf-8")
    slot = SlotFile()
    launch = Launch(parent_pid=os.getpid(), slot=slot.address, address_space_bytes=2**31)
    done = subprocess.run(
        [sys.executable, "-I", program, launch.to_argument()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=slot.inherited_fds,
        check=True,
    )
    slot.close()
    buffer = FrameBuffer()
    buffer.feed(done.stdout)
    frame = buffer.take(FrameCaps())
    assert frame is not None
    assert posture_of(frame).sandbox == "printed"
    assert buffer.empty
    assert done.stderr == b"from Python\nfrom C\n"
