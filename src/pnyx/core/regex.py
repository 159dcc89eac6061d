"""Regular expressions that are compiled when they are first used.

Most texts need few of pnyx's, and compiling them all was a tenth of a second of every start.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["regex"]

_OFFERED = tuple(name for name in dir(re.Pattern) if not name.startswith("_"))


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile`, later: what is wrong with `pattern` is told by its first use."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))


class _Later:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._arguments = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _OFFERED:
            raise AttributeError(name)
        compiled: re.Pattern[Any] = re.compile(*self._arguments)
        # From now on these are found without coming here, as fast as on the pattern itself.
        self.__dict__.update({offered: getattr(compiled, offered) for offered in _OFFERED})
        return self.__dict__[name]
