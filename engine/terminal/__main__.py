"""Lets the terminal run without the window: `python -m engine.terminal`, on machines that have no Qt."""

from engine.terminal.commands import terminal_commands

if __name__ == "__main__":
    terminal_commands(prog_name="sluicegate")
