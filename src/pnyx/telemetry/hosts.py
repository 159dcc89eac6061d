"""Providers as OpenTelemetry names them: the API that they speak, and the address of their host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

from ..config.schema import OWN, Settings
from ..errors import ConfigError
from ..providers.installed import KINDS, address

__all__ = ["Host", "Hosts"]

PORTS: Mapping[str, int] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Host:
    """provider: the value of `gen_ai.provider.name`. address, port: of its host; "" and 0 for none."""

    provider: str
    address: str = ""
    port: int = 0


class Hosts:
    """The hosts of the configured and the built-in providers."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.find = cache(self._find)

    def of(self, model: str) -> tuple[str, str, Host]:
        """Return the provider's name, the model's name at its host, and the host, of a model reference."""
        provider, _, name = model.partition(":")
        return provider, name, self.find(provider)

    def _find(self, name: str) -> Host:
        try:
            kind = self._settings.provider(name).kind
        except ConfigError:
            return Host(name)  # of a run that another machine's settings allow
        found = None if kind == OWN else KINDS.find(kind)
        api = name if kind == OWN else (found.telemetry_name if found else None) or kind
        url = urlsplit(address(self._settings, name) or "")
        if not url.hostname:
            return Host(api)
        return Host(api, url.hostname, url.port or PORTS.get(url.scheme, 0))
