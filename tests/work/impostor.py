"""A worker that speaks the protocol and misbehaves on request; started as `impostor.py BEHAVIOUR [DETAIL...] LAUNCH`.

It extracts nothing: a page's text is `page N`.
"""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from engine.work.frames import Frame, FrameBuffer, FrameCaps
from engine.work.messages import (
    ExtractRequest,
    FoundPage,
    Launch,
    PageKind,
    ProbeRequest,
    pages_frame,
    probe_frame,
    ready_frame,
    request_of,
)
from engine.work.slot import Phase, Slot

BEHAVIOUR, *DETAILS, LAUNCH = sys.argv[1:]
FOR_EVER_S = 10_000.0


def write(data: bytes) -> None:
    """Write to the parent."""
    while data:
        data = data[os.write(1, data) :]


def found(page: int) -> FoundPage:
    """Return a page in order."""
    return FoundPage(page=page, kind=PageKind.TEXT, dur_ms=0, text=b"page %d\n" % page)


def complain(megabytes: int) -> None:
    """Write to standard error, a lot."""
    for _ in range(megabytes):
        os.write(2, b"x" * (1 << 20))


def answer(request: ProbeRequest | ExtractRequest, slot: Slot) -> None:
    """Answer a request as it should be."""
    if isinstance(request, ProbeRequest):
        slot.step(Phase.OPENING)
        write(probe_frame(request.number, sha256="0" * 64, page_count=8, size_bytes=1, mtime_ns=1, repaired=False))
    else:
        pages = range(request.first_page, request.last_page + 1)
        write(pages_frame(request.number, [found(page) for page in pages], done=True))


def misbehave(request: ProbeRequest | ExtractRequest, slot: Slot) -> None:  # noqa: C901, PLR0912  # a case for each
    """Do what the command line asks for."""
    match BEHAVIOUR:
        case "die_at" if isinstance(request, ExtractRequest):
            # Answers the pages up to the first detail, goes on to the second one, and dies there by a signal, or exits.
            done, last, how = map(int, DETAILS)
            write(pages_frame(request.number, [found(page) for page in range(1, done + 1)], done=False))
            for page in range(done + 1, last + 1):
                slot.step(Phase.PAGE, page)
            if how:
                os.kill(os.getpid(), how)
            os._exit(0)
        case "hang_at" | "starts_once" if isinstance(request, ExtractRequest):
            slot.step(Phase.PAGE, int(DETAILS[0]))
            time.sleep(FOR_EVER_S)
        case "hang":
            time.sleep(FOR_EVER_S)
        case "steps" if isinstance(request, ExtractRequest):
            page = request.first_page
            while True:  # always something new in the slot, and never an answer
                slot.step(Phase.PAGE, page)
                time.sleep(0.001)
        case "garbage":
            slot.step(Phase.PAGE, 3)
            write(os.urandom(100_000))
            time.sleep(FOR_EVER_S)
        case "huge":
            slot.step(Phase.PAGE, 3)
            write(b"\xff" * 8)
            time.sleep(FOR_EVER_S)
        case "flood":
            complain(30)
            answer(request, slot)
            complain(10)
        case "chatty":
            answer(request, slot)
            answer(request, slot)
        case "lies" if isinstance(request, ExtractRequest):
            slot.step(Phase.PAGE, 4_000_000_000)
            os._exit(1)
        case "leaves_heirs":
            if os.fork() == 0:
                os.setsid()
                Path(DETAILS[0]).write_text(str(os.getpid()), encoding="ascii")
                time.sleep(FOR_EVER_S)
            while not Path(DETAILS[0]).exists() or not Path(DETAILS[0]).read_text(encoding="ascii"):
                time.sleep(0.001)
            os._exit(1)
        case _:
            answer(request, slot)


def starts(counter: str) -> int:
    """Return the how manieth start this is, which a file remembers."""
    with Path(counter).open("ab") as file:
        file.write(b".")
        return file.tell()


def start() -> None:
    """Become ready, or not."""
    match BEHAVIOUR:
        case "fails_to_start":
            sys.exit(7)
        case "never_ready":
            time.sleep(FOR_EVER_S)
        case "fails_first" if starts(DETAILS[1]) <= int(DETAILS[0]):
            sys.exit(1)
        case "starts_once" if starts(DETAILS[1]) > 1:
            sys.exit(1)
        case "babbles":
            write(b"hello, this is no frame at all")
            time.sleep(FOR_EVER_S)
    write(ready_frame(limits=[], sandbox="none", parser="impostor"))


def main() -> None:
    """Serve until the parent closes the pipe, or beyond."""
    slot = Slot.inherited(Launch.from_argument(LAUNCH).slot)
    start()
    buffer = FrameBuffer()
    while data := os.read(0, 65536):
        buffer.feed(data)
        while (frame := buffer.take(FrameCaps(payload_bytes=65536))) is not None:
            serve(frame, slot)
    if BEHAVIOUR == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(FOR_EVER_S)


def serve(frame: Frame, slot: Slot) -> None:
    """Serve one request."""
    misbehave(request_of(frame), slot)
    slot.step(Phase.IDLE)


if __name__ == "__main__":
    main()
