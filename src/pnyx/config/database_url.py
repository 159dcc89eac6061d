"""Where runs are kept, as a path or a URL tells it: read here, once, for the settings and for every driver.

What is wrong is told in none of the URL's own words but the names of parameters: others may be a password's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from .layers import dotted
from .paths import expanded

__all__ = ["Server", "parse_database_url"]

PARAMETERS = (
    *("host", "port", "user", "password", "dbname", "passfile", "service", "application_name", "options"),
    *("target_session_attrs", "krbsrvname", "gsslib", "prepared_statement_cache_size"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslnegotiation"),
    *("ssl_min_protocol_version", "ssl_max_protocol_version"),
)
"""What the URL of a PostgreSQL may tell: what both libpq and asyncpg have, and one of SQLAlchemy's."""
ALIASES = {"database": "dbname", "ssl": "sslmode"}
"""Names that asyncpg has for some of them."""
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

UNREADABLE = (
    "must be postgresql://USER:PASSWORD@HOST:PORT/NAME; in a name or password, @ is written %40 and / is %2F"
)
NO_FILE = (
    "must name a file that runs can be kept in, and no parameters: sqlite:///runs.db, or "
    "sqlite:////srv/runs.db from the root"
)


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL: what its URL gives of `PARAMETERS`, each as text that is not empty."""

    parameters: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The URL without what is nobody's business."""
        given = {name: quote(text, safe=" /,:") for name, text in self.parameters.items()}
        user, host, port = given.get("user"), given.get("host", ""), given.get("port")
        host = f"[{host}]" if host.count(":") > 1 else host
        where = f"{user}@" if user else ""
        return f"postgresql://{where}{host}{f':{port}' if port else ''}/{given.get('dbname', '')}"


def parse_database_url(url: str) -> Path | Server:
    """The SQLite file, or the PostgreSQL, that a URL or a path names.

    Raises `ValueError`, which goes on after the name of what holds the URL: "must begin with ...".
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return _file(url)
    kind = scheme.partition("+")[0]
    if kind == "sqlite":
        # A host, or a relative path with two slashes, which are taken for each other.
        return _file(unquote(rest[1:]) if rest.startswith("/") and "?" not in rest else "")
    if kind not in ("postgresql", "postgres"):
        raise ValueError("must begin with sqlite:// or postgresql://, or be the path of an SQLite file")
    if "\0" in unquote(rest):
        raise ValueError("must be without NUL")
    return Server(_parameters(rest))


def _file(path: str) -> Path:
    file = expanded(path)
    if file.name in ("", ":memory:"):
        raise ValueError(NO_FILE)
    return file


def _parameters(rest: str) -> Mapping[str, str]:
    who, _, where = rest.rpartition("@")
    user, _, password = who.partition(":")
    where, _, query = where.partition("?")
    address, _, name = where.partition("/")
    spot = re.fullmatch(r"(\[[^\[\]]+\]|[^:\[\]]*)(?::([^:]*))?", address)
    # With a second @, a part of the password would be taken for the host, or for what stands behind it.
    if spot is None or "@" in who or re.search("[/?]", user):
        raise ValueError(UNREADABLE)
    host, port = spot[1].strip("[]"), spot[2] or ""
    given = {"user": user, "password": password, "host": host, "port": port, "dbname": name}
    asked = [(ALIASES.get(name, name), text) for name, text in parse_qsl(query, keep_blank_values=True)]
    if unknown := [dotted([name]) for name, _ in asked if name not in PARAMETERS]:
        raise ValueError(f"has unknown parameters: {', '.join(unknown)}; there are: {', '.join(PARAMETERS)}")
    if len(dict(asked)) < len(asked):
        raise ValueError("must name each of its parameters once")
    found = {name: unquote(text) for name, text in given.items()} | dict(asked)
    found = {name: text for name, text in found.items() if text}
    if not all(
        re.fullmatch("[0-9]{1,5}", p) and 0 < int(p) < 65536 for p in found.get("port", "1").split(",")
    ):
        raise ValueError("must have a port from 1 to 65535, or none")
    if found.get("sslmode", "prefer") not in SSL_MODES:
        raise ValueError(f"must have an sslmode that is one of {', '.join(SSL_MODES)}")
    return found
