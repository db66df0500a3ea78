"""The keeper: one thread that spawns one worker process, talks to it and stays until it is dead and reaped.

One thread for the whole life of its worker, because Linux sends the worker its parent's death signal when the thread
that spawned it ends. The thread does all blocking work; what it has to tell goes to the event loop as one call. It
never decides what to do next: that is the pool's business.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.models.document import Failure, Posture
from engine.models.outcome import Reason
from engine.work.errand import Errand
from engine.work.frames import Frame, FrameCaps, FrameError
from engine.work.jobs import ending_failure
from engine.work.memory import MemorySampler
from engine.work.messages import Launch
from engine.work.process import WorkerProcess
from engine.work.replies import posture_of
from engine.work.slot import Mark, SlotFile
from engine.work.starts import NO_FAULT, StartFault
from engine.work.wire import Wire, WorkerGoneError

logger = logging.getLogger(__name__)

_FAREWELL_S = 2.0
"""How long a worker that is no longer needed may take to go by itself."""
_BURIAL_S = 10.0
"""How long a killed worker may take to disappear: one that hangs in a read of a dead network share does not."""
_LOGGED_BYTES = 2000
_KILLED = -9


class KeeperOwner(Protocol):
    """Whoever employs keepers; called on the event loop."""

    def on_ready(self, keeper: "Keeper", posture: Posture) -> None:
        """The worker is up."""
        ...

    def on_done(self, keeper: "Keeper", errand: Errand[Any], *, begun: bool, alive: bool) -> None:
        """The errand is over, whatever came of it.

        Args:
            keeper: Who had it.
            errand: The errand.
            begun: False where somebody else had ended the worker before it could begin.
            alive: Whether the worker can take another one.
        """
        ...

    def on_ended(self, keeper: "Keeper", fault: StartFault) -> None:
        """The worker is gone; `fault` says why where it never became ready."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Staffing:
    """What all keepers of a pool share."""

    command: Sequence[str]
    parent_pid: int
    owner: KeeperOwner
    sampler: MemorySampler
    post: Callable[..., None]
    """Runs a function on the event loop; from any thread."""


class Keeper:
    """Owns one worker process. Public methods are for the event loop and do not block."""

    def __init__(self, staffing: Staffing, *, name: str, address_space_bytes: int) -> None:
        self.slot = SlotFile()
        self._staffing = staffing
        self._address_space_bytes = address_space_bytes
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        # Shared by the event loop and the thread, under the lock.
        self._lock = threading.Lock()
        self._process: WorkerProcess | None = None
        self._errand: Errand[Any] | None = None
        self._before = Mark()
        self._garbled = False
        self._over = False
        self._killed = False
        self._killed_for: Failure | None = None
        self._leave_by_s: float | None = None

    @property
    def pid(self) -> int | None:
        """Number of the process, once it is spawned."""
        return None if self._process is None else self._process.pid

    @property
    def rss_bytes(self) -> int:
        """Its resident memory when it was last measured."""
        return 0 if self._process is None else self._process.rss_bytes

    @property
    def request_bytes(self) -> int:
        """How many bytes may be sent at once to a worker that is idle."""
        return 0 if self._process is None else self._process.request_bytes

    def start(self) -> None:
        """Spawn the worker."""
        self._thread.start()

    def give(self, errand: Errand[Any], mark: Mark) -> bool:
        """Hand over an errand to a worker that is ready and idle; return whether it still is.

        The request is written from here, which spares waking the thread: it is no longer than the pipe holds, and the
        worker has read all that came before.

        Args:
            errand: The errand.
            mark: What stands in the slot now.
        """
        with self._lock:
            if self._over or self._killed or self._leave_by_s is not None or self._process is None:
                return False
            self._errand, self._before = errand, mark
            try:
                whole = self._process.send(errand.request)
            except OSError:  # it is dead, and the thread is about to notice
                return True
        if not whole:
            self.kill(Failure(reason=Reason.WORKER_CRASHED))
        return True

    def retire(self) -> None:
        """Let an idle worker go by itself, and end it where it does not."""
        with self._lock:
            if self._leave_by_s is None:
                self._leave_by_s = time.monotonic() + _FAREWELL_S
            if self._process is not None and not self._over:
                self._process.stdin.close()

    def kill(self, failure: Failure | None = None) -> None:
        """End the worker at once.

        Args:
            failure: What for, where that is the fault of what it works on; the first reason given stands.
        """
        with self._lock:
            if not self._killed:
                self._killed, self._killed_for = True, failure
            process = self._process
        if process is not None:
            process.kill()

    def join(self, wait_s: float) -> bool:
        """Wait for the thread, which ends right after it has said that the worker is gone."""
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    # What follows runs on the keeper's own thread.

    def _run(self) -> None:
        fault = NO_FAULT
        try:
            fault = self._keep()
        except Exception:
            # The border of the thread: whatever is wrong in here, the end of the worker has to be told.
            logger.exception("The keeper of a worker failed.")
            fault = StartFault(words="the program could not handle it")
            self.kill(Failure(reason=Reason.INTERNAL_ERROR))
        finally:
            self._bury()
            self._tell(self._staffing.owner.on_ended, fault)

    def _keep(self) -> StartFault:
        """Spawn and serve the worker; return why it never became ready, if it did not."""
        launch = Launch(
            parent_pid=self._staffing.parent_pid,
            slot=self.slot.address,
            address_space_bytes=self._address_space_bytes,
        )
        try:
            process = WorkerProcess((*self._staffing.command, launch.to_argument()), self.slot.inherited_fds)
        except OSError as error:
            return StartFault.of(error)
        with self._lock:
            self._process = process
            killed = self._killed
        if killed:
            process.kill()
        self._staffing.sampler.add(process)
        wire = Wire(process, self._given_up)
        try:
            posture = posture_of(wire.receive(FrameCaps))
        except FrameError:
            return StartFault(words="it spoke before it was ready, and not our protocol")
        except WorkerGoneError:
            return self._start_fault(process, wire)
        self._tell(self._staffing.owner.on_ready, posture)
        try:
            while True:
                self._take(wire.receive(self._caps), wire)
        except FrameError:
            self._garbled = True
            self.kill(Failure(reason=Reason.WORKER_CRASHED))
        except WorkerGoneError:
            pass
        return NO_FAULT

    def _given_up(self) -> bool:
        return self._killed or (self._leave_by_s is not None and time.monotonic() > self._leave_by_s)

    def _start_fault(self, process: WorkerProcess, wire: Wire) -> StartFault:
        if self._killed:
            return StartFault(words="it was not ready in time")
        status = process.reap(_FAREWELL_S)
        if status == _KILLED:  # by somebody else: most likely the system, for want of memory
            return StartFault(words="it was killed before it was ready", passing=True)
        # It has not seen a document yet, so that its complaints can only be about itself.
        logger.warning("A worker process ended before it was ready: %r", wire.complaints[-_LOGGED_BYTES:])
        return StartFault(words=f"it ended with status {status} before it was ready")

    def _caps(self) -> FrameCaps:
        errand = self._errand
        if errand is None:
            raise FrameError("A worker spoke without being asked.")
        return errand.caps

    def _take(self, frame: Frame, wire: Wire) -> None:
        """Take an answer to the present errand."""
        errand = self._errand
        if errand is None or not errand.take(frame):
            return
        if not wire.empty or errand.broken_off:
            self.kill()  # it says, or is about to say, more than anybody wants to hear; what was answered stands
        with self._lock:
            self._errand = None
            alive = not self._killed
        self._tell(self._staffing.owner.on_done, errand, begun=True, alive=alive)

    def _bury(self) -> None:
        """Make sure that the process is gone, say what became of its errand, and give back what it held."""
        with self._lock:
            self._over = True
            process, errand, self._errand = self._process, self._errand, None
            if process is not None:
                process.stdin.close()  # it goes when it reads the end
        if process is None:
            return
        self._staffing.sampler.discard(process)
        if self._killed or process.reap(_FAREWELL_S) is None:
            if errand is not None:
                self.kill(Failure(reason=Reason.WORKER_CRASHED))  # it closed its pipes and lives on
            process.kill()
            if process.reap(_BURIAL_S) is None:
                logger.error("Worker process %d was killed and has not disappeared.", process.pid)
        if errand is not None:
            mark, failure = self.slot.read(), ending_failure(process.exit_status, self._killed_for)
            errand.end(failure, mark, garbled=self._garbled)
            # Ended by somebody else before it wrote what it would do: it died idle, and nobody had noticed yet.
            begun = mark != self._before or failure.reason is not Reason.WORKER_LOST
            self._tell(self._staffing.owner.on_done, errand, begun=begun, alive=False)
        process.close()

    def _tell(self, function: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        self._staffing.post(function, self, *args, **kwargs)
