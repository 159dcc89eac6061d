"""What `pnyx models`, `protocols`, `config` and `trust` do."""

from __future__ import annotations

import os
import time
from collections.abc import Set
from pathlib import Path
from typing import Any

from .... import protocols
from ....config.load import describe
from ....config.paths import config_dir, data_dir, expand_path, models_dir
from ....config.schema import OWN, Settings
from ....config.trust import PROJECT_FILE
from ....config.trust import trust as trust_here
from ....core.protocol import Option, Protocol
from ....errors import ConfigError, NotFound
from ....providers.catalogue import Catalogue, ModelInfo, parse_seats
from ....providers.embedded.weights import find, installed
from ....providers.embedded.weights_table import KNOWN
from ....providers.installed import KINDS, key_variables
from ...open_settings import open_settings
from ...render.terminal import clip, columns, flat
from ...views.catalogue import calls_of_three, described, models_by_name
from ...views.transcript import quantity
from ..terminal.output import Output
from ..terminal.plain import fitted

__all__ = [
    "check_config",
    "list_models",
    "list_protocols",
    "pull_model",
    "show_config",
    "show_paths",
    "trust_folder",
]


def list_models(output: Output, as_json: bool) -> int:
    settings = open_settings()
    here = set(installed())
    panel = parse_seats(settings.panel.seats)
    catalogue = Catalogue(settings)
    infos = [catalogue.describe(ref) for ref in models_by_name(settings, here)]
    if as_json:
        output.json([_model(info, panel, settings, here) for info in infos])
        return 0
    rows = [["model", "seats", "in", "out", "as of", "window", "state"]]
    for info in infos:
        price, state = info.price, _state(info, settings, here)
        rows.append(
            [
                info.ref,
                str(panel.count(info.ref) or ""),
                f"{price.input:g}" if price else "unknown",
                f"{price.output:g}" if price else "unknown",
                price.as_of if price and info.source not in ("embedded", "local") else "",
                f"{info.context:,}" if info.context else "",
                state.partition(":")[0] if info.kind == "embedded" else state,
            ]
        )
    _table(output, rows, right=(1, 2, 3, 5))
    out = output.out
    out.lines(fitted(out, "in, out: USD per million tokens", "dim"))
    if absent := [name for name in KNOWN if name not in here]:
        out.lines(
            fitted(out, f"an embedded model is installed by its name: pnyx models pull {absent[0]}", "dim")
        )
    return 0


def _state(info: ModelInfo, settings: Settings, here: Set[str]) -> str:
    if info.kind == "embedded":
        if info.model in here:
            return "installed"
        if info.model in KNOWN:
            return f"not installed: {KNOWN[info.model].command}"
        try:
            find(info.model)
        except NotFound:
            return "not there"
        return "a file"
    if info.kind != OWN and KINDS.find(info.kind) is None:
        return "its kind cannot be used: see pnyx doctor"
    variables = key_variables(settings.provider(info.provider))
    if not variables:
        return "needs no key"
    found = next((variable for variable in variables if os.environ.get(variable)), None)
    return f"key in ${found}" if found else f"no key: set {' or '.join(f'${v}' for v in variables)}"


def _model(info: ModelInfo, panel: tuple[str, ...], settings: Settings, here: Set[str]) -> dict[str, Any]:
    price = info.price
    return {
        "model": info.ref,
        "provider": info.provider,
        "kind": info.kind,
        "seats": panel.count(info.ref),
        "input_price": price and price.input,
        "cached_price": price and price.cached,
        "output_price": price and price.output,
        "reasoning_price": price and price.reasoning,
        "as_of": price and price.as_of,
        "source": info.source,
        "context": info.context,
        "max_output": info.max_output,
        "parameters": info.parameters,
        "installed": info.model in here if info.kind == "embedded" else None,
        "state": _state(info, settings, here),
    }


def pull_model(output: Output, name: str) -> int:
    # Fetching takes an HTTP client along, which the lists here do without.
    from ....providers.embedded.weights import pull

    bar = _Bar(output, name)
    try:
        path = pull(name, progress=bar.report)
    finally:
        bar.end()
    output.out.line(str(path))
    return 0


class _Bar:
    """How far a pull is: one line that changes on a screen, else a line every few seconds."""

    def __init__(self, output: Output, name: str) -> None:
        self._output, self._name = output, name
        self._pause = 0.2 if output.err.width else 5.0
        self._last = -self._pause
        self._whole = self._unfinished = False

    def report(self, done: int, total: int, source: str) -> None:
        now, whole = time.monotonic(), done >= total
        soon = self._whole if whole else now - self._last < self._pause
        if self._output.quiet or soon:
            return
        self._last, self._whole = now, whole
        line = f"{self._name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB ({done / total:.0%}) from {source}"
        err = self._output.err
        if err.width is None:
            err.line(line)
        else:
            err.write(f"\r{clip(line, err.width - 1):{err.width - 1}}")
            self._unfinished = True

    def end(self) -> None:
        if self._unfinished:
            self._output.err.line()


def list_protocols(output: Output, as_json: bool) -> int:
    for reason in protocols.broken().values():
        output.error(str(reason))
    pages = protocols.loaded()
    if as_json:
        output.json([described(page) for page in pages])
        return 0
    out = output.out
    for page in pages:
        out.lines(fitted(out, f"{page.name}: {page.summary}", "bold"))
        rows = [
            (name, _shown(option.default), f"{flat(option.help)}{_bounds(option)}")
            for name, option in page.options.items()
        ]
        out.lines(f"  {line}" for line in columns(rows, width=out.width and out.width - 2))
        for preset, values in page.presets.items():
            told = ", ".join(f"{name}={value}" for name, value in values.items())
            out.line(f"  --{preset}: {told}")
        out.line(f"  {_calls(page)}", "dim")
    return 0


def _bounds(option: Option) -> str:
    if option.allowed:
        return f" ({', '.join(choice or '-' for choice in option.allowed)})"
    if option.low is None and option.high is None:
        return ""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (option.low, option.high))
    return f" ({low} … {high})"


def _calls(page: Protocol) -> str:
    facts = [f"needs {quantity(page.quorum, 'seat')}"]
    if (calls := calls_of_three(page)) is not None:
        least, most = calls
        facts.append(f"with three, {f'{least} to ' if most != least else ''}{quantity(most, 'call')}")
    if page.quorum_given is not None:
        facts.append("accepts --responses")
    return "; ".join(facts)


def show_config(output: Output, as_json: bool) -> int:
    settings = describe(open_settings())
    if as_json:
        output.json({s.key: {"value": s.value, "origin": s.origin} for s in settings})
        return 0
    rows = [("key", "value", "from"), *((s.key, _shown(s.value), s.origin) for s in settings)]
    _table(output, rows)
    return 0


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _home(path: str) -> Path:
    try:
        return expand_path(path)
    except ValueError as exc:
        raise ConfigError(f"$PNYX_CONFIG {exc}") from exc


def show_paths(output: Output, as_json: bool) -> int:
    named = os.environ.get("PNYX_CONFIG")
    places = {
        "user file": config_dir() / "config.toml",
        "project file": _home(named) if named else Path.cwd() / PROJECT_FILE,
        "data": data_dir(),
        "models": models_dir(),
    }
    if as_json:
        output.json({name: {"path": str(p), "exists": p.exists()} for name, p in places.items()})
        return 0
    output.out.lines(columns((n, str(p), "" if p.exists() else "not there") for n, p in places.items()))
    return 0


def check_config(output: Output) -> int:
    open_settings(panel=True)
    output.note("the settings are fine")
    return 0


def trust_folder(output: Output) -> int:
    keys = trust_here(Path.cwd())
    if keys:
        output.note(f"trusted in {Path.cwd()}: {', '.join(keys)}")
    else:
        output.note(f"{PROJECT_FILE} sets nothing that needs trust")
    return 0


def _table(output: Output, rows: list[Any], right: tuple[int, ...] = ()) -> None:
    for i, line in enumerate(columns(rows, right, output.out.width)):
        output.out.line(line, *(("bold",) if i == 0 else ()))
