"""The limits: edited by keyboard, refused in place, applied once, and never overwritten while being edited."""

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from engine import FlowLimits, SettingsError
from gui.views.knobs import BURST, KNOBS, RATE
from gui.views.limits_panel import LimitsPanel
from tests.support.window_records import LIMITS
from tests.support.windows import Show


@pytest.fixture
def panel(show: Show) -> LimitsPanel:
    """Return a panel on screen with limits in force."""
    made = show(LimitsPanel(), 330, 620)
    made.show_limits(LIMITS)
    return made


def _applied(panel: LimitsPanel) -> list[FlowLimits]:
    applied: list[FlowLimits] = []
    panel.applied.connect(applied.append)
    return applied


def _sentences(panel: LimitsPanel) -> dict[str, str]:
    return {field: notice.text() for field, notice in panel.notices.items() if notice.isVisible()}


def test_every_knob_of_the_flow_can_be_turned(panel: LimitsPanel) -> None:
    """No limit is left out, and each field has a name, a unit and an explanation for a screen reader."""
    fields = {knob.field for knob in (*KNOBS, RATE, BURST)}
    assert fields == {field.name for field in FlowLimits.__dataclass_fields__.values()}
    for knob in (*KNOBS, BURST):
        box = panel.boxes[knob.field]
        assert box.value() == getattr(LIMITS, knob.field)
        assert knob.unit in box.accessibleName()
        assert box.accessibleDescription() == knob.explanation
    assert not panel.apply_button.isEnabled()


def test_a_change_is_applied_by_return_and_only_once(panel: LimitsPanel) -> None:
    """Return in a field applies what is typed in; a second Return has nothing to apply."""
    applied = _applied(panel)
    box = panel.boxes["workers"]
    box.setFocus()
    box.selectAll()
    QTest.keyClicks(box, "3")
    assert panel.edited
    assert panel.apply_button.isEnabled()
    QTest.keyClick(box, Qt.Key.Key_Return)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert [limits.workers for limits in applied] == [3]
    assert not panel.edited
    assert "audit log" in panel.answer.text()


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("hi", 300, "above the queue's size"),
        ("lo", 192, "must be below the high mark"),
        ("permits", 192, "do not exceed the high mark"),
        ("workers", 0, "at least 1"),
        ("workers", 257, "more than the 256"),
        ("max_queue", 100, "above the queue's size"),
        ("burst", 0, "The burst is 0"),
    ],
)
def test_an_impossible_value_is_refused_in_place(panel: LimitsPanel, field: str, value: int, part: str) -> None:
    """The engine's own sentence stands below the field that was changed, and nothing can be applied."""
    applied = _applied(panel)
    panel.rate_switch.setChecked(True)
    panel.boxes[field].setValue(value)
    assert list(_sentences(panel)) == [field]
    assert part in _sentences(panel)[field]
    assert panel.notices[field].accessibleName() == panel.notices[field].text()
    assert part in panel.boxes[field].accessibleDescription()
    assert panel.candidate is None
    assert not panel.apply_button.isEnabled()
    panel.apply()
    assert applied == []
    panel.boxes[field].setValue(getattr(LIMITS, field))
    assert _sentences(panel) == {}
    assert part not in panel.boxes[field].accessibleDescription()


def test_the_refusal_is_the_engines_own(panel: LimitsPanel) -> None:
    """The sentence is not written a second time: it is the one of the settings."""
    panel.boxes["hi"].setValue(300)
    with pytest.raises(SettingsError) as refused:
        FlowLimits(workers=2, span_pages=16, max_queue=256, hi=300, lo=64, permits=288)
    assert _sentences(panel) == {"hi": refused.value.user_message}


def test_the_rate_is_switched_on_and_off(panel: LimitsPanel) -> None:
    """Without the switch there is no limit of the rate; with it, rate and burst count, and a rate of 0 is refused."""
    applied = _applied(panel)
    assert not panel.rate_box.isEnabled()
    assert not panel.boxes["burst"].isEnabled()
    panel.rate_switch.setChecked(True)
    panel.rate_box.setValue(7.5)
    panel.apply()
    panel.rate_box.setValue(0)
    assert list(_sentences(panel)) == ["rate_per_s"]
    panel.rate_switch.setChecked(False)
    panel.apply()
    assert [limits.rate_per_s for limits in applied] == [7.5, None]


def test_defaults_are_typed_in_and_count_only_when_applied(panel: LimitsPanel) -> None:
    """Back to defaults changes the fields, not the run."""
    panel.show_limits(FlowLimits.build(workers=1, max_queue=32))
    applied = _applied(panel)
    panel.boxes["hi"].setValue(0)
    panel.back_to_defaults()
    assert panel.candidate == FlowLimits.build()
    assert _sentences(panel) == {}
    assert applied == []
    panel.apply()
    assert applied == [FlowLimits.build()]


def test_what_is_being_typed_is_not_overwritten(panel: LimitsPanel) -> None:
    """Limits that come in while a user edits do not change the fields; without an edit they do."""
    panel.boxes["workers"].setValue(5)
    other = FlowLimits.build(workers=7, max_queue=64)
    panel.show_limits(other)
    assert panel.boxes["workers"].value() == 5
    assert panel.in_force == other
    panel.back_to_defaults()
    panel.apply()
    panel.show_limits(other)
    assert panel.boxes["workers"].value() == 7
    assert not panel.edited


def test_a_refusal_from_outside_is_shown(panel: LimitsPanel) -> None:
    """When the session does not take the limits over, its sentence stands in the panel until the next edit."""
    panel.refuse("The run is over.")
    assert panel.answer.isVisible()
    assert panel.answer.property("notice") == "bad"
    panel.boxes["workers"].setValue(5)
    assert not panel.answer.isVisible()


def test_tab_goes_through_the_fields_in_order(panel: LimitsPanel) -> None:
    """The keyboard reaches every field from top to bottom, then the buttons."""
    panel.rate_switch.setChecked(True)
    order: list[Any] = [panel.boxes[knob.field] for knob in KNOBS]
    order += [panel.rate_switch, panel.rate_box, panel.boxes["burst"], panel.defaults_button, panel.apply_button]
    order[0].setFocus()
    for widget in order[:-1]:
        assert panel.focusWidget() is widget
        QTest.keyClick(panel.focusWidget(), Qt.Key.Key_Tab)
    assert panel.focusWidget() is order[-1]
