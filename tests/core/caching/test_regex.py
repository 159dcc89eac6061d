"""Patterns that are compiled on first use."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import pytest

import pnyx
from pnyx.core.caching.regex import regex

HEAVY = ("evaluate", "http")
"""Packages that need an extra or take long to import; their own tests import them."""


def test_it_behaves_like_the_pattern() -> None:
    pattern = regex(r"(?P<letter>[a-z])\d", re.IGNORECASE)
    found = pattern.search("x A1")
    assert found is not None
    assert found["letter"] == "A"
    assert pattern.sub(r"<\g<letter>>", "a1b2") == "<a><b>"
    assert (pattern.pattern, pattern.groups) == (r"(?P<letter>[a-z])\d", 1)
    assert regex(rb"\d+").findall(b"1 22") == [b"1", b"22"]


def test_it_is_compiled_once_on_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    real = re.compile

    def compile(*arguments: Any) -> Any:
        compiled.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(re, "compile", compile)
    pattern = regex("a+")
    assert not compiled
    assert [pattern.match("aa"), pattern.fullmatch("aa"), pattern.search("baa")].count(None) == 0
    assert compiled == [("a+", 0)]


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        regex("a").searches  # type: ignore[attr-defined]  # noqa: B018


def test_every_pattern_of_pnyx_can_be_compiled() -> None:
    seen = 0
    for found in pkgutil.walk_packages(pnyx.__path__, "pnyx."):
        if found.name.endswith("__main__") or any(f".{part}" in found.name for part in HEAVY):
            continue
        if found.name.startswith("pnyx.store.migrations"):
            continue
        module = importlib.import_module(found.name)
        for value in vars(module).values():
            for one in value if isinstance(value, tuple | list) else (value,):
                if type(one).__name__ == "_LazyPattern":
                    assert one.pattern
                    seen += 1
    assert seen > 100
