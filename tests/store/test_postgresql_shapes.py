"""PostgreSQL as administrators set it up: other defaults, schemas, encodings, addresses and passwords."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg  # type: ignore[import-untyped]  # it ships no types
import pytest
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.util import await_only

import pnyx
from pnyx.errors import ConfigError, StoreError
from pnyx.store import Database
from pnyx.store.queue import Queue
from tests.store.test_postgresql import settle_one

TEXT = "Ωhy? 日本語 \U0001f600"


def parts(url: str) -> URL:
    return make_url(url).set(drivername="postgresql")


async def execute(url: str, *statements: str) -> None:
    """Execute the statements as the owner of the database, whose name is written {db}."""
    connection = await asyncpg.connect(parts(url).render_as_string(hide_password=False))
    try:
        for statement in statements:
            await connection.execute(statement.format(db=parts(url).database))
    finally:
        await connection.close()


async def is_usable(url: str) -> bool:
    """Whether a debate is answered and read again, and the queue takes a run."""
    providers = {"m": pnyx.FakeProvider(lambda call: f"Final answer: {TEXT}")}
    settings = pnyx.load_settings(overrides={"storage": {"url": url}})
    done = await pnyx.ask(TEXT, panel=["m:a", "m:b"], rounds=1, providers=providers, settings=settings)
    assert await pnyx.resume(done.run_id, settings=settings) == done
    queue = await Queue.open(url)
    await queue.defer("r1", "me")
    assert await queue.queued_runs(["r1"]) == {"r1": True}
    await queue.close()
    return (done.status, done.final_answer, done.question) == ("consensus", TEXT, TEXT)


@pytest.mark.parametrize(
    "defaults",
    [
        {"timezone": "'Asia/Kolkata'", "datestyle": "'SQL, DMY'", "intervalstyle": "iso_8601"},
        {"default_transaction_isolation": "serializable", "standard_conforming_strings": "off"},
        {"bytea_output": "escape", "extra_float_digits": "0", "quote_all_identifiers": "on"},
        {"lock_timeout": "'1s'", "idle_in_transaction_session_timeout": "'1s'", "statement_timeout": "'9s'"},
        {"client_encoding": "LATIN1", "row_security": "off", "default_transaction_deferrable": "on"},
    ],
    ids=lambda defaults: next(iter(defaults)),
)
async def test_other_defaults_of_a_database_change_nothing(
    postgres_url: str, defaults: Mapping[str, str]
) -> None:
    settings = (f"ALTER DATABASE {{db}} SET {name} = {value}" for name, value in defaults.items())
    await execute(postgres_url, *settings)
    assert await is_usable(postgres_url)


async def test_each_schema_of_a_search_path_is_a_database_of_its_own(postgres_url: str) -> None:
    await execute(postgres_url, 'CREATE SCHEMA "My App"', "CREATE SCHEMA two")
    for schema in ('"My\\ App"', "two", "public"):
        assert await is_usable(f"{postgres_url}?options={quote(f'-c search_path={schema}')}")
    await execute(postgres_url, "ALTER DATABASE {db} SET search_path = nowhere")
    with pytest.raises(StoreError, match=r"no schema has been selected .*; create the schema"):
        await Database.open(postgres_url)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
async def test_a_new_database_that_lacks_characters_is_refused_before_the_first_call(
    postgres_url: str, encoding: str
) -> None:
    name = f"{parts(postgres_url).database}_{encoding.lower()}"
    await execute(postgres_url, f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    try:
        with pytest.raises(StoreError, match=f"has the encoding {encoding}.*ENCODING 'UTF8'"):
            await Database.open(make_url(postgres_url).set(database=name).render_as_string(False))
    finally:
        await execute(postgres_url, f"DROP DATABASE {name}")


async def test_any_password_and_name_can_be_written_in_the_address(postgres_url: str) -> None:
    password, role = "p@s:s/w?o#r%d &=+'\"\\,é", f"guest:{parts(postgres_url).database}@x"
    literal = password.replace("'", "''")
    await execute(postgres_url, f"CREATE ROLE \"{role}\" LOGIN SUPERUSER PASSWORD '{literal}'")
    url = parts(postgres_url)
    address = f"{quote(role, safe='')}:{quote(password, safe='')}@{url.host}:{url.port}/{url.database}"
    assert await is_usable(f"postgresql://{address}")


async def test_the_password_and_the_address_may_come_from_the_files_and_variables_of_libpq(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = parts(postgres_url)
    address = f"postgresql://{url.username}@{url.host}:{url.port}/{url.database}"
    with monkeypatch.context() as variables:
        variables.setenv("PGPASSWORD", str(url.password))
        assert await is_usable(address)
    passwords, services = tmp_path / "passwords", tmp_path / "services"
    passwords.write_text(f"{url.host}:{url.port}:*:{url.username}:{url.password}\n")
    passwords.chmod(0o600)
    with monkeypatch.context() as variables:
        variables.setenv("PGPASSFILE", str(passwords))
        assert await is_usable(address)
    lines = ("[lab]", f"host={url.host}", f"port={url.port}", f"user={url.username}")
    services.write_text("\n".join((*lines, f"password={url.password}", f"dbname={url.database}")))
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    assert await is_usable("postgresql:///?service=lab")
    monkeypatch.setenv("PGSERVICE", "lab")
    assert await is_usable("postgresql://")
    with pytest.raises(ConfigError, match=r"names a service that is not in .*: other"):
        await Database.open("postgresql:///?service=other")


async def test_of_several_hosts_the_one_that_takes_writes_is_used(postgres_url: str) -> None:
    url = parts(postgres_url)
    address = f"{url.username}:{url.password}@127.0.0.1:9,{url.host}:{url.port}/{url.database}"
    assert await is_usable(f"postgresql://{address}?target_session_attrs=read-write")


async def test_reading_works_on_a_database_that_takes_no_writes(postgres_url: str) -> None:
    database = await Database.open(postgres_url)
    await database.close()
    await execute(postgres_url, "ALTER DATABASE {db} SET default_transaction_read_only = on")
    database = await Database.open(postgres_url)
    await database.check()
    with pytest.raises(StoreError, match=r"takes no writes now: .*default_transaction_read_only"):
        await database.write(settle_one)
    await database.close()


@pytest.mark.parametrize("name", ["statement_timeout", "lock_timeout"])
async def test_a_limit_of_the_server_is_named(postgres_url: str, name: str) -> None:
    database, other = await Database.open(postgres_url), await Database.open(postgres_url)
    locked, over = asyncio.Event(), asyncio.Event()

    def lock(connection: Connection) -> None:
        connection.execute(text("LOCK TABLE ledger"))
        locked.set()
        await_only(over.wait())

    def wait(connection: Connection) -> Any:
        connection.execute(text(f"SET LOCAL {name} = '100ms'"))
        return settle_one(connection)

    holder = other.submit(lock)
    await locked.wait()
    with pytest.raises(StoreError, match=f"{name.replace('_', ' ')}; raise the {name}"):
        await database.write(wait)
    over.set()
    await holder
    for each in (database, other):
        await each.close()
