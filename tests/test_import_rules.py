"""Who may import what: the contracts of pyproject.toml, and what they cannot see.

The contracts read the import statements. The other tests load the modules in a fresh interpreter and look at what
that brought in, so that a dependency of a dependency is found too, and read the sources for MuPDF. The order of the
layers itself is the business of the contracts.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parent.parent
WINDOW_TOOLKIT = frozenset({"PySide6", "shiboken6", "qasync", "pyqtgraph", "numpy"})
MUPDF = frozenset({"pymupdf", "fitz"})
MAY_LOAD_MUPDF = (CHECKOUT / "engine" / "work" / "child", CHECKOUT / "engine" / "sample" / "writer.py")

IMPORT_AND_LOOK = """
import importlib, sys
forbidden = set(sys.argv[1].split())
for name in sys.stdin.read().split():
    importlib.import_module(name)
    found = forbidden & sys.modules.keys()
    if found:
        sys.exit(f"importing {name} loads {', '.join(sorted(found))}")
print(len(sys.modules))
"""


def sources(*packages: str) -> Iterator[Path]:
    """Yield the source files of top-level packages."""
    for package in packages:
        yield from sorted((CHECKOUT / package).rglob("*.py"))


def may_load_mupdf(file: Path) -> bool:
    """Tell whether a source file belongs to a process that reads or writes PDFs."""
    return any(file.is_relative_to(place) for place in MAY_LOAD_MUPDF)


def module_names(*packages: str) -> list[str]:
    """Return the modules of packages that the program's own process may import; starting points of programs not."""
    files = (file for file in sources(*packages) if file.name != "__main__.py" and not may_load_mupdf(file))
    parts = (file.relative_to(CHECKOUT).with_suffix("").parts for file in files)
    return [".".join(each[:-1] if each[-1] == "__init__" else each) for each in parts]


def load(modules: list[str], forbidden: frozenset[str]) -> str:
    """Import modules in a fresh interpreter; return what it complains about, or nothing."""
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_AND_LOOK, " ".join(sorted(forbidden))],
        input="\n".join(modules),
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(result.returncode) != bool(result.stdout)
    return result.stderr


def imported_by(file: Path) -> set[str]:
    """Return the top-level names that a source file imports anywhere, by statement or by a call with the name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names |= {str(argument.value) for argument in node.args if isinstance(argument, ast.Constant)}
    return {name.partition(".")[0] for name in names}


def test_the_contracts_hold() -> None:
    """Every contract in pyproject.toml is kept."""
    linter = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    result = subprocess.run(
        [sys.executable, "-c", linter, "--no-logo", "--no-cache"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


def test_the_engine_loads_neither_the_window_toolkit_nor_mupdf() -> None:
    """Importing every engine module but the worker's and the sample writer's brings in nothing of either."""
    assert load(module_names("engine"), WINDOW_TOOLKIT | MUPDF) == ""


def test_the_window_never_loads_mupdf() -> None:
    """Importing every module of the window brings in Qt, but not MuPDF."""
    modules = module_names("engine", "gui")
    assert load(modules, MUPDF) == ""
    assert "loads PySide6" in load(modules, frozenset({"PySide6"}))


def test_the_command_line_starts_without_the_window_toolkit() -> None:
    """The terminal commands work where Qt cannot be loaded: the command line imports it only to open the window."""
    assert load(["gui.command"], WINDOW_TOOLKIT | MUPDF) == ""


def test_only_worker_processes_and_the_sample_writer_import_mupdf() -> None:
    """No other source file imports MuPDF, at its top or inside a function, by statement or by name."""
    importing = [file for file in sources("engine", "gui") if imported_by(file) & MUPDF]
    assert [str(file.relative_to(CHECKOUT)) for file in importing if not may_load_mupdf(file)] == []
    assert importing, "the scan finds none at all, not even the worker"


@pytest.mark.parametrize(
    "source",
    [
        "import pymupdf",
        "import pymupdf.utils as utils",
        "from fitz import Document",
        "def read():\n    import pymupdf\n",
        "import importlib\nimportlib.import_module('pymupdf')",
        "__import__('fitz')",
    ],
)
def test_the_scan_sees_every_way_to_import(tmp_path: Path, source: str) -> None:
    """The scan for MuPDF finds it in each form that an import can take."""
    file = tmp_path / "module.py"
    file.write_text(source, encoding="utf-8")
    assert imported_by(file) & MUPDF


def test_the_scan_is_not_misled_by_names(tmp_path: Path) -> None:
    """A module of our own, a relative import or a mere mention is no import of MuPDF."""
    file = tmp_path / "module.py"
    file.write_text("from . import pymupdf\nimport pymupdf_names\nword = 'pymupdf'\nprint('fitz')\n", encoding="utf-8")
    assert not imported_by(file) & MUPDF
