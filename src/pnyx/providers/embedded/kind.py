"""The kind `embedded`: models that run on this machine, registered as an entry point in pyproject.toml."""

from __future__ import annotations

from ...config.paths import models_dir
from ..adapter import AnyProvider
from ..kind import ProviderConfig, ProviderKind

__all__ = ["EMBEDDED"]


def _open(config: ProviderConfig) -> AnyProvider:
    # The runtime is a native library, which a hosted panel never loads.
    from .provider import open_embedded

    return open_embedded(
        models_dir(config.env), slots=config.slots, context=config.context, threads=config.threads
    )


EMBEDDED = ProviderKind(
    name="embedded", open=_open, settings=("slots", "context", "threads"), free=True, extra="embedded"
)
