"""Office prose for the sample batch: letters, minutes, inspection reports and ledgers of a town that does not exist.

Covers English text, page by page, as lines that fit on a page; the same seed gives the same text. Other scripts are
in `translations`, and which document holds what is in `documents`.
"""

import random
import re
import textwrap
from collections.abc import Iterator, Sequence

Lines = tuple[str, ...]
"""The lines of one page, from top to bottom."""

LINES_PER_PAGE = 52
_WIDTH = 88

_PLACES = (
    *("Mill Lane", "the harbour bridge", "Station Road", "the north reservoir", "Quarry Hill", "the old customs house"),
    *("the market hall", "Ferry Steps", "the pumping station", "Abbot's Meadow", "the library annexe", "Lock Cottage"),
)
_ASSETS = (
    *("culvert", "retaining wall", "water main", "footbridge", "boiler", "sluice", "roof", "street lighting"),
    *("fire alarm", "drainage channel", "weighbridge", "lift", "boundary fence", "switchboard"),
)
_STATES = (
    *("sound", "in fair order", "worn, but safe", "cracked along its whole length", "dry and clean"),
    *("in need of paint", "beyond economic repair", "as it was described in the previous report"),
)
_WORKS = (
    *("new bearings", "a fresh coat of bitumen", "a full survey", "minor repairs", "two additional gauges"),
    *("clearing by hand", "replacement of its seals", "a temporary prop"),
)
_ACTIONS = (
    *("obtain three quotations", "write to the owner", "defer the decision", "accept the lowest tender"),
    *("close the path at night", "publish the figures", "return the deposit", "repeat the measurement"),
)
_OFFICES = ("The clerk", "The surveyor", "The treasurer", "The harbour master", "The chair", "The engineer")
_FUNDS = ("maintenance", "flood relief", "general", "harbour", "buildings", "contingency")
_PAPERS = ("drawing", "invoice", "schedule of rates", "site plan", "licence", "correspondence", "photographic record")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_NAMES = ("A. Thornwick", "B. Marlpit", "C. Underhay", "D. Osterby", "E. Falconridge", "F. Quillter", "G. Pennarow")
_SENTENCES = (
    "The {asset} at {place} was inspected on {day} and found {state}.",
    "{office} reported that the {asset} would need {work} before the end of {month}.",
    "It was agreed to {action} and to report to the meeting in {month}.",
    "The cost is estimated at {amount} and can be met from the {fund} fund.",
    "Residents near {place} had asked how long the {asset} would stay out of use.",
    "No objection was raised, and the matter was closed.",
    "A copy of the {paper} is attached as annex {number}.",
    "Between {day} and {day} the level at {place} did not exceed {number} centimetres.",
    "{office} was asked to {action}, and to keep the {paper} with the file.",
    "The contractor had finished {work} for the {asset}, but the invoice had not yet come in.",
    "Whether {place} should be included was left to the committee for the {fund} fund.",
    "Of the {number} samples taken at {place}, all but two were within the limits.",
    "An amount of {amount} was carried over, since {work} had been delayed by frost.",
    "The {paper} shows the {asset} {state}, which agrees with what was seen on {day}.",
)
_SLOT = re.compile(r"\{(\w+)\}")
_FILLINGS = {
    "asset": _ASSETS,
    "place": _PLACES,
    "state": _STATES,
    "office": _OFFICES,
    "work": _WORKS,
    "month": _MONTHS,
    "action": _ACTIONS,
    "fund": _FUNDS,
    "paper": _PAPERS,
}
_LEDGER = "{:<6}{:<14}{:<30}{:>10}{:>14}{:>14}"


class Prose:
    """Writes one document's worth of text after another.

    Args:
        seed: Names the document; another seed gives another text.
    """

    def __init__(self, seed: str) -> None:
        self._dice = random.Random(seed)  # noqa: S311  # repeatable filler, nothing secret
        self._year = self._dice.randrange(1996, 2020)
        self._balance_cents = self._dice.randrange(1_000_000, 9_000_000)

    def letter(self, pages: int) -> Iterator[Lines]:
        """Write a letter."""
        opening = [
            *("TOWN OF ELLERMERE", "Office of the Clerk", ""),
            f"{self._day()}{self._reference('EL'):>60}",
            *("", f"To {self._pick(_NAMES)}", f"{self._dice.randrange(1, 90)} {self._pick(_PLACES[:1])}", ""),
            *(f"Re: {self._pick(_ASSETS)} at {self._pick(_PLACES)}", "", "Dear resident,", ""),
        ]
        for page in range(1, pages + 1):
            head = opening if page == 1 else [f"- {page} -", ""]
            foot = ["", "Yours faithfully,", "", self._pick(_NAMES), "for the clerk"] if page == pages else []
            yield self._page(head, foot, paragraphs=3 if pages == 1 else None)

    def minutes(self, pages: int) -> Iterator[Lines]:
        """Write the minutes of a meeting."""
        title, item = f"Works and Water Committee, minutes of {self._day()}", 0
        for page in range(1, pages + 1):
            lines = [title, f"Page {page} of {pages}", ""]
            if page == 1:
                present = ", ".join(sorted(self._dice.sample(_NAMES, 4)))
                lines += ["Present: " + present, f"Apologies: {self._pick(_NAMES)}", ""]
            while len(lines) < LINES_PER_PAGE - 9:
                item += 1
                lines += [f"{item}. {self._pick(_ASSETS).capitalize()}, {self._pick(_PLACES)}"]
                lines += [*self._paragraph(3), ""]
            yield tuple(lines)

    def inspection(self, pages: int) -> Iterator[Lines]:
        """Write an inspection report, one object a page."""
        reference = self._reference("INS")
        for page in range(1, pages + 1):
            head = [
                f"INSPECTION REPORT {reference}, sheet {page} of {pages}",
                "",
                f"Object:     {self._pick(_ASSETS)}",
                f"Place:      {self._pick(_PLACES)}",
                f"Date:       {self._day()}",
                f"Inspector:  {self._pick(_NAMES)}",
                f"Condition:  {self._pick(_STATES)}",
                f"Next visit: {self._pick(_MONTHS)} {self._year + 2}",
                *("", "Findings", ""),
            ]
            yield self._page(head, [], paragraphs=4)

    def ledger(self, pages: int) -> Iterator[Lines]:
        """Write a table of payments; a page's last line is carried over to the next one."""
        for page in range(1, pages + 1):
            lines = [f"LEDGER {self._year}, {self._pick(_FUNDS)} fund, page {page} of {pages}", ""]
            lines += [_LEDGER.format("No.", "Date", "Purpose", "Voucher", "Amount", "Balance"), "-" * _WIDTH]
            lines.append(_LEDGER.format("", "", "Carried over", "", "", _money(self._balance_cents)))
            for row in range(1, 41):
                amount_cents = self._dice.randrange(-90_000, 70_000)
                self._balance_cents += amount_cents
                purpose = f"{self._pick(_ASSETS)}, {self._pick(_FUNDS)}"
                voucher = f"V{self._dice.randrange(10_000):04d}"
                number = f"{(page - 1) * 40 + row}"
                money = (_money(amount_cents), _money(self._balance_cents))
                lines.append(_LEDGER.format(number, self._short_day(), purpose[:29], voucher, *money))
            yield (*lines, "-" * _WIDTH)

    def review(self, title: str, pages: int) -> Iterator[Lines]:
        """Write a long report in chapters of ten pages."""
        for page in range(1, pages + 1):
            chapter, section = divmod(page - 1, 10)
            head = [f"{title:<{_WIDTH - 12}}{page:>12}", "", f"{chapter + 1}.{section + 1} {self._pick(_PLACES)}", ""]
            yield self._page(head, [])

    def notice(self, text: str) -> Lines:
        """Write one short page around a given sentence."""
        return ("TOWN OF ELLERMERE", "", *textwrap.wrap(text, _WIDTH), "", *self._paragraph(2))

    def _page(self, head: Sequence[str], foot: Sequence[str], paragraphs: int | None = None) -> Lines:
        lines, room = list(head), LINES_PER_PAGE - len(foot) - 6
        while len(lines) < room and paragraphs != 0:
            lines += [*self._paragraph(self._dice.randrange(2, 5)), ""]
            paragraphs = None if paragraphs is None else paragraphs - 1
        return (*lines, *foot)

    def _paragraph(self, sentences: int) -> list[str]:
        return textwrap.wrap(" ".join(self._sentence() for _ in range(sentences)), _WIDTH)

    def _sentence(self) -> str:
        sentence = _SLOT.sub(lambda slot: self._filling(slot[1]), self._pick(_SENTENCES))
        return sentence[0].upper() + sentence[1:]

    def _filling(self, slot: str) -> str:
        match slot:
            case "day":
                return self._day()
            case "amount":
                return f"EUR {_money(self._dice.randrange(5_000, 4_000_000))}"
            case "number":
                return str(self._dice.randrange(3, 60))
        return self._pick(_FILLINGS[slot])

    def _day(self) -> str:
        return f"{self._dice.randrange(1, 29)} {self._pick(_MONTHS)} {self._year}"

    def _short_day(self) -> str:
        return f"{self._year}-{self._dice.randrange(1, 13):02d}-{self._dice.randrange(1, 29):02d}"

    def _reference(self, prefix: str) -> str:
        return f"{prefix}/{self._year}/{self._dice.randrange(10_000):04d}"

    def _pick(self, words: Sequence[str]) -> str:
        return self._dice.choice(words)


def _money(cents: int) -> str:
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100:,}.{cents % 100:02d}"
