"""A worker that answers wrongly more often than not; started as `crooked.py SEED LAUNCH`.

What it does with a request depends on the seed and the request's number alone. Afterwards it goes on as if nothing had
happened, ends, or stops answering.
"""

import os
import random
import sys
import time
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# As a real worker does: without the package's own imports, which would make each of many starts slow.
PACKAGE = types.ModuleType("engine")
PACKAGE.__path__ = [str(ROOT / "engine")]
sys.modules["engine"] = PACKAGE
sys.path.insert(0, str(ROOT))

from engine.work.frames import FrameBuffer, FrameCaps  # noqa: E402  # once the package is there
from engine.work.messages import ExtractRequest, Launch, ProbeRequest, request_of  # noqa: E402  # as above
from engine.work.slot import Phase, Slot  # noqa: E402  # as above
from tests.fuzz.answers import mangled, right_pages, right_probe, right_ready  # noqa: E402  # as above

FOR_EVER_S = 10_000.0


def write(data: bytes, dice: random.Random) -> None:
    """Write to the parent, in pieces of any size."""
    while data:
        size = dice.choice((1, 7, 100, 70_000, len(data)))
        data = data[os.write(1, data[:size]) :] if size <= len(data) else data[os.write(1, data) :]


def answer(request: ProbeRequest | ExtractRequest, slot: Slot, dice: random.Random) -> None:
    """Answer a request, rightly or not."""
    if isinstance(request, ProbeRequest):
        slot.step(Phase.OPENING, request=request.number)
        frames = [right_probe(dice, request.number)]
    else:
        pages = range(request.first_page, request.last_page + 1)
        told = dice.choice((request.number, request.number, dice.randrange(256)))
        slot.step(Phase.PAGE, dice.choice((*pages, 0, 2**32 - 1)), request=told)
        frames = right_pages(dice, request.number, pages)
    if dice.random() < 0.3:
        write(b"".join(frames), dice)
        return
    write(mangled(dice, frames), dice)
    end = dice.random()
    if end < 0.9:
        os._exit(dice.choice((0, 0, 1, 112)))
    elif end < 0.93:
        time.sleep(FOR_EVER_S)


def main() -> None:
    """Serve until the parent closes the pipe."""
    seed, launch = sys.argv[1:]
    slot = Slot.inherited(Launch.from_argument(launch).slot)
    os.write(1, right_ready())
    buffer = FrameBuffer()
    while data := os.read(0, 65536):
        buffer.feed(data)
        while (frame := buffer.take(FrameCaps(payload_bytes=65536))) is not None:
            request = request_of(frame)
            dice = random.Random(f"{seed}/{request.number}")  # noqa: S311  # repeatable on purpose
            answer(request, slot, dice)
            slot.step(Phase.IDLE)


if __name__ == "__main__":
    main()
