"""The actions of `pnyx keys`."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterator

from ....config.schema import OWN, Settings
from ....config.stored_keys import ENVIRONMENT, remove, store, stored, why_unreadable
from ....errors import UsageError
from ....plugins import PROVIDERS
from ....plugins import names as installed
from ....providers.installed import key_variables
from ....similar import nearest
from ...process.open_settings import open_settings
from ...render.terminal import columns
from ..terminal.output import Output

__all__ = ["list_keys", "remove_key", "set_key"]

LONGEST_NAME = 16
"""Characters of a wrong name that are repeated: keys are longer."""
LONGEST = 10_000
"""Bytes of stdin that are read for a key."""


def set_key(output: Output, name: str) -> int:
    variable = _variable(open_settings(), name)
    store(variable, _read_key(variable))
    output.note(f"stored ${variable} in the keyring; check it with: pnyx doctor")
    if os.environ.get(variable):
        output.note(f"note: ${variable} is also set in the environment, which takes precedence", "yellow")
    return 0


def remove_key(output: Output, name: str) -> int:
    variable = _variable(open_settings(), name)
    remove(variable)
    output.note(f"removed ${variable} from the keyring")
    return 0


def list_keys(output: Output, as_json: bool) -> int:
    found = list(_keys(open_settings()))
    if as_json:
        output.json([{"variable": v, "providers": users, "source": source} for v, users, source in found])
        return 0
    rows = [["variable", "of", "key"]]
    rows += [[f"${variable}", ", ".join(users), source or "not set"] for variable, users, source in found]
    for n, line in enumerate(columns(rows, width=output.out.width)):
        output.out.line(line, *(() if n else ("bold",)))
    return 0


def _keys(settings: Settings) -> Iterator[tuple[str, list[str], str | None]]:
    """Yield each variable, the providers that use it, and where its key comes from."""
    users: dict[str, list[str]] = {variable: [] for variable in stored()}
    for provider in _providers(settings):
        for variable in key_variables(settings.provider(provider)):
            users.setdefault(variable, []).append(provider)
    for variable in sorted(users):
        if os.environ.get(variable):
            source: str | None = "environment"
        elif variable in ENVIRONMENT:
            source = "keyring"
        else:
            source = why_unreadable(variable)
        yield variable, users[variable], source


def _providers(settings: Settings) -> list[str]:
    known = dict.fromkeys((*settings.providers, *installed(PROVIDERS)))
    return [name for name in known if settings.provider(name).kind != OWN]


def _variable(settings: Settings, name: str) -> str:
    """Return the variable of a key, by its own name or that of its provider."""
    if name not in (known := _providers(settings)):
        variable = name.removeprefix("$")
        used = {used for provider in known for used in key_variables(settings.provider(provider))}
        if variable in used or variable in stored() or not variable.islower():
            return variable
        which = repr(name) if len(name) <= LONGEST_NAME else "of this name"  # it may be the key
        raise UsageError(
            f"no provider {which}{nearest(name, known)}; "
            "give a provider, or a variable such as OPENAI_API_KEY"
        )
    variables = key_variables(settings.provider(name))
    if not variables:
        raise UsageError(f"provider {name} sends no key; to send one, set api_key_env in [providers.{name}]")
    return variables[0]


def _read_key(variable: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass(f"Key for ${variable} (not shown): ").strip()
    return "" if sys.stdin is None else sys.stdin.read(LONGEST).strip()
