"""The links to runs in the database: what interfaces read and change of them."""

from __future__ import annotations

from functools import partial

from sqlalchemy import Connection

from ...store import Database
from ...store.records import runs as store
from ...store.records import shares
from ..access.keys import hash_key
from ..access.shares import DEFAULT_S, expiry, new_token

__all__ = ["ShareRecords"]


class ShareRecords:
    """Makes, lists and revokes links to runs. Every method raises `StoreError` if the database fails.

    owner: only links to runs of this owner; None: of any owner. prefix: a run's id, or a unique prefix of it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(
        self, prefix: str, expires_s: float = DEFAULT_S, owner: str | None = None
    ) -> tuple[str, shares.ShareRow]:
        """Make a link to a run, valid for `expires_s` seconds. Return its token and its row.

        Raises `NotFound`, and `UsageError` for a longer time than a link may be valid.
        """
        id, token = new_token()
        until = expiry(expires_s, self._database.now())

        def add(connection: Connection) -> shares.ShareRow:
            row = store.find(connection, prefix, owner)
            shares.add(connection, id, row.id, hash_key(token), self._database.now(), until)
            found = shares.find(connection, id)
            assert found is not None, "it was stored just now"
            return found

        return token, await self._database.write(add)

    async def listing(self, prefix: str = "", owner: str | None = None) -> list[shares.ShareRow]:
        """The links to a run, newest first; without `prefix`, to all runs. Raises `NotFound`."""

        def read(connection: Connection) -> list[shares.ShareRow]:
            run_id = store.find(connection, prefix, owner).id if prefix else None
            return shares.listing(connection, run_id, owner)

        return await self._database.read(read)

    async def revoke(self, prefix: str, owner: str | None = None, link: str = "") -> list[str]:
        """Revoke the links to a run, or only those whose ids start with `link`. Return their ids.

        Raises `NotFound`.
        """

        def revoke(connection: Connection) -> list[str]:
            run_id = store.find(connection, prefix, owner).id
            return [*shares.revoke(connection, run_id, self._database.now(), link)]

        return await self._database.write(revoke)

    async def find(self, id: str) -> shares.ShareRow | None:
        """The link with this id, or None."""
        return await self._database.read(partial(shares.find, id=id))
