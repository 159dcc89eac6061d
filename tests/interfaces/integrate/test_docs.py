"""docs/integrations.md: a section and a row for each assistant, and examples that their programs can read."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
import yaml  # type: ignore[import-untyped]

from pnyx.interfaces.integrate.assistants import Assistant, assistants
from tests.interfaces.integrations import PLACE, ROOT

PAGE = (ROOT / "docs" / "integrations.md").read_text()
ROWS = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", PAGE, re.MULTILINE))
READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
EXAMPLES = re.findall(r"^```(json|toml|yaml)\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("one", assistants().values(), ids=list(assistants()))
def test_every_assistant_has_a_section_and_a_row_with_its_limit_of_time(one: Assistant) -> None:
    assert re.search(rf"^## {re.escape(one.title.partition(' (')[0])}$", PAGE, re.MULTILINE)
    row = ROWS[one.name]
    limits = [key for key in one.server if "timeout" in key.lower() and "startup" not in key]
    for key in limits:
        unit = "milliseconds" if one.server[key] == 600_000 else "seconds"
        assert f"`{key}`, {unit}" in row
    assert limits or "no setting" in row
    for path in (*one.user, *one.project):
        name = path.rpartition("/")[2]
        assert name in row or name.endswith("c") or ".kilo" in path, path


def test_the_examples_are_valid_and_have_no_key() -> None:
    assert len(EXAMPLES) == 3
    for form, text in EXAMPLES:
        assert READERS[form](text)
        assert "PNYX_KEY" in text
        assert "pnyx_" not in text.replace("pnyx_key", "")


def test_every_file_that_the_page_names_is_there() -> None:
    links = re.findall(r"\]\(\.\./(integrations/[^)#]+)\)", PAGE)
    assert len(links) > 6
    assert all((ROOT / link).is_file() for link in links)
    folders = {path.name for path in PLACE.iterdir() if path.is_dir()}
    known = {*assistants(), "github", "llm", "langchain", "pydantic-ai", "open-webui", "mcp-registry"}
    assert folders == known
