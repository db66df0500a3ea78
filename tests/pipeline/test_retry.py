"""The retry policy: what is tried again, how often, and how long after."""

import pytest

from engine.models.outcome import FailureClass, Reason
from engine.pipeline.retry import RetryPolicy
from engine.settings import RetryLimits, Settings


def policy(random: float = 0.5) -> RetryPolicy:
    """Return a policy whose dice always fall alike."""
    return RetryPolicy(random=lambda: random, settings=Settings)


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason.failure_class is FailureClass.STRUCTURAL])
def test_structural_faults_are_not_retried(reason: Reason) -> None:
    """What would fail again goes straight to the dead letters."""
    assert policy().delay_s(reason, 1) is None


@pytest.mark.parametrize("reason", [Reason.WORKER_CRASHED, Reason.TIME_LIMIT, Reason.MEMORY_LIMIT])
def test_a_page_that_ended_its_worker_is_tried_exactly_once_more(reason: Reason) -> None:
    """The second strike is the last."""
    assert policy().delay_s(reason, 1, lost=True) == 0.0
    assert policy().delay_s(reason, 2, lost=True) is None


def test_delays_grow_and_are_capped() -> None:
    """Each try waits longer than the one before, up to the cap."""
    settings = Settings(retry=RetryLimits(attempts=12, first_delay_s=0.5, max_delay_s=8.0))
    many = RetryPolicy(random=lambda: 1.0, settings=lambda: settings)
    delays = [many.delay_s(Reason.READ_FAILED, attempt) for attempt in range(1, 12)]
    assert delays[:4] == [0.5, 1.0, 2.0, 4.0]
    assert delays[-1] == 8.0
    assert many.delay_s(Reason.READ_FAILED, 12) is None


@pytest.mark.parametrize(("random", "delay_s"), [(0.0, 0.25), (1.0, 0.5)])
def test_jitter_draws_from_the_upper_half(random: float, delay_s: float) -> None:
    """Retries of many pages do not all come at the same moment."""
    assert policy(random).delay_s(Reason.READ_FAILED, 1) == delay_s


def test_out_of_memory_is_tried_once_more() -> None:
    """A page for which memory was short gets one more try."""
    assert policy().delay_s(Reason.OUT_OF_MEMORY, 1) is not None
    assert policy().delay_s(Reason.OUT_OF_MEMORY, 2) is None
