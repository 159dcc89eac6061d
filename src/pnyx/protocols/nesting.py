"""What protocols that run others share."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.models import Seat
from ..errors import ConfigError
from . import get

__all__ = ["calls_of"]


def calls_of(names: Iterable[str], seats: tuple[Seat, ...]) -> tuple[int, int]:
    """The least and the most calls of any of the protocols `names`, with their default options."""
    pages = [get(name) for name in names]
    silent = [page.name for page in pages if page.calls is None]
    if silent:
        raise ConfigError(f"{', '.join(silent)} does not tell how many calls it takes")
    bounds = [page.calls(seats, page.settle({})) for page in pages if page.calls is not None]
    return min(least for least, _ in bounds), max(most for _, most in bounds)
