"""The action of `pnyx init`: three questions, a test of the keys, a proposed panel, a settings file."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click

from ....config.paths import config_dir
from ....config.schema import ProviderSettings, Settings
from ....config.stored_keys import ENVIRONMENT, store
from ....config.trust import PROJECT_FILE
from ....core.models import money
from ....errors import ConfigError, PnyxError, ProviderError, UsageError
from ....plugins import PROVIDERS
from ....plugins import names as installed
from ....providers.catalogue import Catalogue, parse_seats
from ....providers.default_panel import default_panel
from ....providers.installed import KINDS, configure, is_usable, key_variables, list_models
from ....run.options.request import RunRequest
from ....run.options.resolve import resolve
from ....similar import nearest
from ...process.open_settings import open_settings
from ...render.terminal import flat, wrap
from ...views.plan import plan, price_words
from ..options import AMOUNT
from ..styles import STYLES
from ..terminal.output import Output
from ..terminal.plain import WIDE
from .doctor import check_host, finding_lines
from .first_settings import FirstSettings, panel_of, seats_for
from .saved_panels import QUESTION, seat_facts

__all__ = ["init"]

BUDGET = 1.0
LIST_S = 10.0
"""How long a host may take to list its models, in seconds."""


def init(
    output: Output,
    providers: Sequence[str],
    base_url: str | None,
    models: Sequence[str],
    style: str | None,
    budget: float | None,
    file: Path | None,
    test: bool,
    no_input: bool,
) -> int:
    path = file or config_dir() / "config.toml"
    if os.path.lexists(path):
        raise ConfigError(f"{path} exists, and is never overwritten; write another file with --file PATH")
    person = not no_input and sys.stdin is not None and sys.stdin.isatty()
    base = open_settings()
    tables: dict[str, dict[str, str]] = {}
    names = _named([*providers, *filter(None, [base_url])], tables)
    names = [*names, *(ref.partition(":")[0] for ref in models)] or _hosts(output, base, tables, person)
    hosts = dict.fromkeys(names)
    settings = _settings({"providers": tables})
    for name in hosts:
        if name in tables and test and _wants_key(name, settings):
            tables[name]["api_key_env"] = _variable(name)
            settings = _settings({"providers": tables})
        typed = _need_key(name, settings, person)
        if test and person:  # before the next question, and before the key is stored
            _test(output, settings, [name], ())
        if typed is not None:
            _store_key(*typed, output)
    style = style or (_ask_style(output) if person else "balanced")
    if budget is None:
        budget = _ask_budget() if person else BUDGET
    first = _propose(settings, list(hosts), models, style, tables, budget)
    settings = _settings(first.preview)
    _print_panel(output, settings, first)
    if test:
        _test(output, settings, list(hosts), parse_seats(settings.panel.seats), again=person)
    if person and not click.confirm(f"Write {path}?", default=True, err=True):
        raise click.Abort
    _write(path, first.text())
    output.note(f"wrote {path}")
    if path.absolute() == Path.cwd() / PROJECT_FILE:
        output.note("it takes effect once you trust it: pnyx trust")
    if first.unpriced and (cap := _cap(base)) is not None:
        output.note(f"fill in the prices there first: {cap} refuses models without one", "yellow")
    saved = ", ".join(STYLES)
    output.note(f'ask your panel with: pnyx ask "QUESTION"; or a saved one with -P NAME: {saved}', "bold")
    return 0


def _settings(document: Mapping[str, object]) -> Settings:
    return open_settings(document, panel=True)


def _hosts(output: Output, settings: Settings, tables: dict[str, dict[str, str]], person: bool) -> list[str]:
    """Return the providers whose keys are set; a person is asked."""
    if person:
        return _ask_hosts(output, settings, tables)
    found = [name for name in _offered(settings) if key_variables(settings.provider(name))]
    found = [name for name in found if is_usable(settings.provider(name), ENVIRONMENT)]
    if not found:
        raise UsageError("no key is set: name a provider with --provider, such as --provider embedded")
    return found


def _offered(settings: Settings) -> list[str]:
    return list(dict.fromkeys((*settings.providers, *installed(PROVIDERS))))


def _ask_hosts(output: Output, settings: Settings, tables: dict[str, dict[str, str]]) -> list[str]:
    """Ask where models run. A URL becomes a provider in `tables`."""
    offered = _offered(settings)
    ready = [name for name in offered if key_variables(settings.provider(name))]
    ready = [name for name in ready if is_usable(settings.provider(name), ENVIRONMENT)]
    output.note(f"1. Where do your models run? {', '.join(offered)}, or the URL of another host.")

    def known(answer: str) -> list[str]:
        """The parts of the answer; click asks again if one is no provider."""
        parts = list(filter(None, re.split(r"[\s,]+", answer)))
        for part in parts:
            if "://" not in part:
                try:
                    _provider(part, settings)
                except UsageError as exc:
                    raise click.BadParameter(str(exc)) from exc
        return parts

    ready_names = ", ".join(ready) or "embedded"
    parts = click.prompt("   Names, with commas", default=ready_names, value_proc=known, err=True)
    return _named(parts, tables)


def _named(parts: Iterable[str], tables: dict[str, dict[str, str]]) -> list[str]:
    """The names of providers, or of hosts by their URLs, each of which becomes a provider in `tables`."""
    names = list[str]()
    for part in parts:
        if "://" in part:
            tables |= (new := _table(part, tables))
            names += new
        else:
            names.append(part)
    return names


def _ask_style(output: Output) -> str:
    output.note("2. What matters?")
    for name, words in STYLES.items():
        output.note(f"   {name}: {words}")
    choice: str = click.prompt("  ", type=click.Choice(list(STYLES)), default="balanced", err=True)
    return choice


def _ask_budget() -> float:
    text = "3. What may a question cost at most, in USD?"
    amount: float = click.prompt(text, type=AMOUNT, default=BUDGET, err=True)
    return amount


def _cap(settings: Settings) -> str | None:
    """The budget of another file that refuses models without a price, and where it is set."""
    if settings.budget.allow_unknown_price:
        return None
    for name in ("run_usd", "day_usd", "key_usd"):
        if getattr(settings.budget, name) is not None:
            return f"budget.{name} in {settings.place('budget', name)}"
    return None


def _table(base_url: str, tables: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the table of a host that speaks OpenAI's API, under a name from its address.

    tables: those of other hosts, whose names it does not take.
    """
    host = urlsplit(base_url).hostname or ""
    label = "local" if re.fullmatch(r"localhost|[\d.:]+", host) else re.sub(r"^(api|www)\.", "", host)
    first = name = re.sub("[^a-z0-9_-]", "-", label.split(".")[0].lower()) or "host"
    number = 1
    while name in tables and tables[name]["base_url"] != base_url:
        number += 1
        name = f"{first}-{number}"
    table = {"kind": "openai", "base_url": base_url}
    if ENVIRONMENT.get(variable := _variable(name)):
        table["api_key_env"] = variable
    return {name: table}


def _variable(name: str) -> str:
    """The variable for the key of a host that has a URL only."""
    return f"{re.sub('[^A-Z0-9]', '_', name.upper())}_API_KEY"


def _wants_key(name: str, settings: Settings) -> bool:
    """Whether the host lists its models only for a key, and no variable is set for it."""
    provider = settings.provider(name)
    if key_variables(provider):
        return False
    try:
        asyncio.run(_models(name, settings))
    except (PnyxError, TimeoutError) as exc:
        return isinstance(exc, ProviderError) and exc.kind == "auth"
    return False


def _provider(name: str, settings: Settings) -> ProviderSettings:
    try:
        return settings.provider(name)
    except ConfigError as exc:
        hint = nearest(name, _offered(settings))
        raise UsageError(
            f"no provider {name[:40]!r}{hint}; there are: {', '.join(_offered(settings))}"
        ) from exc


def _need_key(name: str, settings: Settings, person: bool) -> tuple[str, str] | None:
    """Make sure that a provider has its key. Return the variable and the key that a person has typed.

    Raises `ConfigError`.
    """
    provider = _provider(name, settings)
    variables = key_variables(provider)
    if not variables or is_usable(provider, ENVIRONMENT):
        return None
    if not person:
        configure(name, provider, ENVIRONMENT)  # raises, and says what to do
        return None
    key = click.prompt(f"Key of {name} (not shown)", hide_input=True, err=True).strip()
    os.environ[variables[0]] = key  # for the tests of this command, and for no later one
    return variables[0], key


def _store_key(variable: str, key: str, output: Output) -> None:
    try:
        store(variable, key)
        output.note(f"stored ${variable} in the keyring")
    except ConfigError as exc:
        output.note(str(exc), "yellow")


def _propose(
    settings: Settings,
    hosts: list[str],
    models: Sequence[str],
    style: str,
    tables: Mapping[str, Mapping[str, str]],
    budget: float,
) -> FirstSettings:
    seats = dict.fromkeys(STYLES, panel_of(parse_seats(models))) if models else _seats(settings, hosts)
    catalogue = Catalogue(settings)
    refs = dict.fromkeys(ref for one in seats.values() for ref in parse_seats(one))
    unpriced = [ref for ref in refs if catalogue.describe(ref).price is None]
    return FirstSettings(seats, style, tables, budget, tuple(unpriced))


def _seats(settings: Settings, hosts: list[str]) -> dict[str, tuple[str, ...]]:
    """Propose the seats of every style."""
    if hosts == ["embedded"]:
        return dict.fromkeys(STYLES, default_panel(Settings(), {}).refs)
    kinds = {name: settings.provider(name).kind for name in hosts if name != "embedded"}
    listed = asyncio.run(_listed(settings, kinds))
    return {style: seats_for(kinds, listed, style) for style in STYLES}


async def _listed(settings: Settings, kinds: Mapping[str, str]) -> dict[str, frozenset[str] | None]:
    """Return the models that hosts without usual models list."""
    found: dict[str, frozenset[str] | None] = {}
    for name, kind in kinds.items():
        if kind != name or kind == "ollama":
            try:
                found[name] = await _models(name, settings)
            except (PnyxError, TimeoutError) as exc:
                url = settings.provider(name).base_url or name
                why = str(exc) or f"no answer within {LIST_S:g} s"
                why += "" if urlsplit(url).path.strip("/") else " (is /v1 missing at its end?)"
                raise UsageError(
                    f"cannot list the models of {url}: {why}; name them with --model {name}:MODEL"
                ) from exc
    return found


async def _models(name: str, settings: Settings) -> frozenset[str] | None:
    """The models that a host lists. Raises `PnyxError` or `TimeoutError`."""
    provider = settings.provider(name)
    async with asyncio.timeout(LIST_S):
        return await list_models(KINDS.get(provider.kind), configure(name, provider, ENVIRONMENT))


def _print_panel(output: Output, settings: Settings, first: FirstSettings) -> None:
    spec = resolve(RunRequest(question=QUESTION), settings)
    err, bounds = output.err, plan(spec)
    output.note("Proposed panel", "bold")
    for seat in spec.seats:
        err.lines(wrap(flat(seat_facts(seat)), err.width or WIDE, "  "))
    output.note(f"  protocol {spec.protocol}: {spec.protocol_def.summary}")
    output.note(f"  a question costs {price_words(bounds)}")
    if first.unpriced:
        named = ", ".join(first.unpriced)
        output.note(f"  the price of {named} is unknown: no budget is set until the file has it", "yellow")
    elif first.budget_usd is not None:
        output.note(f"  a run pauses before it costs {money(first.budget_usd)}")


def _test(
    output: Output, settings: Settings, hosts: Sequence[str], refs: tuple[str, ...], again: bool = False
) -> None:
    """Ask every host for its models, and print what was found. Raises `PnyxError` if one does not work.

    refs: models that it should list. again: the person has read that the host works, so only trouble is new.
    """
    fine = True
    for name in hosts:
        if settings.provider(name).kind != "embedded":
            finding = asyncio.run(check_host(name, settings, refs))
            if not (again and finding.ok and not finding.fix):
                output.err.lines(finding_lines(finding, output.err))
            fine &= finding.ok is not False
    if not fine:
        raise PnyxError("nothing was written: correct what fails above, or skip the test with --no-test")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as exc:
        raise ConfigError(f"cannot write {path}: {exc.strerror or exc}") from exc
