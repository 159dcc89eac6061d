"""Loads the settings. Precedence: flags, environment, project file, user file.

The project file is $PNYX_CONFIG or ./pnyx.toml, the user file $XDG_CONFIG_HOME/pnyx/config.toml. All
problems are reported together, each with the key, its origin and the required value. Keys that a project
file may set only in a trusted folder: design/configuration.md.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache
from math import inf
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError

from ..core.protocol import Option, Protocol
from ..errors import ConfigError, UsageError, listed
from ..plugins import PROTOCOLS, PROVIDERS
from ..plugins import names as installed
from ..similar import closest, nearest
from .file_layers import absolute, read_files
from .layers import Key, Layer, Tree, Value, dotted, flatten, merge, place, to_tables
from .paths import data_dir, models_dir
from .schema import OWN, SECTIONS, TABLES, RunSettings, Settings, table_at

__all__ = [
    "Settings",
    "check_protocols",
    "data_dir",
    "database_url",
    "keys",
    "load",
    "phase_problems",
    "protocol_problems",
    "variables",
]

Check = Callable[[Settings], Iterable[str]]
Locations = Callable[[], Mapping[str, str]]
DATABASE: Key = ("storage", "url")
MASK = "[redacted]"
PREFIX = "PNYX_"
OTHER_VARIABLES = ("PNYX_CONFIG", "PNYX_MODELS")
"""Variables that are not settings: the settings file itself, and the folder of downloaded models."""
NEEDS = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "model_type": "a table",
    "dict_type": "a table",
    "mapping_type": "a table",
    "finite_number": "a finite number",
    "greater_than": "more than {gt:.12g}",
    "greater_than_equal": "at least {ge:.12g}",
    "less_than": "less than {lt:.12g}",
    "less_than_equal": "at most {le:.12g}",
    "string_too_short": "text that is not empty",
    "literal_error": "one of {expected}",
    "string_pattern_mismatch": "the name of an environment variable",
}
"""Type of a Pydantic error -> what the value must be."""


def load(
    *,
    env: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    overrides: Mapping[str, Any] = {},
    protocol_names: Collection[str] | None = None,
    options_of: Callable[[str], Mapping[str, Option]] = lambda protocol: {},
    checks: Iterable[Check] = (),
) -> Settings:
    """Load the settings. overrides: the flags, nested like the file; None means "not set".

    protocol_names: names of tables besides the known sections; None: the installed protocols.
    options_of: returns a protocol's options; called only if a key is unknown, or may need trust.
    checks: functions that return problems of otherwise valid settings; they receive only the valid tables.
    Raises `ConfigError` with every problem, one per line.
    """
    cwd = cwd or Path.cwd()
    if protocol_names is None:
        protocol_names = installed(PROTOCOLS)
    names = tuple(protocol_names)
    problems: list[str] = []
    others: list[str] = []
    environment = _environment(env, cwd, names, others)

    def usual(protocol: str, option: str) -> Any:
        options = options_of(protocol) if protocol in names else None
        if options and option in options:
            return options[option].default
        # An unknown name is refused as such.
        return None if options == {} else inf

    layers = list(read_files(env, cwd, environment, usual, problems, others))
    # Checks would report references to parts of a file that is not loaded.
    checks = () if problems else checks
    problems += others
    layers.append(environment)
    try:
        layers.append(absolute(flatten(overrides, "flags"), cwd))
    except ConfigError as exc:
        problems.append(str(exc))
    tree = merge(layers)
    locations = cache(
        lambda: _locations(_protocol_value(tree).value, {name: options_of(name) for name in names})
    )
    problems += _unknown_names(tree, names, locations)
    raw = to_tables(tree)
    known = {name: value for name, value in raw.items() if name in SECTIONS}
    known["protocols"] = {name: raw[name] for name in raw if name in names and name not in SECTIONS}
    try:
        settings = Settings.model_validate(known)
    except ValidationError as exc:
        problems += _messages(exc, tree, locations)
        settings = Settings.model_validate(_valid_part(known, exc))
    settings.note_origins({key: value for layer in layers for key, value in layer.items()})
    for check in checks:
        problems += check(settings)
    _raise_problems(problems)
    return settings


def _valid_part(known: Mapping[str, Any], invalid: ValidationError) -> dict[str, Any]:
    """Return the settings without the tables that have a problem."""
    valid = {name: dict(t) if isinstance(t, dict) else t for name, t in known.items()}
    for section, *rest in (error["loc"] for error in invalid.errors(include_url=False)):
        if section == "providers" and rest:
            # Its problem is already reported; references to it are not a second one.
            valid["providers"][rest[0]] = {"kind": OWN}
        elif section in ("models", "panels", "protocols") and rest:
            valid[str(section)].pop(rest[0], None)
        else:
            valid.pop(str(section), None)
    return valid


def _environment(env: Mapping[str, str], cwd: Path, names: Collection[str], problems: list[str]) -> Layer:
    known = variables()
    protocols = {f"PNYX_{re.sub('[^A-Z0-9]', '_', name.upper())}_": name for name in names}
    layer: Layer = {}
    for variable, text in env.items():
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        prefix = max((p for p in protocols if variable.startswith(p)), key=len, default="")
        if variable in known:
            key = known[variable]
            value = text if _accepts_text(_annotation(key)) else _literal(text)
        elif prefix:
            key, value = (protocols[prefix], variable.removeprefix(prefix).lower()), text
        else:
            # All begin alike, so only the rest can be similar: to that of a variable, or to a key's name.
            rests = {"_".join(key).upper(): one for one, key in known.items()}
            rests |= {one.removeprefix(PREFIX): one for one in (*known, *OTHER_VARIABLES)}
            like = closest(variable.removeprefix(PREFIX), rests)
            hint = f"; did you mean {rests[like]}?" if like else ""
            problems.append(f"unknown variable {dotted([variable])} in the environment{hint}")
            continue
        if text:
            layer[key] = Value(value, f"${variable}")
    try:
        models_dir(env)
    except ConfigError as exc:
        problems.append(str(exc))
    return absolute(layer, cwd)


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # As text it is refused by the schema, together with all other problems.
        return text


def _accepts_text(annotation: Any) -> bool:
    return annotation is str or any(map(_accepts_text, get_args(annotation)))


def _annotation(key: Key) -> Any:
    return TABLES[key[:-1]].model_fields[key[-1]].annotation


def keys() -> tuple[Key, ...]:
    """Return all keys; "*" is a name that the user chooses: ("run", "seed"), ("providers", "*", "kind")."""
    every = ((*table, field) for table, model in TABLES.items() for field in model.model_fields)
    groups = {table[:-1] for table in TABLES if table[-1] == "*"}
    return tuple(key for key in every if key not in TABLES and key not in groups)


def variables() -> dict[str, Key]:
    """Return environment variable -> key, for all single values outside tables that the user names."""
    single = (key for key in keys() if "*" not in key and get_origin(_annotation(key)) is not tuple)
    named = {f"PNYX_{'_'.join(key)}".upper(): key for key in single if key != DATABASE}
    return {"PNYX_DATABASE": DATABASE} | named


def _protocol_value(tree: Tree) -> Value:
    """Return the configured protocol with its origin."""
    run = tree.get("run")
    chosen = run.get("protocol") if isinstance(run, dict) else None
    return chosen if isinstance(chosen, Value) else Value(RunSettings().protocol, "default")


def _locations(protocol: object = None, options: Mapping[str, Iterable[str]] = {}) -> dict[str, str]:
    """Return the last part of a key -> its full name, for tables with one part: "seats" -> "panel.seats".

    options: protocol -> its options. If several tables have a key of that name, the table of `protocol`
    counts, or all of them.
    """
    tables: dict[str, list[str]] = {}
    for table, *name in (*keys(), *((page, option) for page in options for option in options[page])):
        if len(name) == 1:
            tables.setdefault(name[0], []).append(table)
    return {
        name: " or ".join(
            dotted([table, name]) for table in ([protocol] if protocol in readers else sorted(readers))
        )
        for name, readers in tables.items()
    }


def _suggestion(key: Key, here: Collection[str], locations: Mapping[str, str]) -> str:
    """Return a suggestion for an unknown key: the same key elsewhere, a similar one, or the list `here`."""
    *table, name = key
    # Keys of one host, model or tool are read nowhere else.
    if len(table) < 2 and name in locations:
        return f"; did you mean {locations[name]}?"
    return nearest(name, here, 0.5) or (f"; there are: {', '.join(here)}" if here else "")


def _unknown_names(tree: Tree, names: Collection[str], locations: Locations) -> Iterator[str]:
    """Yield problems of names outside the schema: tables, providers, model references, the protocol."""
    for name in tree:
        if name not in SECTIONS and name not in names:
            hint = _suggestion((name,), (), locations()) or nearest(name, (*SECTIONS, *names))
            yield f"unknown key {dotted([name])} in {place(tree, [name])}{hint}"
    providers, models = tree.get("providers"), tree.get("models")
    configured = tuple(providers) if isinstance(providers, dict) else ()
    for name in configured:
        if not re.fullmatch("[a-z0-9_-]+", name):
            where = f"{dotted(['providers', name])} in {place(tree, ['providers', name])}"
            yield f"{where}: a provider's name has only a-z, 0-9, _ and -"
    for ref in models if isinstance(models, dict) else ():
        provider, colon, model = ref.partition(":")
        where = f"{dotted(['models', ref])} in {place(tree, ['models', ref])}"
        if not (provider and colon and model):
            hint = f'; write [models."{host}:{ref}"]' if (host := _only(configured)) else ""
            yield f'{where}: a model is named "provider:model"{hint}'
        elif provider not in (known := (*configured, *installed(PROVIDERS))):
            table = dotted(["providers", provider])
            hint = nearest(provider, known) or f'; add [{table}], with kind = "own" if a program supplies it'
            yield f"{where}: no provider {dotted([provider])}{hint}"
    chosen = _protocol_value(tree)
    if chosen.origin != "default" and isinstance(chosen.value, str) and chosen.value not in names:
        hint = nearest(chosen.value, tuple(names))
        yield f"run.protocol in {chosen.place}: no protocol {chosen.value[:40]!r}{hint}"


def _only(names: Collection[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def _messages(invalid: ValidationError, tree: Tree, locations: Locations) -> Iterator[str]:
    for error in invalid.errors(include_url=False):
        key = tuple(part for part in error["loc"] if part not in ("protocols", "[key]"))
        name, where = dotted(key), place(tree, key)
        if error["type"] == "extra_forbidden":
            table = table_at([str(part) for part in key[:-1]])
            yield f"unknown key {name} in {where}" + (
                "; keys do not belong in files: put it into a variable, and set api_key_env to its name"
                if key[-1] == "api_key"
                else _suggestion(tuple(map(str, key)), table.model_fields if table else (), locations())
            )
        elif error["type"] == "missing":
            yield f"{dotted(key[:-1])} in {where} needs {key[-1]}"
        elif error["type"] == "value_error":
            yield f"{name} in {where} {error['ctx']['error']}"
        else:
            need = NEEDS.get(error["type"], error["msg"]).format_map(error.get("ctx", {}))
            shown = _shown(error["input"], key)
            hint = f'; write ["{error["input"]}"]' if need == "a list" and shown[0] in "'\"" else ""
            yield f"{name} in {where} must be {need}, not {shown}{hint}"


def _shown(value: Any, key: tuple[str | int, ...]) -> str:
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, str):
        # A misplaced value may be a key or a password.
        return "this text" if key[0] in ("providers", "storage", "tools") else f"{value[:40]!r}"
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def check_protocols(settings: Settings, registry: Mapping[str, Protocol]) -> None:
    """Check the tables named after protocols. Raises `ConfigError` with every problem."""
    _raise_problems(list(protocol_problems(settings, registry)))


def protocol_problems(settings: Settings, registry: Mapping[str, Protocol]) -> Iterator[str]:
    """Yield the problems of tables named after protocols. registry: at least these protocols."""
    for name, table in settings.protocols.items():
        options = registry[name].options
        for option, value in table.items():
            where = f"{dotted([name, option])} in {settings.place(name, option)}"
            if option not in options:
                yield f"unknown key {where}{_suggestion((name, option), options, _locations())}"
            elif isinstance(value, Mapping | list):
                yield f"{where} must be a single value, not {_shown(value, (name,))}"
            else:
                try:
                    registry[name].resolve_options({option: value})
                except UsageError as exc:
                    yield f"{exc} (in {settings.place(name, option)})"


def phase_problems(settings: Settings, registry: Iterable[Protocol]) -> Iterator[str]:
    """Yield the problems of tables named after phases. registry: all protocols."""
    known = sorted({phase for protocol in registry for phase in protocol.phases.names})
    for name in settings.run.phases:
        if name not in known:
            where = f"{dotted(['run', 'phases', name])} in {settings.place('run', 'phases', name)}"
            yield f"{where}: no protocol has a phase of this name{_suggestion((name,), known, {})}"


def _raise_problems(problems: list[str]) -> None:
    if lines := list(dict.fromkeys(problems)):
        raise ConfigError(listed("the settings are wrong", lines))


def database_url(settings: Settings, env: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the configured database, or the absolute path of an SQLite file."""
    return settings.storage.url or str(data_dir(env) / "pnyx.db")
