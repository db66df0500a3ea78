"""The commands of the terminal and their options; what they do is elsewhere.

Covers the words of the command line. Whatever a command needs beyond them is loaded when it runs, so that `--help` is
there at once. The program's entry point, which adds the window, is in `gui.command`.
"""

from pathlib import Path
from typing import Any

import click

from engine.errors import ExitCode
from engine.terminal.border import REPAIR_EXIT_CODES, RUN_EXIT_CODES, VERIFY_EXIT_CODES, TerminalCommand, debug_option
from engine.terminal.options import limit_options, read_head, settings_from
from engine.version import __version__

_PATH = click.Path(path_type=Path)
_CASE_HELP = "The case file; made where it is not there. [default: a new one in the usual place]"
_REQUEST_HELP = (
    "Id of the request that a new case is for; with an existing case it must be that case's own. "
    "[default: name of the folder, and the date]"
)
_JSON_HELP = "Print the summary as one JSON object on standard output, and everything else on standard error."


def operator_option(command: Any) -> Any:
    """Decorate a command's function with `--operator`."""
    return click.option("--operator", metavar="NAME", help="Who does this, for the audit log. [default: login name]")(
        command
    )


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="sluicegate")
def terminal_commands() -> None:
    """Turn folders of PDFs into text, and prove that every page was accounted for."""


@terminal_commands.command(cls=TerminalCommand, epilog=RUN_EXIT_CODES)
@click.argument("sources", nargs=-1, metavar="[FOLDER|FILE]...", type=_PATH)
@click.option("--case", metavar="FILE", type=_PATH, help=_CASE_HELP)
@click.option("--request-id", metavar="ID", help=_REQUEST_HELP)
@operator_option
@click.option("--json", "as_json", is_flag=True, help=_JSON_HELP)
@click.option("-q", "--quiet", is_flag=True, help="Show neither progress nor the final table.")
@debug_option
@limit_options
def run(
    *,
    sources: tuple[Path, ...],
    case: Path | None,
    request_id: str | None,
    operator: str | None,
    as_json: bool,
    quiet: bool,
    **limits: Any,
) -> ExitCode:
    """Extract the text of all PDFs in folders into a case.

    With an existing --case and no FOLDER, what is pending in that case is finished. Running a folder again does only
    what is not done yet.

    Ctrl+C, once, stops safely: what is in flight is finished and stored, and the case can be resumed. Twice cancels
    that too.

    Limits that are not given have the defaults shown below; settings saved in the window do not apply here.
    """
    settings = settings_from(limits)
    if not sources and case is None:
        raise click.UsageError("Name a folder to run, or a case to go on with: --case FILE.")
    for source in sources:
        if source.suffix == ".sluice":
            raise click.UsageError(f"{source.name!r} is a case file. To go on with it, give it as --case FILE.")
    from engine.terminal import runs  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return runs.run(
        runs.RunRequest(
            sources=sources,
            case=case,
            request_id=request_id,
            operator=operator,
            settings=settings,
            as_json=as_json,
            quiet=quiet,
        )
    )


@terminal_commands.command(cls=TerminalCommand)
@click.argument("case", type=_PATH)
@click.option("--audit", required=True, metavar="OUT.jsonl", type=_PATH, help="The file to write.")
@click.option("--as-it-is", is_flag=True, help="Write the log of a damaged case, too, although it does not verify.")
@operator_option
@debug_option
def export(*, case: Path, audit: Path, as_it_is: bool, operator: str | None) -> ExitCode:
    """Write the audit log of a CASE to a file, verified.

    One JSON object a line, each chained to the one before by its SHA-256. Anybody can check the file, without this
    program too; it holds no text of any page.
    """
    from engine.terminal import exports  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return exports.export(case, audit, operator, as_it_is=as_it_is)


@terminal_commands.command(cls=TerminalCommand)
@click.argument("case", type=_PATH)
@click.argument("out_folder", type=_PATH)
@operator_option
@debug_option
def text(*, case: Path, out_folder: Path, operator: str | None) -> ExitCode:
    """Write the extracted texts of a CASE to OUT_FOLDER."""
    from engine.terminal import exports  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return exports.text(case, out_folder, operator)


@terminal_commands.command(cls=TerminalCommand, epilog=VERIFY_EXIT_CODES)
@click.argument("file", metavar="OUT.jsonl", type=_PATH)
@click.option(
    "--expect-head",
    metavar="HEX",
    type=read_head,
    help="Head of the chain that was kept elsewhere, all 64 digits, to compare with.",
)
@debug_option
def verify(*, file: Path, expect_head: str | None) -> ExitCode:
    """Verify an exported audit log.

    Checked are every line and its link to the one before, every count, and that each page has exactly one outcome.
    Whether lines were cut off at the end, or the whole log was written anew, shows only against a head that was kept
    elsewhere: give it with --expect-head.
    """
    from engine.terminal import exports  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return exports.verify(file, expect_head)


@terminal_commands.command(cls=TerminalCommand, epilog=REPAIR_EXIT_CODES)
@click.argument("case", type=_PATH)
@click.argument("new_case", type=_PATH)
@click.option(
    "--ignore-checkpoint",
    is_flag=True,
    help="Repair it although the log contradicts the last known checkpoint, as after an earlier repair.",
)
@debug_option
def repair(*, case: Path, new_case: Path, ignore_checkpoint: bool) -> ExitCode:
    """Repair a damaged CASE into a new file, NEW_CASE.

    The damaged case is read and never written to. Kept is the longest beginning of its audit log that can be verified
    and whose texts are there, byte for byte; everything after it is pending again, and a run does it again.
    """
    from engine.terminal import repair as repairs  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return repairs.repair_case(case, new_case, ignore_checkpoint=ignore_checkpoint)


@terminal_commands.command(cls=TerminalCommand)
@click.argument("folder", type=_PATH)
@debug_option
def sample(*, folder: Path) -> ExitCode:
    """Write sample documents, good and bad, to a FOLDER."""
    from engine.terminal import exports  # noqa: PLC0415  # loads the engine, which --help must not wait for

    return exports.sample(folder)
