"""The first settings file: a panel for the providers, the style and the budget that a person chooses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .... import protocols
from ....config.layers import dotted
from ....errors import ConfigError, UsageError
from ....providers.catalogue import FAST, STRONG, parse_seats

__all__ = ["FirstSettings", "panel_of", "seats_for"]

STYLE_PROTOCOLS: Mapping[str, tuple[str, str | None]] = {
    "fast": ("voting", None),
    "balanced": ("auto", None),
    "thorough": ("consensus", "deep"),
}
"""Style -> protocol and preset."""
MOST = 3
"""The most models of a host that has no usual ones."""


@dataclass(frozen=True, slots=True)
class FirstSettings:
    """What the file says.

    seats: style -> the panel that is saved under its name. style: of the usual panel. providers: tables of
    hosts that are not built in. budget_usd: None for no cap. unpriced: models whose price is unknown, so that
    a cap would refuse them.
    """

    seats: Mapping[str, tuple[str, ...]]
    style: str
    providers: Mapping[str, Mapping[str, str]]
    budget_usd: float | None
    unpriced: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The tables, as `config.load` reads them."""
        protocol, preset = STYLE_PROTOCOLS[self.style]
        tables: dict[str, Any] = {"providers": self.providers} if self.providers else {}
        tables |= {"panel": {"seats": list(self.seats[self.style])}, "run": {"protocol": protocol}}
        if preset is not None:
            tables[protocol] = dict(protocols.get(protocol).presets[preset])
        if self.budget_usd is not None and not self.unpriced:
            tables["budget"] = {"run_usd": self.budget_usd}
        return tables | {"panels": {style: self._saved(style) for style in STYLE_PROTOCOLS}}

    @property
    def preview(self) -> dict[str, Any]:
        """The tables for a look at the panel before the file has all prices: no cap refuses it."""
        return self.document | ({"budget": {"allow_unknown_price": True}} if self.unpriced else {})

    def _saved(self, style: str) -> dict[str, Any]:
        protocol, preset = STYLE_PROTOCOLS[style]
        saved = {"seats": list(self.seats[style]), "protocol": protocol}
        return saved if preset is None else {**saved, "preset": preset}

    def text(self) -> str:
        """The file, as TOML."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield "# Written by `pnyx init`. `pnyx config show` lists all settings with their values and origins."
        for name, table in self.document.items():
            named = name in ("providers", "panels")
            tables = {f"{name}.{one}": inner for one, inner in table.items()} if named else {name: table}
            for header, values in tables.items():
                yield ""
                yield f"[{header}]"
                yield from (f"{key} = {_toml(value)}" for key, value in values.items())
        if self.unpriced:
            yield ""
            yield "# Fill in the prices, in USD per million tokens; a budget needs them."
        for ref in self.unpriced:
            yield f"# [{dotted(['models', ref])}]"
            yield from ("# input_price = 0.0", "# output_price = 0.0")
        if self.unpriced and self.budget_usd is not None:
            yield from ("# [budget]", f"# run_usd = {self.budget_usd:g}")


def _toml(value: Any) -> str:
    """A text, number, truth value or list of texts as TOML."""
    if isinstance(value, list):
        return "[{}]".format(", ".join(map(_toml, value)))
    return json.dumps(value, ensure_ascii=True)


def panel_of(specs: Sequence[str]) -> tuple[str, ...]:
    """Return the seats ("provider:model", or with *N); of a single one three, which every style can use."""
    refs = parse_seats(specs)
    return (f"{refs[0]}*3",) if len(refs) == 1 else tuple(specs)


def seats_for(
    kinds: Mapping[str, str], listed: Mapping[str, frozenset[str] | None], style: str
) -> tuple[str, ...]:
    """Propose seats. kinds: provider -> its kind. listed: provider -> the models of its host, or None.

    A panel has three seats or more: a single model takes them all, and to two comes one of another size.
    Raises `UsageError` if a host has no model to propose.
    """
    usual, other = (FAST, STRONG) if style == "fast" else (STRONG, FAST)
    refs, spare = list[str](), list[str]()
    for name, kind in kinds.items():
        models: Sequence[str] = usual.get(kind, ()) if kind == name else ()
        models = models or sorted(listed.get(name) or ())[:MOST]
        if not models:
            raise UsageError(f"{name} lists no models; name the seats with --model {name}:MODEL")
        refs += [f"{name}:{model}" for model in models]
        spare += [f"{name}:{model}" for model in (other.get(kind, ()) if kind == name else ())]
    if not refs:
        raise ConfigError("no provider is chosen")
    return panel_of((*refs, *spare[:1]) if len(refs) == 2 else refs)
