"""The border of the terminal program: errors become a sentence on standard error and an exit code, here only.

Covers what every command shares: `--debug`, the log, and the way from an error to the end of the program. How a run
that ended by itself is told is in `summary`.
"""

import logging
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import click

from engine.errors import EngineError, ExitCode
from engine.terminal.options import GroupedCommand

_log = logging.getLogger(__name__)
_DEBUG = "engine.terminal.debug"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

RUN_EXIT_CODES = """\b
Exit codes:
  0  everything was extracted
  1  everything is accounted for, some of it as dead letters
  2  wrong usage or impossible settings
  3  stopped early; the case can be resumed
  4  the case file cannot be used"""

REPAIR_EXIT_CODES = """\b
Exit codes:
  0  repaired; a run of the new case does what is left
  3  interrupted: there is no new case
  4  it cannot be repaired, or not into that file, or nothing is wrong with it"""

VERIFY_EXIT_CODES = """\b
Exit codes:
  0  verified
  1  problems were found, or it is no audit log
  4  the file cannot be read"""


def debug_option(command: Decorated) -> Decorated:
    """Decorate a command's function with `--debug`."""

    def remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001  # click's call
        ctx.meta[_DEBUG] = value

    return click.option(
        "--debug", is_flag=True, expose_value=False, callback=remember, help="Show where an error came from."
    )(command)


class TerminalCommand(GroupedCommand):
    """A command whose function returns the exit code, and whose errors end here."""

    def invoke(self, ctx: click.Context) -> Any:
        """Override: run the command and leave with its exit code."""
        try:
            code = self._invoke_logged(ctx)
        except KeyboardInterrupt as error:
            code = ExitCode.STOPPED
            _report(ctx, error, "Interrupted. What was stored stays stored; the same command goes on from there.")
        ctx.exit(code)

    def _invoke_logged(self, ctx: click.Context) -> ExitCode:
        # These load when a command runs, so that the help text does not wait for them.
        from engine.session.directories import Directories  # noqa: PLC0415  # as above
        from engine.terminal.log import logging_to  # noqa: PLC0415  # as above

        with logging_to(Directories.default().logs) as log_file:
            try:
                return ExitCode(super().invoke(ctx))
            except (click.ClickException, click.exceptions.Exit, click.Abort):
                raise
            except Exception as error:  # noqa: BLE001  # the named border of the terminal program
                cause = _first_cause(error)
                if isinstance(cause, EngineError):
                    _report(ctx, error, cause.user_message)
                    return cause.exit_code
                _log.error("Unexpected error in the command %s", self.name, exc_info=error)
                _report(
                    ctx,
                    error,
                    f"An unexpected error ({type(cause).__name__}) ended the program. What was stored stays stored, "
                    f"and a case can be resumed. Please report it, with the last lines of {log_file}.",
                )
                return ExitCode.STOPPED


def _first_cause(error: BaseException) -> BaseException:
    """Return the first error inside a group of errors, or the error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _report(ctx: click.Context, error: BaseException, sentence: str) -> None:
    from engine.terminal.console import messages  # noqa: PLC0415  # rich loads only when something is printed

    console = messages()
    if ctx.meta.get(_DEBUG):
        console.write_line("".join(traceback.format_exception(error)))
    console.write_line(sentence)
