"""Unmodified clients against a real `pnyx serve`, whose models are scripted.

Tests that need what `make clients` installs have the marker `clients`. A test reports what a client did with
the fixture `report_client`; `make clients` writes the last reports into docs/clients.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pytest

from tests.interfaces.conftest import CONFIG
from tests.support import dialects
from tests.support.browsing import Serve, serving
from tests.support.scripted import Request, ScriptedHost

__all__ = ["Served"]

ANSWER = "It is six times seven.\nFinal answer: 42"
SETTINGS = """
[budget]
run_usd = 5
[models."lab:helper"]
input_price = 0.1
output_price = 0.1
[models."lab:delta"]
input_price = 1000000
output_price = 1000000
[serve.models."gpt-4o"]
protocol = "voting"
[serve.models."claude-sonnet-4-5"]
protocol = "voting"
[serve.models."title-helper"]
protocol = "single"
panel = ["lab:helper"]
footer = false
[serve.models."too-dear"]
protocol = "single"
panel = ["lab:delta"]
"""


@dataclass(frozen=True)
class Served:
    """The server that clients talk to, and the host of its models."""

    server: Serve
    host: ScriptedHost

    @property
    def environment(self) -> dict[str, str]:
        """What the scripts of clients read."""
        return {
            "PNYX_URL": self.server.url,
            "PNYX_KEY": self.server.key,
            "LAB_URL": self.host.url,
        }


def reply(request: Request) -> str:
    """What the models say: `ANSWER`, or an object of the schema that they are asked to fill."""
    if "one JSON object" not in request.text:
        return ANSWER
    schema = re.search(r"^\{\n.*?^\}", request.text, re.DOTALL | re.MULTILINE)
    document = json.loads(schema[0]) if schema else {}
    return dialects.default_text(dialects.ModelRequest("openai", request.model, {}, schema=document))


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all clients: starting one takes longer than most of their checks."""
    with ScriptedHost() as host:
        host.on("*", text=reply)
        host.keep()
        config = CONFIG.format(url=host.openai) + SETTINGS
        with serving(tmp_path_factory.mktemp("clients"), config) as server:
            yield Served(server, host)


ReportClient = Callable[..., None]


@pytest.fixture
def report_client(record_property: Callable[[str, object], None]) -> ReportClient:
    """Returns the function that reports a client for docs/clients.md. Call it before the test can fail.

    name, version: of the client. tried: what its users do, in a few words each. limits: what does not work,
    a sentence each. If several tests report one client, their rows are one.
    """

    def report(name: str, version: str, tried: Sequence[str], limits: Sequence[str] = ()) -> None:
        record_property(
            "client", {"name": name, "version": version, "tried": list(tried), "limits": list(limits)}
        )

    return report
