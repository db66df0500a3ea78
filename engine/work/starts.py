"""The record of starts: how many in a row have failed, why, how long to wait, what to say, and when to give up.

Two kinds of failing starts are told apart. A worker that ends before it is ready has a cause that trying again does
not remove, and a run that spins on it would look alive for ever: a few in a row are the end. A system that refuses
(processes, descriptors or memory have run out) may give again what others give back: it is asked again for minutes,
and for as long as any worker lives, since the run then goes on with fewer.
"""

import errno
from dataclasses import dataclass
from typing import Self

PATIENCE_S = 600.0
"""How long a system that refuses is asked again while no worker lives at all."""

_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.1, 5.0
_SCARCE = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC})


@dataclass(frozen=True, slots=True, kw_only=True)
class StartFault:
    """Why a worker did not become ready."""

    words: str
    """In our words, without a full stop; empty where it did."""
    passing: bool = False
    """Whether it is the system's state of the moment, and not something that would be so again."""

    @classmethod
    def of(cls, error: OSError) -> Self:
        """Return what an error of the system means for a start."""
        return cls(words=f"the system refused: {error.strerror}", passing=error.errno in _SCARCE)


NO_FAULT = StartFault(words="")
NO_THREAD = StartFault(words="the system refused another thread", passing=True)


class StartRecord:
    """Remembers starts of workers."""

    def __init__(self) -> None:
        self._failed_in_a_row = 0
        self._broken_in_a_row = 0
        self._not_before_s: float | None = None
        self._refused_since_s: float | None = None
        self.refusal = ""
        """Why the system refuses workers at the moment, in our words; empty where it does not."""

    def allows(self, now_s: float) -> bool:
        """Whether it is time to start another worker."""
        return self._not_before_s is None or now_s >= self._not_before_s

    def succeeded(self) -> None:
        """Note that a worker became ready."""
        self._failed_in_a_row = self._broken_in_a_row = 0
        self._not_before_s = self._refused_since_s = None
        self.refusal = ""

    def failed(self, fault: StartFault, now_s: float, most: int, *, others: bool = False) -> str:
        """Note that a worker did not become ready.

        Args:
            fault: Why.
            now_s: The clock now.
            most: How many in a row are bearable.
            others: Whether other workers live, so that work goes on.

        Returns:
            The sentence to give up with, or an empty string while it is worth trying again.
        """
        self._failed_in_a_row += 1
        backoff_s = min(_FIRST_BACKOFF_S * 2.0 ** min(self._failed_in_a_row - 1, 16), _LONGEST_BACKOFF_S)
        self._not_before_s = now_s + backoff_s
        if fault.passing:
            self.refusal = fault.words
            if others or self._refused_since_s is None:
                self._refused_since_s = now_s
            if now_s - self._refused_since_s <= PATIENCE_S or self._failed_in_a_row <= most:
                return ""
        else:
            self.refusal = ""
            self._broken_in_a_row += 1
            if self._broken_in_a_row <= most:
                return ""
        return (
            f"Worker processes cannot be started: {self._failed_in_a_row} attempts in a row failed (the last one: "
            f"{fault.words}). No page can be tried like this. Look for too little free memory, too many running "
            "processes or a damaged installation, and start again; nothing that was done is lost."
        )


def trouble(refusal: str, living: int, wanted: int) -> str:
    """Return the sentence for a run that has fewer workers than it should because the system refuses them.

    Args:
        refusal: Why, in our words; empty where nothing is wrong.
        living: Workers that can work.
        wanted: Workers asked for.
    """
    if not refusal or living >= wanted:
        return ""
    remedy = "End other programs, or raise the limits for processes, open files or memory."
    if living == 0:
        return f"No worker process can be started at the moment ({refusal}). The run waits and tries again. {remedy}"
    return (
        f"Only {living} of {wanted} worker processes could be started ({refusal}). The run goes on with fewer and "
        f"keeps trying. {remedy}"
    )
