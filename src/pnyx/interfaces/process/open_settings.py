"""The settings, checked against the installed protocols and providers. Every interface loads them here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ... import protocols
from ...config.layers import dotted
from ...config.load import load, phase_problems, protocol_problems
from ...config.schema import Settings
from ...core.protocol import Option
from ...errors import PnyxError, UsageError
from ...providers.catalogue import Catalogue, parse_seats
from ...providers.installed import problems
from ..access.permissions import limit_problems

__all__ = ["open_settings", "panel_problems"]


def open_settings(overrides: Mapping[str, Any] = {}, *, panel: bool = False) -> Settings:
    """Load the settings, with `overrides` applied last.

    panel: also check that its seats, and those of saved panels, are known.
    Raises `ConfigError` with every problem found.
    """
    checks = (_options, problems, limit_problems, *((panel_problems,) if panel else ()))
    return load(overrides=overrides, options_of=_options_of, checks=checks)


def _options_of(protocol: str) -> Mapping[str, Option]:
    try:
        return protocols.get(protocol).options
    except PnyxError:
        # A run with this protocol reports why it does not load.
        return {}


def _options(settings: Settings) -> Iterator[str]:
    yield from protocol_problems(settings, {name: protocols.get(name) for name in settings.protocols})
    if settings.run.phases:  # else no protocol needs to be loaded
        yield from phase_problems(settings, protocols.loaded())


def panel_problems(settings: Settings) -> Iterator[str]:
    """Yield what is wrong with the seats of the default panel and with saved panels."""
    yield from _seats(settings)
    yield from _saved_panels(settings)


def _seats(settings: Settings) -> Iterator[str]:
    where = f"panel.seats in {settings.place('panel', 'seats')}"
    catalogue, seats = Catalogue(settings), settings.panel.seats
    # First each seat alone, then all together, which checks their number.
    for group in (*((seat,) for seat in seats), seats):
        try:
            for ref in parse_seats(group):
                catalogue.describe_seat(ref)
        except UsageError as exc:
            yield f"{where}: {exc}"


def _saved_panels(settings: Settings) -> Iterator[str]:
    # Start-up time: most commands resolve no request.
    from ...run.options.request import RunRequest
    from ...run.options.resolve import resolve

    for name, panel in settings.panels.items():
        if _is_wrong(settings, panel.protocol or settings.run.protocol):
            continue  # reported where it stands
        try:
            resolve(RunRequest(question="?", panel=name), settings)
        except UsageError as exc:
            yield f"{dotted(['panels', name])} in {settings.place('panels', name)}: {exc}"


def _is_wrong(settings: Settings, protocol: str) -> bool:
    """Whether the default protocol is unknown, or the table of `protocol` has a problem."""
    if protocol == settings.run.protocol and protocol not in protocols.names():
        return True
    table = {name: options for name, options in settings.protocols.items() if name == protocol}
    if not table:
        return False
    alone = settings.model_copy(update={"protocols": table})
    return any(protocol_problems(alone, {protocol: protocols.get(protocol)}))
