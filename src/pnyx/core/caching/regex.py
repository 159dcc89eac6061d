"""Regular expressions that are compiled on first use.

Most texts need few of them, and compiling all of them took a tenth of a second at every start.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["regex"]

_ATTRIBUTES = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile(pattern, flags)`, deferred to the first use, which raises `re.error` if it is invalid."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _ATTRIBUTES:
            raise AttributeError(name)
        compiled: re.Pattern[Any] = re.compile(*self._arguments)
        # Later look-ups find these in __dict__ without __getattr__, as fast as on the pattern itself.
        self.__dict__.update({attribute: getattr(compiled, attribute) for attribute in _ATTRIBUTES})
        return self.__dict__[name]
