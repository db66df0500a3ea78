"""Which failures are tried again, how often and how long after: exponential backoff with jitter and a cap.

Structural faults are never retried, with one exception: a page that ended its worker is tried once more, alone in
a fresh worker, since the fault may not have been its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from engine.models.outcome import FailureClass, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When to try again."""

    random: Callable[[], float]
    """Uniform between 0 and 1."""
    killer_attempts: int = 2
    """Tries, in all, of a page that ended its worker."""
    transient_attempts: int = 4
    """Tries, in all, where the circumstances failed."""
    first_delay_s: float = 0.5
    max_delay_s: float = 30.0

    def delay_s(self, reason: Reason, attempt: int, *, lost: bool) -> float | None:
        """Return after how many seconds to try again, or None when this was the last try.

        The delay before try n + 1 is drawn from the upper half of `first_delay_s x 2^(n - 1)`, capped
        ("equal jitter", see the AWS Architecture Blog, "Exponential Backoff And Jitter").

        Args:
            reason: Why the try failed.
            attempt: Which try failed, from 1.
            lost: Whether the try ended its worker.
        """
        if lost:
            return 0.0 if attempt < self.killer_attempts else None
        if reason.failure_class is not FailureClass.TRANSIENT:
            return None
        attempts = self.killer_attempts if reason.ends_worker else self.transient_attempts
        if attempt >= attempts:
            return None
        ceiling = min(self.max_delay_s, self.first_delay_s * 2.0 ** (attempt - 1))
        return ceiling * (0.5 + self.random() / 2)
