"""Lets the terminal run without the window: `python -m engine.terminal`, on machines that have no Qt."""

from typing import Any

from engine.terminal.program import run_program


def _commands() -> Any:
    from engine.terminal.commands import terminal_commands  # noqa: PLC0415  # within the border of the program

    return terminal_commands


if __name__ == "__main__":
    run_program(_commands)
