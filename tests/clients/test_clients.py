"""Each client of `clients.toml` does what its users do, unmodified."""

from __future__ import annotations

import shutil

import pytest

from tests.clients.catalogue import CLIENTS, Client, clients, node
from tests.clients.conftest import ReportClient, Served
from tests.clients.running import LIMIT_S, run_script
from tests.support.sources import ROOT


def marked(client: Client) -> object:
    """With the marks of a client: some start a process for each check, which takes a busy machine long."""
    slow = (pytest.mark.clients, pytest.mark.timeout(LIMIT_S))
    return pytest.param(client, id=client.name, marks=() if client.ci else slow)


@pytest.mark.parametrize("client", [marked(client) for client in clients()])
def test_a_client_works_unmodified(client: Client, served: Served, report_client: ReportClient) -> None:
    assert client.installed, f"{client.name} is not installed; run: make clients ONLY={client.name}"
    lines = run(client, served)
    version, checks = lines[0]["version"], lines[1:]
    limits = [check["limit"] for check in checks if check.get("limit")]
    report_client(client.name, version, [check["check"] for check in checks], limits)
    assert checks
    faults = [f"{check['check']}\n{check['fault']}" for check in checks if "fault" in check]
    if faults:
        pytest.fail("\n\n".join(faults), pytrace=False)


def run(client: Client, served: Served) -> list[dict[str, str]]:
    """Run the script of a client; return its lines."""
    scripts = CLIENTS / "scripts"
    if client.is_script_of_node:
        # Modules are looked for from where a script lies.
        for path in scripts.glob("*.mjs"):
            shutil.copy(path, client.folder)
        scripts = client.folder
    folder = client.folder if client.folder.exists() else scripts
    environment = {"NODE": str(node()), "INTEGRATIONS": str(ROOT / "integrations")}
    return run_script(client.interpreter, scripts / client.script, folder, served, environment)
