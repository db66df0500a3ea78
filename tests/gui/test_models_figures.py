"""Numbers as people read them."""

import pytest

from gui.models.figures import clock, count, counted, duration, rate, rough_duration, size, slope

MIB = 1024 * 1024


def _plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_counts_set_thousands_apart_and_know_one_from_many() -> None:
    """A count is readable at a million, and its noun agrees with it."""
    assert count(1_204_000) == "1,204,000"
    assert _plain(counted(1, "page")) == "1 page"
    assert _plain(counted(0, "page")) == "0 pages"
    assert _plain(counted(2, "entry", "entries")) == "2 entries"


@pytest.mark.parametrize(
    ("number_bytes", "shown"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1.0 KB"),
        (212 * MIB, "212 MB"),
        (1023.6 * MIB, "1.0 GB"),
        (5.2 * 1024 * MIB, "5.2 GB"),
        (5000 * 1024**4, "5,000 TB"),
        (-5, "0 bytes"),
    ],
)
def test_sizes_have_the_unit_that_suits_them(number_bytes: float, shown: str) -> None:
    """A size never shows 1,024 of a unit that has a larger one, and never falls below 0."""
    assert _plain(size(number_bytes)) == shown


def test_rates_keep_a_digit_where_it_matters() -> None:
    """Slow rates keep their decimals; fast ones lose them."""
    assert [_plain(rate(value)) for value in (0, 0.04, 1, 12.44, 1234.5)] == [
        "0.0 pages/s",
        "0.04 pages/s",
        "1.0 pages/s",
        "12.4 pages/s",
        "1,234 pages/s",
    ]


def test_times_are_shown_as_a_clock_and_in_words() -> None:
    """The clock shows hours only where there are any; words use the two largest units."""
    assert [clock(value) for value in (-1, 0, 65, 3600 + 65)] == ["0:00", "0:00", "1:05", "1:01:05"]
    assert [_plain(duration(value)) for value in (0, 59.6, 272, 3 * 3600 + 12 * 60 + 5, 90000)] == [
        "0 s",
        "1 min",
        "4 min 32 s",
        "3 h 12 min",
        "1 d 1 h",
    ]


def test_a_forecast_is_no_finer_than_it_deserves() -> None:
    """A forecast comes in steps of ten seconds, then minutes, then ten minutes."""
    assert [_plain(rough_duration(value)) for value in (0.1, 23, 58, 272, 7000)] == [
        "10 s",
        "20 s",
        "1 min",
        "5 min",
        "2 h",
    ]


def test_a_small_slope_is_called_level() -> None:
    """Memory that breathes is level; what moves says in which direction."""
    assert slope(None) == "slope not known yet"
    assert slope(1000.0) == slope(-1000.0) == "level since warm-up"
    assert _plain(slope(1.0 * MIB)) == "rising by 60 MB a minute since warm-up"
    assert _plain(slope(-1.0 * MIB)) == "falling by 60 MB a minute since warm-up"
