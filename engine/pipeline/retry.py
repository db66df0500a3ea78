"""Which failures are tried again, how often and how long after: exponential backoff with jitter and a cap.

Structural faults are never retried, with one exception: a page that ended its worker is tried once more, alone in
a fresh worker, since the fault may not have been its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.models.document import Strikes
from engine.models.outcome import FailureClass, Reason
from engine.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to try again, by the settings in force."""

    random: Callable[[], float]
    """Uniform between 0 and 1."""
    settings: Callable[[], Settings]

    @property
    def killer_attempts(self) -> int:
        """Tries, in all, of a page that ended its worker."""
        return self.settings().worker.max_attempts

    def is_fatal(self, strikes: Strikes) -> bool:
        """Whether something ended the whole application so often that it must not be tried again."""
        return strikes.deaths >= self.killer_attempts

    def delay_s(self, reason: Reason, attempt: int, *, lost: bool = False, passing: bool = False) -> float | None:
        """Return after how many seconds to try again, or None when this was the last try.

        The delay before try n + 1 is drawn from the upper half of `first_delay_s x 2^(n - 1)`, capped
        ("equal jitter", see the AWS Architecture Blog, "Exponential Backoff And Jitter").

        Args:
            reason: Why the try failed.
            attempt: Which try failed, from 1.
            lost: Whether the try ended its worker.
            passing: Whether what failed is known to have passed, whatever the reason's class says.
        """
        if lost:
            return 0.0 if attempt < self.killer_attempts else None
        if reason.failure_class is not FailureClass.TRANSIENT and not passing:
            return None
        limits = self.settings().retry
        if attempt >= (self.killer_attempts if reason.ends_worker else limits.attempts):
            return None
        # The exponent is bounded, too: 2.0 ** 1100 is an error.
        ceiling_s = min(limits.max_delay_s, limits.first_delay_s * 2.0 ** min(attempt - 1, 64))
        return ceiling_s * (0.5 + self.random() / 2)
