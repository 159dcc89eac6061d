"""Parses the path or URL of the database, for the settings and for every driver.

Error messages quote nothing of the URL except names of parameters, since any other part may be a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote

from .layers import dotted
from .paths import expand_path

__all__ = ["Server", "parse_database_url"]

PARAMETERS = (
    *("host", "port", "user", "password", "dbname", "passfile", "service", "application_name", "options"),
    *("target_session_attrs", "krbsrvname", "gsslib", "prepared_statement_cache_size"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcrl", "sslnegotiation"),
    *("ssl_min_protocol_version", "ssl_max_protocol_version"),
)
"""Parameters of a PostgreSQL URL: those of both libpq and asyncpg, and one of SQLAlchemy's."""
ALIASES = {"database": "dbname", "ssl": "sslmode"}
"""asyncpg's names for some of them."""
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

UNREADABLE = (
    "must be postgresql://USER:PASSWORD@HOST:PORT/NAME; in a name or password, @ is written %40 and / is %2F"
)
NO_FILE = (
    "must name a file, without parameters: sqlite:///runs.db in the working directory, or "
    "sqlite:////srv/runs.db with the full path"
)


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL server. parameters: those of `PARAMETERS` that its URL sets, as non-empty text."""

    parameters: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The URL without the password and other parameters, for messages."""
        parts = {name: quote(text, safe=" /,:") for name, text in self.parameters.items()}
        user, hosts = parts.get("user"), parts.get("host", "").split(",")
        ports = [f":{port}" if port else "" for port in parts.get("port", "").split(",")]
        ports = ports * len(hosts) if len(ports) == 1 else ports
        named = (f"[{host}]" if host.count(":") > 1 else host for host in hosts)
        address = ",".join(host + port for host, port in zip(named, ports, strict=False))
        return f"postgresql://{f'{user}@' if user else ''}{address}/{parts.get('dbname', '')}"


def parse_database_url(url: str) -> Path | Server:
    """Return the SQLite file or the PostgreSQL server of a URL or path.

    Raises `ValueError` with a message that continues the name of the setting: "must begin with ...".
    """
    scheme, colon, rest = url.partition("://")
    if not colon:
        return _file(url)
    kind = scheme.partition("+")[0]
    if kind == "sqlite":
        # With two slashes, a host and a relative path look alike: three are required.
        return _file(unquote(rest[1:]) if rest.startswith("/") and "?" not in rest else "")
    if kind not in ("postgresql", "postgres"):
        raise ValueError("must begin with sqlite:// or postgresql://, or be the path of an SQLite file")
    if "\0" in unquote(rest):
        raise ValueError("must not contain a NUL character")
    return Server(_parameters(rest))


def _file(path: str) -> Path:
    file = expand_path(path)
    if file.name in ("", ":memory:"):
        raise ValueError(NO_FILE)
    return file


def _parameters(rest: str) -> Mapping[str, str]:
    credentials, _, location = rest.rpartition("@")
    user, _, password = credentials.partition(":")
    location, _, query = location.partition("?")
    address, _, name = location.partition("/")
    matches = [re.fullmatch(r"(\[[^\[\]]+\]|[^:\[\]]*)(?::([^:]*))?", one) for one in address.split(",")]
    places = [(match[1].strip("[]"), match[2] or "") for match in matches if match is not None]
    # With a second @, a part of the password would become the host or the path.
    if len(places) < len(matches) or "@" in credentials or re.search("[/?]", user):
        raise ValueError(UNREADABLE)
    host, ports = ",".join(host for host, _ in places), [port for _, port in places]
    port = ",".join(port or "5432" for port in ports) if any(ports) and len(ports) > 1 else ports[0]
    from_path = {"user": user, "password": password, "host": host, "port": port, "dbname": name}
    from_query = [(ALIASES.get(name, name), text) for name, text in parse_qsl(query, keep_blank_values=True)]
    if unknown := [dotted([name]) for name, _ in from_query if name not in PARAMETERS]:
        raise ValueError(f"has unknown parameters: {', '.join(unknown)}; there are: {', '.join(PARAMETERS)}")
    if len(dict(from_query)) < len(from_query):
        raise ValueError("must name each of its parameters once")
    found = {name: unquote(text) for name, text in from_path.items()} | dict(from_query)
    found = {name: text for name, text in found.items() if text}
    if not all(
        re.fullmatch("[0-9]{1,5}", p) and 0 < int(p) < 65536 for p in found.get("port", "1").split(",")
    ):
        raise ValueError("must have a port from 1 to 65535, or none")
    if found.get("sslmode", "prefer") not in SSL_MODES:
        raise ValueError(f"must have an sslmode that is one of {', '.join(SSL_MODES)}")
    return found
