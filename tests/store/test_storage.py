"""How much an owner's runs take, in both databases."""

from __future__ import annotations

from pnyx.store import Database
from pnyx.store.storage import stored_bytes
from tests.support.panels import Host
from tests.support.processes import Node, fixed_reply


async def test_the_bytes_of_an_owner_grow_with_its_runs_alone(database_url: str) -> None:
    node = Node(await Database.open(database_url), Host(fixed_reply))
    sizes = []
    for owner in ("ada", "ada", "bob"):
        await (await node.start(options={"rounds": 1}, owner=owner)).result()
        sizes.append(await node.database.read(lambda c: stored_bytes(c, "ada")))
    assert 0 < sizes[0] < sizes[1] == sizes[2]
    assert await node.database.read(lambda c: stored_bytes(c, "nobody")) == 0
    await node.runner.close()
