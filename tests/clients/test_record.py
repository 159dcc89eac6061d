"""docs/clients.md shows the stored results, and no client is forgotten."""

from __future__ import annotations

from tests.clients.catalogue import clients
from tests.clients.record import PAGE, read, with_table


def test_the_page_shows_the_stored_results() -> None:
    page = PAGE.read_text()
    assert with_table(page, read()) == page


def test_every_client_with_a_script_has_a_result() -> None:
    assert {client.name for client in clients()} <= read().keys()
