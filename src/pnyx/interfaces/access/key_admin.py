"""What an operator says of a key in words: limits, and how long it is valid."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pydantic import ValidationError

from ...config.load import NEEDS
from ...config.schema import Settings
from ...config.tables.server import KeyLimits
from ...errors import Unreadable, UsageError
from ...run.options.key_limits import effective_limits, read_limits
from ...similar import nearest
from ...store.keys import StoredKey
from ...times import parse_duration, stamp

__all__ = ["changed_limits", "described", "parse_expiry", "time_after"]

LISTS = frozenset(("aliases", "panels", "protocols", "models"))
UNLIMITED, UNCLEAR = "unlimited", "none"
"""The value that removes a limit, and one that is refused: `models=none` may mean all models or none."""


def time_after(duration: str, option: str, other: str = "") -> str:
    """The time after a duration such as 90m or 30d, from now. Raises `UsageError`.

    option, other: for errors, the name of the option and what else it takes.
    """
    try:
        seconds = parse_duration(duration)
    except ValueError as exc:
        raise UsageError(f"{option}: {exc}{other}") from None
    return stamp(datetime.now(UTC) + timedelta(seconds=seconds))


def parse_expiry(text: str) -> str | None:
    """A time: a duration from now, `now`, or a date (UTC); None for `never`. Raises `UsageError`."""
    if text == "never":
        return None
    if text == "now":
        return stamp(datetime.now(UTC))
    if text[:4].isdecimal() and "-" in text:
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(f"--expires: {text[:40]!r} is no date such as 2027-01-31") from None
        return stamp(time if time.tzinfo else time.replace(tzinfo=UTC))
    return time_after(text, "--expires", "; or give a date such as 2027-01-31 (UTC), now or never")


def changed_limits(stored: str | None, changes: Iterable[str]) -> str | None:
    """Return stored limits with changes such as "runs_at_once=4" or "models=openai:*,lab:*", as JSON.

    A change to `unlimited` removes a limit. Raises `UsageError`.
    """
    values = read_limits(stored).model_dump(exclude_unset=True) if stored else {}
    for change in changes:
        name, equals, text = change.partition("=")
        if name not in KeyLimits.model_fields:
            known = ", ".join(KeyLimits.model_fields)
            hint = nearest(name, KeyLimits.model_fields)
            raise UsageError(f"--limit: {name[:40]!r} is no limit{hint}; there are: {known}")
        if not equals or not text:
            raise UsageError(
                f"--limit: give {name} a value, as in {name}=VALUE; {name}={UNLIMITED} removes it"
            )
        if text == UNCLEAR:
            raise UsageError(
                f"--limit: {name}={UNCLEAR} is not clear: {name}={UNLIMITED} removes the limit, and "
                "pnyx serve --revoke-key NAME ends a key"
            )
        if text == UNLIMITED:
            values.pop(name, None)
        else:
            values[name] = text.split(",") if name in LISTS else _number(text)
    try:
        limits = KeyLimits.model_validate(values)
    except ValidationError as exc:
        error = exc.errors(include_url=False)[0]
        need = NEEDS.get(error["type"], error["msg"]).format_map(error.get("ctx", {}))
        raise UsageError(
            f"--limit: {error['loc'][0]} must be {need}, not {str(error['input'])[:40]!r}"
        ) from None
    return limits.model_dump_json(exclude_unset=True) if values else None


def _number(text: str) -> object:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def described(settings: Settings, key: StoredKey, now: str) -> str:
    """One line about a key: its name, how long it is valid, and its limits with their origin."""
    facts = []
    if key.expires_at is not None:
        facts.append(f"{'expired' if key.expires_at <= now else 'expires'} {_short(key.expires_at)}")
    if key.old_until is not None and key.old_until > now:
        facts.append(f"the key before it is valid until {_short(key.old_until)}")
    configured = settings.serve.keys.get(key.name)
    try:
        limits = effective_limits(settings, key.name, read_limits(key.limits))
    except Unreadable:
        return f"{key.name}  refused: its limits were written by a newer pnyx"
    for name, value in limits.model_dump(exclude_unset=True).items():
        origin = "settings" if configured is not None and name in configured.model_fields_set else "stored"
        facts.append(f"{name} = {json.dumps(value)} ({origin})")
    return f"{key.name}  {'; '.join(facts)}" if facts else key.name


def _short(time: str) -> str:
    return f"{time[:16].replace('T', ' ')} UTC"
