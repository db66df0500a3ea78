"""The record of starts: patience with a few failures and with a system that refuses, an end to many, a fresh start."""

import errno

import pytest

from engine.work.starts import PATIENCE_S, StartFault, StartRecord, trouble

REFUSED = StartFault.of(OSError(errno.EAGAIN, "Resource temporarily unavailable"))


def broken(words: str = "x") -> StartFault:
    """Return a fault that will be there again."""
    return StartFault(words=words)


def test_pauses_grow_and_stay_bounded() -> None:
    """After each failure the next start waits longer, up to five seconds, however many there were."""
    record = StartRecord()
    assert record.allows(-1e9)
    for now_s, pause_s in ((0.0, 0.1), (10.0, 0.2), (20.0, 0.4), (30.0, 0.8), (40.0, 1.6), (50.0, 3.2), (60.0, 5.0)):
        assert record.failed(broken(), now_s, most=100) == ""
        assert not record.allows(now_s + pause_s - 0.01)
        assert record.allows(now_s + pause_s)
    for _ in range(2000):
        record.failed(REFUSED, 70.0, most=100)
    assert record.allows(75.0)


def test_one_failure_too_many_is_a_sentence() -> None:
    """The sentence says how many, why the last one, and what to do; a success in between starts the count anew."""
    record = StartRecord()
    assert record.failed(broken("first"), 0.0, most=2) == ""
    assert record.failed(broken("second"), 0.0, most=2) == ""
    record.succeeded()
    assert record.allows(0.0)
    assert record.failed(broken("third"), 0.0, most=2) == ""
    assert record.failed(broken("fourth"), 0.0, most=2) == ""
    sentence = record.failed(broken("fifth"), 0.0, most=2)
    assert "3 attempts in a row failed (the last one: fifth)" in sentence


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_system_that_refuses_is_asked_again_for_minutes(number: int) -> None:
    """Any number of refusals is bearable for as long as the patience lasts; then it is one sentence."""
    record = StartRecord()
    fault = StartFault.of(OSError(number, "no"))
    for tick in range(int(PATIENCE_S) + 1):
        assert record.failed(fault, float(tick), most=2) == ""
    assert "the system refused: no" in record.failed(fault, PATIENCE_S + 1.0, most=2)


def test_a_missing_program_is_not_waited_for() -> None:
    """What is not there will not be there in a minute."""
    record = StartRecord()
    fault = StartFault.of(FileNotFoundError(errno.ENOENT, "No such file or directory"))
    assert record.failed(fault, 0.0, most=1) == ""
    assert "No such file" in record.failed(fault, 1.0, most=1)


def test_a_gap_without_tries_is_no_patience_lost() -> None:
    """After hours of sleep it takes as many failures as ever: the time alone ends nothing."""
    record = StartRecord()
    assert record.failed(REFUSED, 0.0, most=3) == ""
    for hours in (1, 2):
        assert record.failed(REFUSED, hours * 3600.0, most=3) == ""


def test_with_other_workers_alive_nothing_ends() -> None:
    """However long the system refuses, fewer are better than none; the patience begins when the last one is gone."""
    record = StartRecord()
    for hours in range(10):
        assert record.failed(REFUSED, hours * 3600.0, most=1, others=True) == ""
    assert record.failed(REFUSED, 9 * 3600.0 + PATIENCE_S, most=1) == ""
    assert record.failed(REFUSED, 9 * 3600.0 + PATIENCE_S + 1.0, most=1)


def test_the_sentence_for_fewer_workers_says_how_many_and_why() -> None:
    """Nothing is said while nothing is refused, or while all are there all the same."""
    record = StartRecord()
    assert trouble(record.refusal, 0, 4) == ""
    record.failed(REFUSED, 0.0, most=2)
    assert trouble(record.refusal, 0, 4) == (
        "No worker process can be started at the moment (the system refused: Resource temporarily unavailable). The "
        "run waits and tries again. End other programs, or raise the limits for processes, open files or memory."
    )
    assert trouble(record.refusal, 1, 4).startswith("Only 1 of 4 worker processes could be started (the system refused")
    assert trouble(record.refusal, 4, 4) == ""
    record.succeeded()
    assert trouble(record.refusal, 0, 4) == ""
