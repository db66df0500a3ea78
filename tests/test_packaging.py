"""What is handed out: the lock files, the declared dependencies, the licence, and what the wheel is made from.

How a machine is set up from the lock files is tested in `test_setup.py`. No wheel is built here: that would need
the build back end from the network.
"""

import ast
import hashlib
import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

CHECKOUT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
RUN_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"
TARGETS = [
    (python, platform) for python in ("3.11", "3.12", "3.13", "3.14") for platform in ("linux", "darwin", "win32")
]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
FULL_AGPL_3 = "0d96a4ff68ad6d4b6f1f30f713b18d5184912ba8dd389f86aa7710db079abcb0"


def entries(lock: str) -> Iterator[list[str]]:
    """Yield each entry of a lock file as its requirement followed by its hashes."""
    text = (CHECKOUT / lock).read_text(encoding="utf-8")
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            requirement, *hashes = re.split(r"\s+(?=--hash=)", line.strip())
            yield [requirement, *hashes]


def environment(target: tuple[str, str]) -> dict[str, str]:
    """Return the marker environment of a Python version on a platform."""
    python, platform = target
    systems = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}
    system, os_name = systems[platform]
    return {str(name): str(value) for name, value in default_environment().items()} | {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "sys_platform": platform,
        "platform_system": system,
        "os_name": os_name,
    }


def applying(requirements: list[Requirement], target: tuple[str, str]) -> list[Requirement]:
    """Return the requirements that apply on a target."""
    where = environment(target)
    return [each for each in requirements if each.marker is None or each.marker.evaluate(where)]


def locked(lock: str, target: tuple[str, str]) -> dict[NormalizedName, Version]:
    """Return the version of each package that a lock file installs on a target."""
    pins = applying([Requirement(requirement) for requirement, *_ in entries(lock)], target)
    versions = {canonicalize_name(pin.name): Version(str(pin.specifier).removeprefix("==")) for pin in pins}
    assert len(versions) == len(pins), "a package is pinned twice for one target"
    return versions


def declared(*, dev: bool = False) -> list[Requirement]:
    """Return the dependencies in pyproject.toml, those of the checks too where asked."""
    texts = [*PROJECT["project"]["dependencies"], *(PROJECT["dependency-groups"]["dev"] if dev else [])]
    return [Requirement(text) for text in texts]


def top_level_imports() -> set[str]:
    """Return the top-level names of all modules that engine and gui import."""
    names: set[str] = set()
    for package in ("engine", "gui"):
        for file in (CHECKOUT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    names.add(str(node.module).partition(".")[0])
    return names


@pytest.mark.parametrize("lock", [RUN_LOCK, DEV_LOCK])
def test_every_entry_is_pinned_and_has_hashes(lock: str) -> None:
    """A lock names exact versions and the SHA-256 of every file that may be installed for them."""
    found = list(entries(lock))
    assert found
    for requirement, *hashes in found:
        assert re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; .+)?", requirement)
        assert hashes
        assert all(HASH.fullmatch(each) for each in hashes), requirement


@pytest.mark.parametrize("lock", [RUN_LOCK, DEV_LOCK])
def test_no_lock_names_an_address(lock: str) -> None:
    """A lock says what is installed, not from where: that is the machine's own setting."""
    text = (CHECKOUT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|index-url|find-links|trusted-host|^-|\s@\s|file:", text, re.MULTILINE)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dev", [False, True])
def test_the_locks_satisfy_the_declared_dependencies(target: tuple[str, str], *, dev: bool) -> None:
    """On every Python and platform each dependency that applies is locked, in a version that it allows."""
    versions = locked(DEV_LOCK if dev else RUN_LOCK, target)
    for requirement in applying(declared(dev=dev), target):
        assert versions[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("target", TARGETS)
def test_the_checks_run_on_the_versions_that_are_handed_out(target: tuple[str, str]) -> None:
    """The lock of the checks adds packages to the program's lock and changes none of its versions."""
    run, dev = locked(RUN_LOCK, target), locked(DEV_LOCK, target)
    assert run.items() < dev.items()


@pytest.mark.parametrize("target", [target for target in TARGETS if target[0] == "3.11"])
def test_python_3_11_gets_no_qt_that_aborts_it(target: tuple[str, str]) -> None:
    """PySide6 6.12.0 loses references to None under Python 3.11: it is not locked there."""
    versions = locked(RUN_LOCK, target)
    qt = {versions[canonicalize_name(name)] for name in ("pyside6-essentials", "shiboken6")}
    assert len(qt) == 1
    assert max(qt) < Version("6.12")


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    """Every package that engine or gui imports is a dependency, and every dependency is imported.

    Shiboken is the one exception: it is the lower half of PySide6, which pins its exact version.
    """
    providers = packages_distributions()
    foreign = top_level_imports() - sys.stdlib_module_names - {"engine", "gui", "shiboken6"}
    imported = {canonicalize_name(provider) for name in foreign for provider in providers.get(name, [name])}
    named = {canonicalize_name(requirement.name) for requirement in declared()}
    assert imported == named


def test_the_readme_says_why_each_dependency_is_there() -> None:
    """Every package that a user has to install is named in the README's table."""
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8").lower()
    table = readme.partition("## dependencies")[2].partition("\n## ")[0]
    assert [each.name for each in declared() if each.name not in table] == []


def test_the_command_is_the_one_that_the_window_and_the_terminal_share() -> None:
    """The installed command `sluicegate` names a function that exists."""
    assert PROJECT["project"]["scripts"] == {"sluicegate": "gui.command:main"}
    entry = importlib.metadata.EntryPoint("sluicegate", PROJECT["project"]["scripts"]["sluicegate"], "console_scripts")
    assert callable(entry.load())


def test_the_wheel_takes_in_all_that_runs() -> None:
    """The wheel is made from the two packages, the worker included, and from the resources, which hold data only."""
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"] == {"packages": ["engine", "gui", "resources"]}
    assert (CHECKOUT / "engine" / "work" / "child" / "__main__.py").is_file()
    assert any((CHECKOUT / "resources").iterdir())
    assert list((CHECKOUT / "resources").rglob("*.py")) == []


def test_every_package_folder_says_that_it_is_one() -> None:
    """No folder with modules lacks its `__init__.py`: it would be missing from an installed program's imports."""
    folders = {file.parent for package in ("engine", "gui") for file in (CHECKOUT / package).rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_version_is_one_that_installers_understand() -> None:
    """The one place that states the version states a valid one, and the change log knows it."""
    text = (CHECKOUT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert match
    assert str(Version(match[1])) == match[1]
    assert match[1] in (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_complete() -> None:
    """The licence file is the text of the AGPL, version 3, to the letter."""
    assert PROJECT["project"]["license"] == "AGPL-3.0-or-later"
    assert hashlib.sha256((CHECKOUT / "LICENSE").read_bytes()).hexdigest() == FULL_AGPL_3
