"""The `sluicegate` command: the commands of the terminal, and the window beside them.

Covers the choice between window and terminal. Qt is loaded only when a window is to be opened, so that everything
else works where it is missing.
"""

import os
from pathlib import Path
from typing import Any, NoReturn

import click

from engine.errors import ExitCode
from engine.terminal.border import RUN_EXIT_CODES, TerminalCommand, debug_option
from engine.terminal.commands import terminal_commands
from engine.terminal.program import run_program
from engine.version import __version__
from gui.app import display

_PATHS = click.argument("paths", nargs=-1, metavar="[FOLDER|FILE|CASE]...", type=click.Path(path_type=Path))


class Commands(click.Group):
    """All commands; a call without any word is a call for the window."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Override: put in the command that is meant where there is none."""
        return super().parse_args(ctx, args or ["window"])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="sluicegate")
def sluicegate() -> None:
    """Turn folders of PDFs into text, and prove that every page was accounted for.

    Without a command, the window is opened.
    """


for _command in terminal_commands.commands.values():
    sluicegate.add_command(_command)


@sluicegate.command(cls=TerminalCommand)
@_PATHS
@debug_option
def window(*, paths: tuple[Path, ...]) -> ExitCode:
    """Open the window; with folders, files or a case, start on them at once."""
    problem = display.no_display(os.environ)
    if problem:
        return _no_window(problem)
    return _show_window(paths)


@sluicegate.command(name="open", cls=TerminalCommand, epilog=RUN_EXIT_CODES)
@_PATHS
@debug_option
@click.pass_context
def open_(ctx: click.Context, *, paths: tuple[Path, ...]) -> ExitCode:
    """Open the window where there is a display, and do the same work in the terminal where there is none.

    Without a display and without folders, a sample batch is written and run.
    """
    problem = display.no_display(os.environ)
    if not problem:
        return _show_window(paths)
    _say(f"{problem} The work is done in the terminal.")
    cases = [path for path in paths if path.suffix == ".sluice"]
    sources = tuple(path for path in paths if path not in cases)
    if not paths:
        sources = (_sample(ctx),)
    return _terminal(ctx, "run", sources=sources, case=cases[0] if cases else None)


def _sample(ctx: click.Context) -> Path:
    from engine.session.directories import Directories  # noqa: PLC0415  # the engine loads when it is needed

    folder = Directories.default().samples / "sample-batch"
    _terminal(ctx, "sample", folder=folder)
    return folder


def _terminal(ctx: click.Context, name: str, **arguments: Any) -> ExitCode:
    result = ctx.invoke(terminal_commands.commands[name], **arguments)
    return ExitCode(result)


def _show_window(paths: tuple[Path, ...]) -> ExitCode:
    problem = display.missing_libraries(os.environ) or display.unreachable_display(os.environ)
    if problem:
        return _no_window(problem)
    try:
        from gui.app.start import run_window  # noqa: PLC0415  # loads Qt, which nothing else needs

        display.require_charts()
    except ImportError as error:
        return _no_window(display.import_problem(error))
    return ExitCode(run_window(paths))


def _no_window(problem: str) -> ExitCode:
    _say(f"{problem} Without a window, `sluicegate run` does the same work.")
    return ExitCode.USAGE


def _say(sentence: str) -> None:
    from engine.terminal.console import messages  # noqa: PLC0415  # rich loads only when something is printed

    messages().write_line(sentence)


def main() -> NoReturn:
    """Run the command line of the program and leave with its exit code."""
    run_program(lambda: sluicegate)
