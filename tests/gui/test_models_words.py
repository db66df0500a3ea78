"""Every closed word of the engine has its words for people."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest

from engine import FailureClass, HoldCause, Method, Outcome, Reason, RowState, RunState, SkipReason
from gui.models.failure_words import CLASS_SENTENCES, CLASSES, REASONS, SKIPS, explain
from gui.models.words import HOLDS, METHODS, OUTCOMES, ROW_STATE_SENTENCES, ROW_STATES, RUN_STATES, Explanation

EXPLAINED: list[tuple[type[Enum], Mapping[Any, Explanation]]] = [
    (Outcome, OUTCOMES),
    (HoldCause, HOLDS),
    (RunState, RUN_STATES),
    (Reason, REASONS),
    (SkipReason, SKIPS),
]
NAMED: list[tuple[type[Enum], Mapping[Any, str]]] = [
    (Method, METHODS),
    (RowState, ROW_STATES),
    (RowState, ROW_STATE_SENTENCES),
    (FailureClass, CLASSES),
    (FailureClass, CLASS_SENTENCES),
]


@pytest.mark.parametrize(("words", "explanations"), EXPLAINED)
def test_every_word_says_what_happened_what_it_means_and_what_to_do(
    words: type[Enum], explanations: Mapping[Any, Explanation]
) -> None:
    """No word of the engine is left without its three sentences, each of which ends like one."""
    assert set(explanations) == set(words)
    for explanation in explanations.values():
        assert 0 < len(explanation.short) <= 26
        for sentence in (explanation.happened, explanation.meaning, explanation.advice):
            assert sentence[0].isupper()
            assert sentence.endswith(".")
        assert explanation.text.count(". ") >= 2


@pytest.mark.parametrize(("words", "names"), NAMED)
def test_every_other_word_has_a_name(words: type[Enum], names: Mapping[Any, str]) -> None:
    """Methods, states of rows and failure classes all have words, and no two have the same."""
    assert set(names) == set(words)
    assert len(set(names.values())) == len(names)


def test_reasons_and_files_left_out_are_told_apart() -> None:
    """No two reasons look alike in a table."""
    shorts = [explanation.short for explanation in (*REASONS.values(), *SKIPS.values())]
    assert len(set(shorts)) == len(shorts)
    assert explain(Reason.ENCRYPTED) is REASONS[Reason.ENCRYPTED]
    assert explain(SkipReason.FIFO) is SKIPS[SkipReason.FIFO]
