"""`python -m gui`: the same as the `sluicegate` command."""

from typing import Any

from engine.terminal.program import run_program


def _commands() -> Any:
    from gui.command import sluicegate  # noqa: PLC0415  # within the border of the program

    return sluicegate


run_program(_commands)
