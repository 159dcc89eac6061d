"""Refuses to build a wheel without the web page, which `make web` builds and git does not keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        page = Path(self.root, "src/pnyx/interfaces/web/index.html")
        if version != "editable" and not page.is_file():
            raise FileNotFoundError(f"{page} is not there: the page is not built; run: make web")
