"""API keys in the keyring of the system, behind those in the environment.

`keys.json` in the data folder lists the variables whose keys are stored, and never a key: without it, every
start would ask the keyring. The keyring is read with the library `keyring`, of the extra of that name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ..errors import ConfigError, MissingExtra
from ..extras import need
from .paths import data_dir
from .replace_file import replace_file

__all__ = ["ENVIRONMENT", "Environment", "remove", "store", "stored", "why_unreadable"]

SERVICE = "pnyx"
"""The name under which the keyring lists the keys."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Environment(Mapping[str, str]):
    """The variables of the environment, and those whose keys are in the keyring.

    A variable that is set and not empty takes precedence. A key that cannot be read is as one that is not
    there; `why_unreadable` says why.
    """

    def __getitem__(self, variable: str) -> str:
        if (value := os.environ.get(variable)) or variable not in stored():
            return os.environ[variable] if value is None else value
        try:
            with _keyring(variable) as keyring:
                key: str | None = keyring.get_password(SERVICE, variable)
        except ConfigError:
            key = None
        if key is None:
            raise KeyError(variable)
        return key

    def __iter__(self) -> Iterator[str]:
        return iter({**os.environ, **dict.fromkeys(stored())})

    def __len__(self) -> int:
        return len(list(iter(self)))


ENVIRONMENT = Environment()


def stored() -> tuple[str, ...]:
    """Return the variables whose keys are in the keyring, sorted."""
    try:
        names = json.loads(_index().read_bytes())
    except (OSError, ValueError, ConfigError):
        return ()
    return tuple(sorted(name for name in names if isinstance(name, str))) if isinstance(names, list) else ()


def why_unreadable(variable: str) -> str | None:
    """Return why the stored key of a variable cannot be read, or None if it can or none is stored."""
    if variable not in stored():
        return None
    try:
        with _keyring(variable) as keyring:
            gone = keyring.get_password(SERVICE, variable) is None
    except ConfigError as exc:
        return str(exc)
    return f"the key of ${variable} is no longer in the keyring" if gone else None


def store(variable: str, key: str) -> None:
    """Put a key into the keyring. Raises `ConfigError` if there is none, or for what cannot be a key."""
    _check(variable, key)
    with _keyring(variable) as keyring:
        keyring.set_password(SERVICE, variable, key)
    _write({*stored(), variable})


def remove(variable: str) -> None:
    """Remove a key from the keyring. Raises `ConfigError` if it is not stored, or cannot be removed."""
    if variable not in stored():
        raise ConfigError(f"no key of ${variable} is stored; `pnyx keys list` lists the stored ones")
    with _keyring(variable) as keyring:
        if keyring.get_password(SERVICE, variable) is not None:
            keyring.delete_password(SERVICE, variable)
    _write(set(stored()) - {variable})


def _check(variable: str, key: str) -> None:
    if not _VARIABLE.fullmatch(variable):
        raise ConfigError(f"{variable[:40]!r} is no name of a variable or of a provider")
    if not re.fullmatch("[!-~]+", key):
        raise ConfigError("a key has no spaces or line breaks, and is not empty; paste the key alone")


@contextmanager
def _keyring(variable: str) -> Iterator[ModuleType]:
    """Open the keyring. Raises `ConfigError`, which says what to do instead, if it cannot be used."""
    instead = f"set the key in the environment instead: export {variable}=YOUR_KEY"
    try:
        need("keyring", "a key in the keyring")
    except MissingExtra as exc:
        raise MissingExtra(exc.extra, f"{exc}. Or {instead}") from None
    # Optional, and it looks for keyrings of the desktop when it is imported.
    import keyring
    from keyring.errors import KeyringError

    try:
        yield keyring
    except (KeyringError, OSError) as exc:
        raise ConfigError(f"this system has no keyring that can be used ({_reason(exc)}); {instead}") from exc


def _reason(exc: Exception) -> str:
    # keyring's own message about a missing back end is a paragraph with an address.
    name = type(exc).__name__
    return "none is installed" if name == "NoKeyringError" else f"{name}: {exc}"[:200]


def _index() -> Path:
    return data_dir() / "keys.json"


def _write(names: set[str]) -> None:
    index = _index()
    try:
        index.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(index, json.dumps(sorted(names)))
    except OSError as exc:
        raise ConfigError(f"cannot write {index}: {exc.strerror or exc}") from exc
