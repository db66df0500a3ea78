"""The record of starts: patience with a few failures, an end to many, and a fresh start after a success."""

from engine.work.starts import StartRecord


def test_pauses_grow_and_stay_bounded() -> None:
    """After each failure the next start waits longer, up to five seconds."""
    record = StartRecord()
    assert record.allows(-1e9)
    for now_s, pause_s in ((0.0, 0.1), (10.0, 0.2), (20.0, 0.4), (30.0, 0.8), (40.0, 1.6), (50.0, 3.2), (60.0, 5.0)):
        assert record.failed("x", now_s, most=100) == ""
        assert not record.allows(now_s + pause_s - 0.01)
        assert record.allows(now_s + pause_s)


def test_one_failure_too_many_is_a_sentence() -> None:
    """The sentence says how many, why the last one, and what to do; a success in between starts the count anew."""
    record = StartRecord()
    assert record.failed("first", 0.0, most=2) == ""
    assert record.failed("second", 0.0, most=2) == ""
    record.succeeded()
    assert record.allows(0.0)
    assert record.failed("third", 0.0, most=2) == ""
    assert record.failed("fourth", 0.0, most=2) == ""
    sentence = record.failed("fifth", 0.0, most=2)
    assert "3 attempts in a row failed (the last one: fifth)" in sentence
