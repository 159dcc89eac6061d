"""The roles of seats: `--roles NAME` assigns one to every seat."""

from __future__ import annotations

from collections.abc import Callable, Sized

from ..errors import UsageError

__all__ = ["NAMES", "assign"]

SKEPTIC = (
    "skeptic. Doubt first: look for the false premise, the unchecked number, the case that breaks the claim. "
    "Accept only what stands after you have tried to break it."
)
ADVOCATE = (
    "advocate. Make the strongest honest case for the most promising position, and see to it that a good "
    "idea is not lost because it was put badly. Concede what has been refuted."
)
PRAGMATIST = (
    "pragmatist. Ask what happens when this is done: what it costs, who does it, what fails first, what is "
    "good enough. Prefer what works and can be undone to what is perfect on paper."
)
_CASTS: dict[str, Callable[[int], str]] = {
    "diverse": lambda place: (SKEPTIC, ADVOCATE, PRAGMATIST)[place % 3],
    "redteam": lambda place: SKEPTIC if place else ADVOCATE,
}
NAMES = tuple(_CASTS)


def assign(name: str, seats: Sized) -> tuple[str, ...]:
    """The role text for each of `seats`, in order.

    "diverse" assigns skeptic, advocate and pragmatist in turn; "redteam" makes the first seat the only
    advocate and the rest skeptics. Raises `UsageError` for another name.
    """
    if name not in _CASTS:
        raise UsageError(f"unknown roles {name!r}; choose one of: {', '.join(NAMES)}")
    return tuple(map(_CASTS[name], range(len(seats))))
