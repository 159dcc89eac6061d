"""What seats do in a debate: take a position that answers the others, and vote once it is stuck."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from ...core.models import Seat
from ...core.parsing.positions import Position, position_form
from ...errors import SeatAbsent
from ...prompts import load
from .debate import Debate
from .positions import AnswerGroups, StatedAnswer
from .transcript import quoted
from .verdict import UnreadableVerdict, Verdict, ask_verdict

__all__ = ["take_position", "vote_again"]

VOTE = load("deliberate/vote")
TURN, OWN, NO_POSITION = (load(f"deliberate/{name}") for name in ("position", "own", "none"))


async def take_position(
    groups: AnswerGroups, debate: Debate, shown: Mapping[str, str], seat: Seat
) -> StatedAnswer:
    """Ask `seat` for its position. shown: the label in the transcript of each seat's last position."""
    previous = debate.last_positions.get(seat.label)
    own = OWN(position=shown[seat.label]) if previous else NO_POSITION()
    others = [label for author, label in shown.items() if author != seat.label]
    task = TURN(label=seat.label, own=own, others=quoted(others))
    draft = groups.transcript.task(task, list(shown.values()))
    verdict: Verdict[Position] | None = None
    with suppress(UnreadableVerdict):
        form = position_form(groups.transcript.question)
        verdict = await ask_verdict(groups.panel, seat, draft, form)
    if verdict is None or verdict.reply.truncated:
        if previous is None:
            raise SeatAbsent(f"{seat.label} has taken no position yet")
        return replace(previous, repeated=True)
    return StatedAnswer.of_position(seat, verdict.value, groups.transcript.question)


async def vote_again(groups: AnswerGroups, debate: Debate) -> Sequence[StatedAnswer]:
    """Return the votes of the seats, which each read the whole debate."""
    panel, transcript = groups.panel, groups.transcript
    everything = partial(transcript.task, needed=transcript.labels)
    asks = [panel.ask(seat, everything(VOTE(label=seat.label))) for seat in panel.seats]
    votes = [vote for vote in await panel.all(asks, quorum=0) if not vote.truncated]
    last = [one for label, one in debate.last_positions.items() if label in {s.label for s in panel.seats}]
    stated = [StatedAnswer.of(vote, transcript.question) for vote in votes]
    return await groups.assign(stated) or last or debate.first_answers
