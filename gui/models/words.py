"""What the engine's closed words mean for people: what happened, what it means for their pages, what to do next.

Covers outcomes, methods, holds, states of a run and of a row; why pages fail and files are left out stands in
`failure_words`. Sentences over a whole snapshot are built in `progress`.
"""

from dataclasses import dataclass

from engine import HoldCause, Method, Outcome, RowState, RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One closed word, explained."""

    short: str
    """A few words, for a table cell or a legend."""
    happened: str
    meaning: str
    advice: str

    @property
    def text(self) -> str:
        """The three sentences."""
        return f"{self.happened} {self.meaning} {self.advice}"


OUTCOMES: dict[Outcome, Explanation] = {
    Outcome.EXTRACTED: Explanation(
        short="Extracted",
        happened="The text was read.",
        meaning="It is stored in the case, together with its audit record.",
        advice="There is nothing to do.",
    ),
    Outcome.DEAD_LETTER: Explanation(
        short="Dead letter",
        happened="It could not be processed.",
        meaning="Its text is missing; the reason and every attempt are recorded.",
        advice="Look it up in the list of dead letters.",
    ),
    Outcome.DUPLICATE: Explanation(
        short="Duplicate",
        happened="The same bytes are already accounted for in this case.",
        meaning="They were not processed a second time; the record names the first document.",
        advice="There is nothing to do.",
    ),
}

METHODS: dict[Method, str] = {
    Method.TEXT: "text of the page",
    Method.OCR: "recognised from a picture",
    Method.BLANK: "blank page",
    Method.NONE: "no text",
}

HOLDS: dict[HoldCause, Explanation] = {
    HoldCause.WATERMARK: Explanation(
        short="queue full",
        happened="The queue reached its high mark.",
        meaning="New pages wait until the workers have drained it to the low mark.",
        advice="This is normal and keeps memory flat; more workers drain it faster.",
    ),
    HoldCause.USER: Explanation(
        short="paused",
        happened="The run was paused by hand.",
        meaning="No page starts; what was in flight is finished and stored.",
        advice="Press Resume to go on.",
    ),
    HoldCause.MEMORY: Explanation(
        short="memory",
        happened="The program and its workers came close to the memory budget.",
        meaning="No page starts until memory is free again; nothing is lost.",
        advice="If this lasts, use fewer workers or close other programs.",
    ),
    HoldCause.DISK: Explanation(
        short="disk",
        happened="The disk of the case file is nearly full.",
        meaning="No page starts, so that everything acknowledged can still be stored.",
        advice="Free some space; the run then goes on by itself.",
    ),
    HoldCause.UPSTREAM: Explanation(
        short="source away",
        happened="The folder with the sources cannot be reached.",
        meaning="No page starts, so that good files are not taken for bad ones.",
        advice="Reconnect the drive or the network; the run then goes on by itself.",
    ),
    HoldCause.STORAGE: Explanation(
        short="case not writable",
        happened="The case file could not be written.",
        meaning="Everything acknowledged is kept, no page counts as failed, and what is in flight waits.",
        advice="Set right what is wrong with the disk, then press Resume.",
    ),
}

RUN_STATES: dict[RunState, Explanation] = {
    RunState.IDLE: Explanation(
        short="Ready",
        happened="Nothing is running.",
        meaning="The case stays as it is.",
        advice="Add a folder, or resume what is pending.",
    ),
    RunState.RUNNING: Explanation(
        short="Running",
        happened="Pages are being read.",
        meaning="Each one counts only when its text and its audit record are stored.",
        advice="You may pause or stop at any time without losing anything.",
    ),
    RunState.PAUSING: Explanation(
        short="Pausing",
        happened="No more pages start.",
        meaning="Those in flight are being finished and stored.",
        advice="Wait a moment, or press Resume.",
    ),
    RunState.PAUSED: Explanation(
        short="Paused",
        happened="Nothing is in flight.",
        meaning="Everything done is stored, and the pause survives a restart.",
        advice="Press Resume to go on.",
    ),
    RunState.STOPPING: Explanation(
        short="Stopping",
        happened="No more pages start.",
        meaning="Those in flight are being finished and stored; the rest stays pending.",
        advice="Wait a moment.",
    ),
    RunState.FINISHED: Explanation(
        short="Finished",
        happened="Everything that was found has its one outcome.",
        meaning="The case reconciles.",
        advice="Look through the dead letters, then export the audit log.",
    ),
    RunState.INCOMPLETE: Explanation(
        short="Incomplete",
        happened="The run ended before everything was done.",
        meaning="What was done is stored; the rest is pending and will not be done twice.",
        advice="Resume to go on.",
    ),
}

ROW_STATES: dict[RowState, str] = {
    RowState.PENDING: "Waiting",
    RowState.OPEN: "In progress",
    RowState.WAITING: "Waiting for its twin",
    RowState.DONE: "Done",
    RowState.SKIPPED: "Left out",
}

ROW_STATE_SENTENCES: dict[RowState, str] = {
    RowState.PENDING: "It was found and not yet looked into.",
    RowState.OPEN: "Its pages are known, and some of them are not done yet.",
    RowState.WAITING: "The same bytes are being processed under another name; that result decides.",
    RowState.DONE: "It has its one outcome.",
    RowState.SKIPPED: "It is no document of this case, for the reason given.",
}
