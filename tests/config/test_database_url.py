"""URLs of databases: all common forms are parsed, and messages contain no secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.engine import URL

from pnyx.config.database_url import PARAMETERS, SSL_MODES, Server, parse_database_url

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def parameters(url: str) -> dict[str, str]:
    where = parse_database_url(url)
    assert isinstance(where, Server)
    return dict(where.parameters)


@given(user=TEXT.filter(bool), password=TEXT, name=TEXT, port=st.none() | st.integers(1, 65535))
def test_a_url_written_by_sqlalchemy_is_parsed_to_the_same_parts(
    user: str, password: str, name: str, port: int | None
) -> None:
    url = URL.create("postgresql+asyncpg", user, password or None, "db.example", port, name or None)
    parts = {"user": user, "password": password, "port": str(port or ""), "dbname": name}
    expected = {k: v for k, v in parts.items() if v} | {"host": "db.example"}
    assert parameters(url.render_as_string(hide_password=False)) == expected


@pytest.mark.parametrize(
    "scheme", ["postgresql", "postgres", "postgresql+asyncpg", "postgresql+psycopg2", "postgres+any"]
)
def test_every_scheme_of_postgresql_is_accepted(scheme: str) -> None:
    assert parameters(f"{scheme}://u:p%40s@h:5433/db?sslmode=require") == {
        **{"user": "u", "password": "p@s", "host": "h", "port": "5433", "dbname": "db"},
        "sslmode": "require",
    }


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("postgresql://", {}),
        ("postgresql:///db", {"dbname": "db"}),
        ("postgresql://[::1]:5/db", {"host": "::1", "port": "5", "dbname": "db"}),
        ("postgresql://h,i/db", {"host": "h,i", "dbname": "db"}),
        ("postgresql://h:1,[::1],i:3/db", {"host": "h,::1,i", "port": "1,5432,3", "dbname": "db"}),
        ("postgresql://%2Frun%2Fpg/db", {"host": "/run/pg", "dbname": "db"}),
        ("postgresql://u:a/b?c:d@h", {"user": "u", "password": "a/b?c:d", "host": "h"}),
        (
            "postgresql://u:p@h/db?password=other&database=x&ssl=allow&port=1,2",
            {
                **{"user": "u", "password": "other", "host": "h", "dbname": "x"},
                **{"sslmode": "allow", "port": "1,2"},
            },
        ),
    ],
)
def test_a_url_becomes_the_parameters_of_libpq(url: str, found: dict[str, str]) -> None:
    assert parameters(url) == found


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://u:p@h:1/db?sslmode=allow", "postgresql://u@h:1/db"),
        ("postgresql://u:p@[::1]:5,i/db", "postgresql://u@[::1]:5,i:5432/db"),
        ("postgresql://h,i/db?port=7", "postgresql://h:7,i:7/db"),
    ],
)
def test_the_name_in_messages_is_the_address_without_the_password(url: str, name: str) -> None:
    where = parse_database_url(url)
    assert isinstance(where, Server)
    assert where.name == name


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://u:p@planted:planted@host/db", "@ is written %40"),
        ("postgresql://u:p@planted/planted@host/db", "@ is written %40"),
        ("postgresql://u:p@planted?planted=1@host/db", "@ is written %40"),
        ("postgresql://pl/anted:planted@host/db", "/ is %2F"),
        ("postgresql://u:planted@h:1:2/db", "must be postgresql://USER"),
        ("postgresql://u:planted@[::1/db", "must be postgresql://USER"),
        ("postgresql://u:planted/db", "must have a port from 1 to 65535"),
        ("postgresql://u:planted@h:99999/db", "must have a port from 1 to 65535"),
        ("postgresql://u:planted@h:0/db", "must have a port from 1 to 65535"),
        (f"postgresql://u:planted@h:{'9' * 5000}/db", "must have a port from 1 to 65535"),
        ("postgresql://u:planted@h/db?port=x", "must have a port from 1 to 65535"),
        ("postgresql://u:planted@h/db?sslmode=planted", f"one of {', '.join(SSL_MODES)}"),
        ("postgresql://u:planted@h/db?sslmode=allow&ssl=allow", "each of its parameters once"),
        ("postgresql://u:planted@h/d%00b", "must not contain a NUL character"),
        ("mysql://u:planted@h/db", "must begin with sqlite:// or postgresql://"),
    ],
)
def test_problems_of_a_url_are_reported_without_the_password(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^must ") as refused:
        parse_database_url(url)
    assert message in str(refused.value)
    assert "planted" not in str(refused.value)


def test_unknown_parameters_are_reported_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown") as refused:
        parse_database_url("postgresql://u@h/db?sslmode=require&channel_binding=planted&f%1bo")
    known = ", ".join(PARAMETERS)
    assert str(refused.value) == rf'has unknown parameters: channel_binding, "f\u001bo"; there are: {known}'


@pytest.mark.parametrize("url", ["sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"])
def test_an_sqlite_url_names_a_file(url: str) -> None:
    assert parse_database_url(f"{url}:///runs%20of.db") == Path("runs of.db")
    assert parse_database_url(f"{url}:////srv/runs.db") == Path("/srv/runs.db")


@pytest.mark.parametrize(
    "url",
    [
        *("sqlite://", "sqlite:///", "sqlite:////", "sqlite:///:memory:", "sqlite://runs.db"),
        *("sqlite:///runs.db?mode=ro", "sqlite:///?", "", ".", ":memory:", "/srv/:memory:"),
    ],
)
def test_an_sqlite_url_without_a_file_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ValueError, match=r"must name a file.*: sqlite:///runs\.db .*, or sqlite:////srv/"):
        parse_database_url(url)


@pytest.mark.parametrize("url", ["a\0b", "sqlite:///a\0b", "sqlite:///a%00b"])
def test_an_impossible_path_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="must not contain a NUL character"):
        parse_database_url(url)


def test_the_name_of_a_database_contains_no_secret() -> None:
    def name(url: str) -> Any:
        where = parse_database_url(url)
        assert "planted" not in repr(where)
        return where.name

    secret = "postgres://u:planted@h:5/db?sslpassword=planted&sslmode=require"
    assert name(secret) == "postgresql://u@h:5/db"
    assert name("postgresql:///db?host=/run/pg&user=u&password=planted") == "postgresql://u@/run/pg/db"
    assert name("postgresql://[::1]:5/d%1bb") == "postgresql://[::1]:5/d%1Bb"
