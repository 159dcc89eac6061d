"""The actions of `pnyx models`, `protocols`, `config` and `trust`."""

from __future__ import annotations

import os
import time
from collections.abc import Set
from pathlib import Path
from typing import Any

from .... import protocols
from ....config.describe import describe
from ....config.paths import config_dir, data_dir, expand_path, models_dir
from ....config.schema import OWN, Settings
from ....config.stored_keys import ENVIRONMENT
from ....config.trust import PROJECT_FILE
from ....config.trust import trust as trust_here
from ....core.protocol import Option, Protocol
from ....errors import ConfigError, NotFound
from ....providers.catalogue import Catalogue, ModelInfo, parse_seats
from ....providers.embedded.weights import find, installed
from ....providers.embedded.weights_table import KNOWN
from ....providers.installed import KINDS, key_variables
from ...process.open_settings import open_settings
from ...render.terminal import clip, columns, flat, wrap
from ...views.catalogue import calls_with_three_seats, describe_protocol, models_by_name
from ...views.transcript import quantity
from ..terminal.output import Output
from ..terminal.plain import WIDE, paragraph

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
    local = set(installed())
    panel = parse_seats(settings.panel.seats)
    catalogue = Catalogue(settings)
    infos = [catalogue.describe(ref) for ref in models_by_name(settings, local)]
    if as_json:
        output.json([_model(info, panel, settings, local) for info in infos])
        return 0
    rows = [["model", "seats", "in", "out", "as of", "window", "state"]]
    for info in infos:
        price, state = info.price, _state(info, settings, local)
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
    _table(output, rows, right=(1, 2, 3, 5), least=(4, 5, 1))
    out = output.out
    out.lines(paragraph(out, "in, out: USD per million tokens", "dim"))
    if absent := [name for name in KNOWN if name not in local]:
        out.lines(paragraph(out, f"install an embedded model with: pnyx models pull {absent[0]}", "dim"))
    return 0


def _state(info: ModelInfo, settings: Settings, local: Set[str]) -> str:
    if info.kind == "embedded":
        if info.model in local:
            return "installed"
        if info.model in KNOWN:
            return f"not installed: {KNOWN[info.model].command}"
        try:
            find(info.model)
        except NotFound:
            return "missing"
        return "a file"
    if info.kind != OWN and KINDS.find(info.kind) is None:
        return "unusable kind: see pnyx doctor"
    variables = key_variables(settings.provider(info.provider))
    if not variables:
        return "requires no key"
    found = next((variable for variable in variables if ENVIRONMENT.get(variable)), None)
    if found and not os.environ.get(found):
        return f"key of ${found} in the keyring"
    return f"key in ${found}" if found else f"no key: set {' or '.join(f'${v}' for v in variables)}"


def _model(info: ModelInfo, panel: tuple[str, ...], settings: Settings, local: Set[str]) -> dict[str, Any]:
    price = info.price
    return {
        "model": info.ref,
        "provider": info.provider,
        "kind": info.kind,
        "seats": panel.count(info.ref),
        "input_price": price and price.input,
        "cached_price": price and price.cached,
        "cache_write_price": price and price.cache_write,
        "output_price": price and price.output,
        "reasoning_price": price and price.reasoning,
        "as_of": price and price.as_of,
        "source": info.source,
        "context": info.context,
        "images": info.images,
        "max_output": info.max_output,
        "parameters": info.parameters,
        "installed": info.model in local if info.kind == "embedded" else None,
        "state": _state(info, settings, local),
    }


def pull_model(output: Output, name: str) -> int:
    # Only a download requires the HTTP client.
    from ....providers.embedded.weights import pull

    bar = _Bar(output, name)
    try:
        path = pull(name, progress=bar.report)
    finally:
        bar.end()
    output.out.line(str(path))
    return 0


class _Bar:
    """The progress of a download: one line that is redrawn on a terminal, else a line every few seconds."""

    def __init__(self, output: Output, name: str) -> None:
        self._output, self._name = output, name
        self._pause = 0.2 if output.err.width else 5.0
        self._last = -self._pause
        self._complete = self._open_line = False

    def report(self, done: int, total: int, source: str) -> None:
        now, complete = time.monotonic(), done >= total
        too_soon = self._complete if complete else now - self._last < self._pause
        if self._output.quiet or too_soon:
            return
        self._last, self._complete = now, complete
        line = f"{self._name}: {done / 1e6:,.0f} of {total / 1e6:,.0f} MB ({done / total:.0%}) from {source}"
        err = self._output.err
        if err.width is None:
            err.line(line)
        else:
            err.write(f"\r{clip(line, err.width - 1):{err.width - 1}}")
            self._open_line = True

    def end(self) -> None:
        if self._open_line:
            self._output.err.line()


def list_protocols(output: Output, as_json: bool) -> int:
    for reason in protocols.broken().values():
        output.error(str(reason))
    known = protocols.loaded()
    if as_json:
        output.json([describe_protocol(protocol) for protocol in known])
        return 0
    out = output.out
    for protocol in known:
        out.lines(paragraph(out, f"{protocol.name}: {protocol.summary}", "bold"))
        rows = [
            (name, _format(option.default), f"{flat(option.help)}{_bounds(option)}")
            for name, option in protocol.options.items()
        ]
        out.lines(f"  {line}" for line in columns(rows, width=out.width and out.width - 2))
        for preset, values in protocol.presets.items():
            options = ", ".join(f"{name}={value}" for name, value in values.items())
            out.lines(wrap(f"--{preset}: {options}", out.width or WIDE, "  "))
        out.lines(out.paint(line, "dim") for line in wrap(f"  {_calls(protocol)}", out.width or WIDE))
    return 0


def _bounds(option: Option) -> str:
    if option.allowed:
        return f" ({', '.join(choice or '-' for choice in option.allowed)})"
    if option.low is None and option.high is None:
        return ""
    low, high = ("" if bound is None else f"{bound:g}" for bound in (option.low, option.high))
    return f" ({low} … {high})"


def _calls(protocol: Protocol) -> str:
    facts = [f"requires {quantity(protocol.quorum, 'seat')}"]
    if (calls := calls_with_three_seats(protocol)) is not None:
        least, most = calls
        facts.append(f"{f'{least} to ' if most != least else ''}{quantity(most, 'call')} with three seats")
    if protocol.quorum_given is not None:
        facts.append("accepts --responses")
    return "; ".join(facts)


def show_config(output: Output, as_json: bool) -> int:
    settings = describe(open_settings())
    if as_json:
        output.json({s.key: {"value": s.value, "origin": s.origin} for s in settings})
        return 0
    rows = [("key", "value", "from"), *((s.key, _format(s.value), s.origin) for s in settings)]
    _table(output, rows, least=(2,))
    return 0


def _format(value: Any) -> str:
    if value is None or value == "":
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _expand(path: str) -> Path:
    try:
        return expand_path(path)
    except ValueError as exc:
        raise ConfigError(f"$PNYX_CONFIG {exc}") from exc


def show_paths(output: Output, as_json: bool) -> int:
    variable = os.environ.get("PNYX_CONFIG")
    paths = {
        "user file": config_dir() / "config.toml",
        "project file": _expand(variable) if variable else Path.cwd() / PROJECT_FILE,
        "data": data_dir(),
        "models": models_dir(),
    }
    if as_json:
        output.json({name: {"path": str(p), "exists": p.exists()} for name, p in paths.items()})
        return 0
    output.out.lines(columns((n, str(p), "" if p.exists() else "does not exist") for n, p in paths.items()))
    return 0


def check_config(output: Output) -> int:
    open_settings(panel=True)
    output.note("the settings are valid")
    return 0


def trust_folder(output: Output) -> int:
    keys = trust_here(Path.cwd())
    if keys:
        output.note(f"trusted in {Path.cwd()}: {', '.join(keys)}")
    else:
        output.note(f"{PROJECT_FILE} has no settings that require trust")
    return 0


def _table(output: Output, rows: list[Any], right: tuple[int, ...] = (), least: tuple[int, ...] = ()) -> None:
    for i, line in enumerate(columns(rows, right, output.out.width, least)):
        output.out.line(line, *(("bold",) if i == 0 else ()))
