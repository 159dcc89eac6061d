"""The keys of the server: create, list, change, replace, revoke, and what they were used for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from ....config.schema import Settings
from ....errors import UsageError
from ....store.keys import KeyUse, StoredKey
from ....times import now
from ...access.key_admin import changed_limits, described, parse_expiry, time_after
from ...access.keys import check_name, hash_key, new_key
from ...records.runs import RunRecords
from ...views.transcript import quantity
from ..records import with_records
from ..terminal.output import Output

__all__ = ["KeyCommand"]

MOST_USES = 1000
"""Uses of keys that are printed, the newest."""


@dataclass(frozen=True, kw_only=True)
class KeyCommand:
    """The options of `pnyx serve` that are about keys."""

    new_key: str | None = None
    change_key: str | None = None
    rotate_key: str | None = None
    revoke_key: str | None = None
    show_keys: Literal["list", "audit"] | None = None
    limits: tuple[str, ...] = ()
    expires: str | None = None
    keep_old: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether the command is about keys, and starts no server. Raises `UsageError` for a wrong mix."""
        actions = (self.new_key, self.change_key, self.rotate_key, self.revoke_key, self.show_keys)
        count = sum(action is not None for action in actions)
        if count > 1:
            raise UsageError(
                "--new-key, --change-key, --rotate-key, --revoke-key and --keys exclude each other; "
                "use one of them"
            )
        if (self.limits or self.expires) and self.new_key is None and self.change_key is None:
            raise UsageError("--limit and --expires go with --new-key NAME or --change-key NAME")
        if self.keep_old and self.rotate_key is None:
            raise UsageError("--keep-old goes with --rotate-key NAME")
        return count == 1

    def run(self, output: Output, settings: Settings) -> int:
        """Do what is asked. Raises `UsageError`, `NotFound`, `Taken`."""
        if self.new_key is not None:
            self._create(output, settings, self.new_key)
        elif self.change_key is not None:
            self._change(output, settings, self.change_key)
        elif self.rotate_key is not None:
            self._rotate(output, settings, self.rotate_key)
        elif self.revoke_key is not None:
            name = self.revoke_key
            paused = with_records(settings, lambda stored: stored.keys.remove(name))
            waited = f"; {quantity(paused, 'run')} in the queue paused" if paused else ""
            output.note(f"revoked {name}'s API key{waited}")
        elif self.show_keys == "audit":
            uses = with_records(settings, _uses)
            output.out.lines(map(_line, uses))
            if not uses:
                output.note("no key has been used yet")
        else:
            keys, time = with_records(settings, _keys)
            output.out.lines([described(settings, key, time) for key in keys])
            if not keys:
                output.note("no keys yet; create one with: pnyx serve --new-key NAME")
        return 0

    def _create(self, output: Output, settings: Settings, name: str) -> None:
        check_name(name)
        expires_at = None if self.expires is None else parse_expiry(self.expires)
        if expires_at is not None and expires_at <= now():
            raise UsageError(f"--expires: {self.expires!r} is over, so the key would never be valid")
        limits, key = changed_limits(None, self.limits), new_key()
        with_records(
            settings,
            lambda stored: stored.keys.add(name, hash_key(key), expires_at=expires_at, limits=limits),
            create=True,
        )
        output.out.line(key)
        output.note(
            f"this is {name}'s API key. Copy it now: only its hash is stored, so it cannot be shown again"
        )

    def _change(self, output: Output, settings: Settings, name: str) -> None:
        if not self.limits and self.expires is None:
            raise UsageError("--change-key changes nothing without --limit or --expires")

        async def change(stored: RunRecords) -> None:
            columns: dict[str, str | None] = {}
            if self.limits:
                before = next((key.limits for key in await stored.keys.stored() if key.name == name), None)
                columns["limits"] = changed_limits(before, self.limits)
            if self.expires is not None:
                columns["expires_at"] = parse_expiry(self.expires)
            await stored.keys.change(name, columns)

        with_records(settings, change)
        output.note(f"changed {name}'s API key; servers notice within two seconds")

    def _rotate(self, output: Output, settings: Settings, name: str) -> None:
        key = new_key()
        until = time_after(self.keep_old or "0s", "--keep-old")
        with_records(settings, lambda stored: stored.keys.rotate(name, hash_key(key), until))
        output.out.line(key)
        ends = f"is valid until {until[:16].replace('T', ' ')} UTC" if self.keep_old else "has ended"
        output.note(f"this is {name}'s new API key, which cannot be shown again; the old one {ends}")


async def _keys(stored: RunRecords) -> tuple[Sequence[StoredKey], str]:
    return await stored.keys.stored(), stored.now()


async def _uses(stored: RunRecords) -> list[KeyUse]:
    return await stored.keys.uses(MOST_USES)


def _line(use: KeyUse) -> str:
    """One use in columns: time, key, address, status, request, run, how often."""
    values = asdict(use) | {"name": use.name or "(wrong key)", "at": f"{use.at[:19]}Z"}
    often = f"  {use.requests} times" if use.requests > 1 else ""
    run = f"  run {use.run_id}" if use.run_id else ""
    return "{at}  {name:<12}  {client:<15}  {status}  {method} {route}".format(**values) + run + often
