"""What all tests share: async tests run on the standard loop and on qasync, and nothing may be left behind.

A test that is a coroutine function runs once on each loop; one marked `one_loop("asyncio")` or `one_loop("qasync")`
only on that one.
"""

import asyncio
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Where this is set, each of the hundreds of programs that tests start would compile the engine anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

LOOPS = ("asyncio", "qasync")
_EARLIER = 0.9
"""Share of a test's time after which its coroutine is cancelled, so that the test can still tell what it was at."""
_SIGNALS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
if sys.platform != "win32":
    _SIGNALS[signal.SIGHUP] = signal.SIG_DFL


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker that ties an async test to one loop; take signals back that whoever started us ignores."""
    config.addinivalue_line("markers", "one_loop(name): run this async test on the named event loop only")
    # In the background, or under nohup, these are ignored, and every program that a test starts would inherit that.
    for number, handler in _SIGNALS.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every coroutine test on each loop."""
    if inspect.iscoroutinefunction(metafunc.function):
        marker = metafunc.definition.get_closest_marker("one_loop")
        metafunc.fixturenames.append("loop_name")
        metafunc.parametrize("loop_name", marker.args if marker else LOOPS)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end on its loop."""
    if not inspect.iscoroutinefunction(pyfuncitem.function):
        return None
    names = inspect.signature(pyfuncitem.function).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    marker = pyfuncitem.get_closest_marker("timeout")
    limit_s = float(marker.args[0] if marker else pyfuncitem.config.getini("timeout"))
    run_on(
        str(pyfuncitem.callspec.params["loop_name"]), lambda: pyfuncitem.obj(**arguments), limit_s=_EARLIER * limit_s
    )
    return True


def run_on(loop_name: str, main: Callable[[], Coroutine[Any, Any, Any]], *, limit_s: float | None = None) -> Any:
    """Run a coroutine to its end on the named event loop, and fail where it leaves tasks behind.

    After `limit_s` it is cancelled and fails: Qt swallows what a signal's handler raises within one of its events, so
    that pytest's own timeout would end nothing there.
    """

    async def checked() -> Any:
        async with asyncio.timeout(limit_s):
            result = await main()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert not left, f"tasks left behind: {left}"
        return result

    if loop_name == "asyncio":
        return asyncio.run(checked())
    import qasync  # noqa: PLC0415  # Qt is loaded only for the tests that need it
    from PySide6.QtWidgets import QApplication  # noqa: PLC0415

    application = QApplication.instance() or QApplication([])
    loop = qasync.QEventLoop(application, set_running_loop=False)
    previous = asyncio.events._get_running_loop()
    assert previous is None
    try:
        return loop.run_until_complete(checked())
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def pytest_collection_finish() -> None:
    """Leave what the imports made out of every later collection of garbage, which would look through it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _freeze_what_stays() -> None:
    """Do the same with what the modules before this one have left for good; their fixtures are gone by now."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _collect_garbage() -> Iterator[None]:
    """Let objects that complain when they are dropped complain in the test that dropped them."""
    yield
    gc.collect()
