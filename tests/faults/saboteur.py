"""A worker of ours that misbehaves on one page: `saboteur.py BEHAVIOUR DETAIL LAUNCH`, in place of the real one.

It is the real worker, sandbox included, but for the page `BAD_PAGE` of a document of `BAD_PAGES` pages: all other
pages come out as they always do.
"""

import ctypes
import os
import sys
import time
import types
from pathlib import Path
from typing import Any

BAD_PAGE, BAD_PAGES = 3, 5
_FOR_EVER_S = 10_000.0
_MEGABYTE = b"x" * (1 << 20)


def sabotage(behaviour: str, detail: int) -> None:
    """Replace what a worker does with a page.

    Args:
        behaviour: What to do on the bad page.
        detail: How much of it.
    """
    from engine.work.child import answers, pages  # noqa: PLC0415  # they can be imported once the package is set up

    find_page = pages.find_page
    pipe: list[Any] = []

    class Saboteur(answers.Answers):
        def __init__(self, slot: Any, replies: Any) -> None:
            super().__init__(slot, replies)
            pipe.append(replies)

        def _send(self, frame: bytes, *, at_once: bool) -> None:
            super()._send(frame, at_once=at_once)
            if behaviour == "twice":
                super()._send(frame, at_once=at_once)

    def misbehave(document: Any, number: int, *, max_text_bytes: int) -> Any:
        if document.page_count == BAD_PAGES and number == BAD_PAGE:
            _misbehave(behaviour, detail, pipe[0])
        return find_page(document, number, max_text_bytes=max_text_bytes)

    answers.Answers = Saboteur  # type: ignore[misc]  # in its place, for whoever imports it from now on
    vars(answers)["find_page"] = misbehave


def _misbehave(behaviour: str, detail: int, replies: Any) -> None:
    match behaviour:
        case "crash":
            ctypes.string_at(0)
        case "exit":
            os._exit(detail)
        case "garbage":
            replies.write(os.urandom(detail))
            replies.flush()
            time.sleep(_FOR_EVER_S)
        case "length":
            replies.write(b"\xff" * detail)
            replies.flush()
            time.sleep(_FOR_EVER_S)
        case "closes":
            replies.close()
            time.sleep(_FOR_EVER_S)
        case "slow":
            time.sleep(detail)
        case "flood":
            for _ in range(detail):
                os.write(2, _MEGABYTE)


def main() -> int:
    """Be a worker, set up as `engine.work.child.__main__` sets it up."""
    package = types.ModuleType("engine")
    package.__path__ = [str(Path(__file__).resolve().parents[2] / "engine")]
    sys.modules["engine"] = package
    behaviour, detail, launch = sys.argv[1:]
    sabotage(behaviour, int(detail))
    from engine.work.child.service import run  # noqa: PLC0415  # as said

    return run(launch)


if __name__ == "__main__":
    sys.exit(main())
