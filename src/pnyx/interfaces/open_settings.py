"""What every interface opens first: the settings in force, checked against what is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import protocols
from ..config.load import load, protocol_problems
from ..config.schema import Settings
from ..errors import PnyxError, UsageError
from ..providers.catalogue import Catalogue, parse_seats
from ..providers.installed import problems

__all__ = ["open_settings"]


def open_settings(overrides: Mapping[str, Any] = {}, *, panel: bool = False) -> Settings:
    """The settings, `overrides` on top. panel: hold its seats against them too, though they may not be asked.

    Raises `ConfigError` with every problem found.
    """
    checks = (_options, problems, _seats) if panel else (_options, problems)
    return load(overrides=overrides, options_of=_options_of, checks=checks)


def _options_of(protocol: str) -> Iterable[str]:
    try:
        return protocols.get(protocol).options
    except PnyxError:
        # That it does not load is told to whoever asks for it.
        return ()


def _options(settings: Settings) -> Iterator[str]:
    yield from protocol_problems(settings, {name: protocols.get(name) for name in settings.protocols})


def _seats(settings: Settings) -> Iterator[str]:
    where = f"panel.seats in {settings.origin('panel', 'seats')}"
    catalogue, seats = Catalogue(settings), settings.panel.seats
    # Each by itself, and then their number, which is told again for one that is wrong by itself.
    for group in (*((seat,) for seat in seats), seats):
        try:
            for ref in parse_seats(group):
                catalogue.describe_seat(ref)
        except UsageError as exc:
            yield f"{where}: {exc}"
