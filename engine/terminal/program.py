"""The program around its commands: three standard streams whatever it was started with, and an honest exit code.

Covers the start and the outermost border. Python itself leaves with 1 when it cannot go on, which says here that
everything is accounted for; so that nothing but a command that ran to its end may leave with 0 or 1.
"""

import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from engine.errors import ExitCode

COMMAND_NAME = "sluicegate"


def run_program(load: Callable[[], Any]) -> NoReturn:
    """Run a command line and leave with its exit code.

    Args:
        load: Returns the click command; what it imports is loaded within the border.
    """
    open_standard_streams()
    try:
        _set_up_heap()
        code = _run(load())
    except KeyboardInterrupt:
        _say("Interrupted.")
        code = ExitCode.STOPPED
    except Exception:  # noqa: BLE001  # the outermost border of the program: it could not even begin
        _say(traceback.format_exc().rstrip())
        code = ExitCode.STOPPED
    sys.exit(code)


def open_standard_streams() -> None:
    """Let what was closed at the start lead nowhere.

    Otherwise the next file that is opened, such as the case, would stand where libraries and workers write messages.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # It stays open for as long as the program runs, as these three do.
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  # see above


def _set_up_heap() -> None:
    from engine.heap import set_up_heap  # noqa: PLC0415  # a fault of loading it is told like any other

    set_up_heap()


def _run(command: Any) -> int:
    import click  # noqa: PLC0415  # a fault of loading it is told like any other

    name = COMMAND_NAME if Path(sys.argv[0]).name == "__main__.py" else None
    try:
        return int(command.main(prog_name=name, standalone_mode=False) or 0)
    except click.ClickException as error:
        with suppress(OSError):  # nobody is there to read it
            error.show()
        return error.exit_code
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as ended:
        # Click leaves with 1 when the reader of a help text has gone.
        return ended.code if isinstance(ended.code, int) and ended.code != 1 else ExitCode.STOPPED


def _say(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
