"""Options to settings: defaults, units, shares of the queue, impossible values."""

import dataclasses
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from engine.errors import ExitCode, SettingsError
from engine.settings import MIB, FlowLimits, MemoryBudget, Settings, WorkerLimits
from engine.terminal.border import TerminalCommand
from engine.terminal.commands import terminal_commands
from engine.terminal.options import KNOBS, limit_options, read_size, settings_from


def settings_of(*arguments: str) -> Settings:
    """Return the settings that a command line makes."""
    made: list[Settings] = []

    @click.command(cls=TerminalCommand)
    @limit_options
    def command(**limits: Any) -> ExitCode:
        made.append(settings_from(limits))
        return ExitCode.ALL_EXTRACTED

    assert command.main([*arguments], standalone_mode=False) == 0
    return made[0]


def run_command(*arguments: str) -> Result:
    """Call `sluicegate run` in this process, as far as its options go."""
    return CliRunner().invoke(terminal_commands, ["run", *arguments])


def test_every_setting_has_exactly_one_option() -> None:
    """No limit can be added to the settings and be forgotten on the command line."""
    fields = {
        (type(getattr(Settings(), section.name)), item.name)
        for section in dataclasses.fields(Settings)
        for item in dataclasses.fields(getattr(Settings(), section.name))
    }
    knobs = [(knob.section, knob.name) for knob in KNOBS]
    assert set(knobs) == fields
    assert len(knobs) == len(fields)


def test_no_option_gives_the_built_in_defaults() -> None:
    """What is not given keeps its default, in every section."""
    assert settings_of() == Settings()


def test_every_default_in_the_help_text_is_the_true_one() -> None:
    """Giving each default that has a value of its own, as the help text writes it, changes nothing."""
    given = []
    for knob in KNOBS:
        if not knob.default:
            given += [knob.flag, knob.default_words]
    assert len(given) > 20
    assert settings_of(*given, "--span", "64", "--max-queue", "256", "--hi", "75%", "--lo", "25%") == Settings()


def test_all_knobs_of_the_flow_arrive() -> None:
    """Each option of the flow sets its own field."""
    flow = settings_of(
        *("--workers", "3", "--span", "8", "--max-queue", "100", "--hi", "80", "--lo", "10"),
        *("--permits", "90", "--rate", "12.5", "--burst", "7"),
    ).flow
    assert flow == FlowLimits(
        workers=3, span_pages=8, max_queue=100, hi=80, lo=10, permits=90, rate_per_s=12.5, burst=7
    )


@pytest.mark.parametrize(("given", "pages"), [("75%", 300), ("12.5%", 50), ("75 %", 300), ("300", 300)])
def test_a_mark_is_pages_or_a_share_of_the_queue_as_given(given: str, pages: int) -> None:
    """A share counts from the queue's size on the same command line, not from the default one."""
    flow = settings_of("--hi", given, "--lo", "0", "--max-queue", "400").flow
    assert flow.hi == pages


def test_marks_follow_the_queue_where_they_are_not_given() -> None:
    """Another queue size moves marks and permits with it."""
    flow = settings_of("--max-queue", "40", "--workers", "2").flow
    assert (flow.hi, flow.lo, flow.permits) == (30, 10, 40 + 2 * 64)


@pytest.mark.parametrize(
    ("given", "size_bytes"),
    [("512M", 512 * MIB), ("2G", 2048 * MIB), ("1.5g", 1536 * MIB), ("2GiB", 2048 * MIB), ("134217728", 128 * MIB)],
)
def test_the_memory_budget_accepts_sizes(given: str, size_bytes: int) -> None:
    """Sizes may be written as people write them."""
    assert settings_of("--memory-budget", given).memory.budget_bytes == size_bytes


@pytest.mark.parametrize(
    ("given", "seconds"), [("45", 45.0), ("0.5", 0.5), ("500ms", 0.5), ("2m", 120.0), ("1h", 3600.0)]
)
def test_clocks_accept_durations(given: str, seconds: float) -> None:
    """Clocks may be written in the unit that fits."""
    assert settings_of("--page-clock", given).clocks.page_s == seconds


def test_worker_limits_and_memory_levels_arrive() -> None:
    """Each option of a worker and of the budget's levels sets its own field."""
    settings = settings_of(
        *("--worker-kill-rss", "1G", "--worker-recycle-pages", "77", "--worker-attempts", "4"),
        *("--memory-hold", "80%", "--memory-release", "60"),
    )
    assert settings.worker == WorkerLimits(kill_rss_bytes=1024 * MIB, recycle_pages=77, max_attempts=4)
    assert settings.memory == MemoryBudget(hold_percent=80, release_percent=60)


def test_the_sandbox_is_required_only_where_that_is_asked_for() -> None:
    """A switch without a value, off by default; stored settings say true or false and nothing else."""
    assert settings_of("--require-sandbox").worker == WorkerLimits(require_sandbox=True)
    assert not settings_of().worker.require_sandbox
    assert Settings.from_json({"worker": {"require_sandbox": True}}).worker.require_sandbox
    with pytest.raises(SettingsError, match="true or false"):
        Settings.from_json({"worker": {"require_sandbox": "no"}})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--hi", "64", "--lo", "64"), "low mark (64) must be below the high mark (64)"),
        (("--hi", "200%"), "above the queue's size"),
        (("--hi", "192", "--permits", "192"), "192 permits do not exceed the high mark (192)"),
        (("--workers", "0"), "number of workers is 0"),
        (("--lo", "-1"), "low mark is -1"),
        (("--rate", "nan"), "rate is nan"),
        (("--rate", "0"), "more than 0 pages per second"),
        (("--page-clock", "0"), "page_s is 0"),
        (("--memory-budget", "1M"), "below 64 MB"),
        (("--memory-hold", "50%"), "release (75 %) < hold (50 %)"),
        (("--worker-attempts", "0"), "max_attempts must be at least 1"),
    ],
)
def test_impossible_settings_are_refused_before_anything_starts(arguments: tuple[str, ...], words: str) -> None:
    """An impossible combination ends with 2 and the sentence on standard error; nothing is printed as a result."""
    result = run_command(*arguments, "/no/such/folder")
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--hi", "half"),
        ("--hi", "1.5"),
        ("--memory-budget", "2 elephants"),
        ("--memory-budget", "9999999T"),
        ("--page-clock", "inf"),
        ("--memory-hold", "90.5%"),
        ("--workers", "two"),
        ("--nonsense",),
        (),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(arguments: tuple[str, ...]) -> None:
    """A value that cannot be read, an unknown option, or nothing to run at all ends with 2."""
    result = run_command(*arguments)
    assert result.exit_code == 2
    assert "Error:" in result.stderr
    assert result.stdout == ""


def test_a_case_named_as_a_source_is_told_how_to_be_given() -> None:
    """A case file among the folders is a slip, and not a file without PDFs in it."""
    result = run_command("/cases/my.sluice")
    assert result.exit_code == 2
    assert "--case FILE" in result.stderr


def test_a_size_is_never_read_as_a_float() -> None:
    """Large sizes keep every byte."""
    assert read_size("4503599627370497") == 4503599627370497


def test_the_settings_error_leaves_the_module_as_it_is() -> None:
    """Settings that cannot work raise the engine's own error, with its exit code."""
    with pytest.raises(SettingsError) as caught:
        settings_from({"workers": 0})
    assert caught.value.exit_code == 2


def test_help_groups_every_option_with_unit_and_default() -> None:
    """Each knob stands in the help text under its heading, with its default."""
    text = " ".join(run_command("--help").stdout.split())
    for knob in KNOBS:
        assert f"{knob.flag} {knob.metavar}" in text
        assert knob.group in text
        assert f"[default: {knob.default_words}]" in text
