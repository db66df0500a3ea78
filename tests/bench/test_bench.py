"""The benchmark works: every part does all of its work, and what it writes has its shape. No figure is judged."""

import json
import pstats
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import documents, enumeration, export, fairness, memory, profiles, scale, start, throughput
from tests.bench.__main__ import main, write
from tests.bench.figures import percentile, slope, spread
from tests.bench.tables import table

pytestmark = pytest.mark.slow


def silent(_sentence: str) -> None:
    """Say nothing."""


def written(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Run the command line and return the result that it wrote."""
    out = tmp_path / "bench.json"
    assert main([*arguments, "--out", str(out), "--workers", "2"]) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    assert found["benchmark"] == arguments[0]
    return found


def test_every_part_of_the_main_benchmark_reads_all_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Script, program without and with window, and pdftotext where it is: all of them read all pages, and tell how."""
    result = written(tmp_path, "throughput", "--quick")["result"]
    runs = {run["part"]: run for run in result["runs"]}
    assert {"bare", "headless", "window"} <= runs.keys() <= set(throughput.PARTS)
    assert result["documents"] == 7
    assert {run["pages"] for run in runs.values()} == {result["pages"]} == {100}
    for run in runs.values():
        assert run["start_s"] >= 0
        assert run["work_s"] > 0
        assert run["pages_per_s"] > 0
        assert run["rss"]["tree"] >= run["rss"]["main"] > 0
    for part in ("headless", "window"):
        more = runs[part]["more"]
        assert more["reconciled"] is True
        assert more["state"] == "finished"
        assert more["outcomes"] == {"enumerated": 100, "extracted": 100, "dead_letter": 0, "duplicate": 0}
        assert more["commit_ms"]["count"] > 0
        assert more["loop_lag_ms"]["max"] >= more["loop_lag_ms"]["p50"]
        assert 0 <= more["saturation"]["queue_mean_share"] <= 1
        assert runs[part]["cpu"]["main_us_per_page"] > 0
        assert runs[part]["cpu"]["threads_s"]
        assert len(runs[part]["rss"]["others"]) >= 2
    assert runs["window"]["more"]["charts_painted"] > 0
    for ratio in ("ratio_headless", "ratio_window", "main_headless", "main_window"):
        assert result[ratio]["least"] <= result[ratio]["median"] <= result[ratio]["most"]
    shown = capsys.readouterr().out
    assert "ratio_headless" in shown
    assert "loop lag p99 (ms)" in shown


def test_a_profile_names_functions_of_the_program(tmp_path: Path) -> None:
    """The profile of the loop's thread holds the program's own functions; the shares add up to no more than all."""
    work = throughput.Work.over(documents.collection(documents.office(2, 4)).folder, workers=1)
    out = tmp_path / "profile"
    command = [sys.executable, "-m", "tests.bench.headless", "--home", str(tmp_path), "--workers", "1"]
    subprocess.run([*command, "--profile", str(out), str(work.folder)], check=True, capture_output=True)
    profile = profiles.of_cprofile(out)
    assert profile.functions
    measured = {Path(file).name for file, _line, _name in pstats.Stats(str(out)).stats}  # type: ignore[attr-defined]  # typeshed leaves it out
    assert {"commits.py", "run.py", "stage.py"} <= measured
    assert sum(row.own for row in profile.functions) <= 1.0 + 1e-9


def test_what_py_spy_writes_is_read(tmp_path: Path) -> None:
    """Stacks are added up by thread and function, without line numbers and without imports."""
    raw = tmp_path / "raw"
    raw.write_text(
        "thread (0x1): case-writer_0;_worker (concurrent/thread.py:81);commit (engine/writer.py:10) 6\n"
        "thread (0x2): case-writer_0;_worker (concurrent/thread.py:83);commit (engine/writer.py:20) 2\n"
        "<module> (headless.py:1);_run_once (asyncio/base_events.py:5) 1\n"
        "<module> (headless.py:1);_load (<frozen importlib._bootstrap>:5) 90\n"
        "thread (77);run (x.py:1) 1\n",
        encoding="utf-8",
    )
    profile = profiles.of_spy(raw)
    assert profile.threads == {"case-writer": 0.8, "MainThread": 0.1, "others": 0.1}
    assert profile.functions[0] == profiles.ProfileRow(function="writer.py:commit", own=0.8, total=0.8)


def test_very_many_files_are_listed_and_resumed(tmp_path: Path) -> None:
    """Every file stands in the manifest before the run is stopped, and the resumed run comes to its first page."""
    [result] = enumeration.measure([120], workers=1, say=silent)
    assert result.files == 120
    assert result.listed_s is not None
    assert result.first_page_s is not None
    assert result.first_page_of_run_s is not None
    assert 0 < result.first_page_of_run_s < result.first_page_s
    assert result.pages_meanwhile <= 120
    assert result.pages_meanwhile == 120 or result.resumed_first_page_s is not None
    write(tmp_path / "out.json", "enumeration", (result,))
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["result"][0]["files"] == 120


def test_small_documents_finish_beside_a_huge_one() -> None:
    """Both runs come to their end, and all small documents are counted."""
    result = fairness.measure(6, 80, workers=1, pairs=1, say=silent)
    assert result.alone_per_s.median > 0
    assert result.beside_per_s.median > 0
    assert 0 <= result.huge_done_share <= 1


def test_an_export_is_written_and_verified() -> None:
    """As many records are exported and verified as were committed: one a page and some more."""
    commit, exported, verified = export.measure(300, say=silent)
    assert commit.records == exported.records == verified.records > 300
    assert [step.step for step in (commit, exported, verified)] == ["commit", "export", "verify"]


def test_memory_is_read_all_along() -> None:
    """The engine's own part works through all pages, and the slope is taken from the readings after the warm-up."""
    [result] = memory.measure(800, from_page=100, workers=1, plan=(), parts=("engine",), say=silent)
    assert result.pages == 800
    assert [point.pages for point in result.points] == sorted(point.pages for point in result.points)
    assert result.main_bytes_per_page is not None
    assert result.peak_main_bytes >= max(point.main for point in result.points) * 0.5
    assert "<polyline" in memory.picture([result])


def test_the_start_of_the_window_is_seen() -> None:
    """Both windows are painted and say when."""
    result = start.measure(pairs=1, say=silent)
    assert result.window_s.median > 0
    assert result.plot_s.median > 0


def test_a_folder_without_documents_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to read is a sentence and a failure, not a division by zero."""
    assert main(["throughput", "--folder", str(tmp_path), "--out", str(tmp_path / "bench.json")]) == 1
    assert "no PDF files" in capsys.readouterr().err
    assert not (tmp_path / "bench.json").exists()


def test_the_figures_are_what_they_are_called() -> None:
    """Median, ends, percentiles and slopes of known values."""
    assert (spread([3.0, 1.0, 2.0]).median, spread([3.0, 1.0]).least, spread([3.0, 1.0]).most) == (2.0, 1.0, 3.0)
    assert [percentile(range(1, 101), share) for share in (0.5, 0.99, 1.0)] == [50, 99, 100]
    assert percentile([], 0.5) == 0.0
    line = slope([(float(x), 2.0 * x + 1.0) for x in range(10)])
    assert line is not None
    assert abs(line.per_unit - 2.0) < 1e-9
    assert line.error < 1e-9
    assert slope([(1.0, 1.0), (2.0, 2.0)]) is None


def test_the_plan_of_the_documents_has_as_many_pages_as_it_says() -> None:
    """The usual set: 400 documents, 15,000 pages, each at least one, and one of 5,000; the same each time."""
    plan = documents.office(400, 15_000, longest=5_000)
    assert len(plan) == 401
    assert sum(planned.pages for planned in plan) == 20_000
    assert min(planned.pages for planned in plan) >= 1
    assert plan == documents.office(400, 15_000, longest=5_000)
    assert len({planned.path for planned in plan}) == 401


def test_a_table_stands_straight() -> None:
    """The first column is to the left, the others to the right, however wide."""
    assert list(table(("a", "b"), [("long one", "1"), ("x", "1,000")])) == [
        "a             b",
        "--------  -----",
        "long one      1",
        "x         1,000",
    ]


def test_a_case_of_made_up_files_goes_through_every_step(tmp_path: Path) -> None:
    """The large case is filled, opened, resumed, counted, read, exported and verified; here with few documents."""
    steps = {step["step"]: step for step in written(tmp_path, "scale", "--files", "1200")["result"]}
    assert list(steps) == list(scale.STEPS)
    assert steps["open"]["count"] == steps["count"]["count"] == 3600
    assert steps["fill"]["count"] + steps["resume"]["count"] == 3600
    assert steps["export"]["count"] == steps["verify"]["count"] >= 4800
    assert all(step["peak_rss_bytes"] > 0 for step in steps.values())
