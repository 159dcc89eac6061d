"""The site: its links lead somewhere, its search finds pages, and it loads nothing from another host."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from pnyx import protocols
from tests.docs.diagram import svg
from tests.docs.site import BrokenLinkError, address, build, pages
from tests.support.browsing import Tab, chromium
from tests.support.sources import ROOT

SETTINGS = ROOT / "docs" / "zensical.toml"


def _navigation(entries: list[Any]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for inner in entry.values():
                yield from _navigation(inner if isinstance(inner, list) else [inner])


def test_every_page_is_in_the_navigation_once() -> None:
    shown = list(_navigation(tomllib.loads(SETTINGS.read_text("utf-8"))["project"]["nav"]))
    there = sorted(page.relative_to(ROOT).as_posix() for page in pages())
    assert sorted(shown) == there, f"list every page once in {SETTINGS}"


def test_every_page_is_built_and_loads_nothing_from_another_host(site: Path) -> None:
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {address(page) for page in pages()} <= built
    loaded = re.compile(r"<(?:script|img|iframe|link|source)\b[^>]*?(?:src|href)=\"(?:https?:)?//[^\"]*\"")
    assert [
        (path.name, tag) for path in site.rglob("*.html") for tag in loaded.findall(path.read_text())
    ] == []


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("[x](docs/absent.md)", "docs/absent.md is not in this repository"),
        ("[x](LICENSE.txt)", "LICENSE.txt is not in this repository"),
        ("[x](docs/page.md#absent)", "README.md:1"),
        ("[x](#absent)", "README.md:1"),
    ],
)
def test_a_link_that_leads_nowhere_is_reported(text: str, report: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text(f"{text}\n")
    (root / "docs" / "page.md").write_text("# Page\n")
    (root / "docs" / "site.css").touch()
    settings = re.sub(r"nav = \[\n.*?\n\]\n", "", SETTINGS.read_text("utf-8"), flags=re.DOTALL)
    (root / "docs" / "zensical.toml").write_text(settings)
    with pytest.raises(BrokenLinkError, match=re.escape(report)):
        build(tmp_path / "build", root)


def test_lists_are_lists_and_code_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "README.md").write_text(
        "# Page\nIt is:\n- one, at $5\n  and more\n- two, at $6\n\n```\ntext\n- no list\n```\n"
    )
    (root / "docs" / "site.css").touch()
    settings = re.sub(r"nav = \[\n.*?\n\]\n", "", SETTINGS.read_text("utf-8"), flags=re.DOTALL)
    (root / "docs" / "zensical.toml").write_text(settings)
    page = (build(tmp_path / "build", root) / "index.html").read_text()
    assert re.search(
        r"<p>It is:</p>\s*<ul>\s*<li>one, at \$5\s+and more</li>\s*<li>two, at \$6</li>\s*</ul>", page
    )
    assert re.search(r"text\n(?:<[^>]*>)*- no list", page)


@pytest.mark.parametrize("name", protocols.names())
def test_the_diagram_of_a_protocol_shows_all_its_phases_and_conditions(name: str) -> None:
    phases = protocols.get(name).phases
    drawing = ElementTree.fromstring(svg(phases.mermaid()))
    words = " ".join(text.strip() for text in drawing.itertext())
    assert set(phases.names) <= set(words.split())
    for transition in phases.transitions:
        if transition.target != "failed":
            assert transition.requires in words
    x_min, y_min, width, height = map(float, drawing[0].attrib["viewBox"].split())
    for box in drawing.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(box.attrib["x"]), float(box.attrib["y"])
        assert x_min <= x <= width - float(box.attrib["width"])
        assert y_min <= y <= height - float(box.attrib["height"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def test_the_search_opens_a_page_and_nothing_comes_from_elsewhere(start: str, browser: Browser) -> None:
    with Tab.open(browser) as tab:
        tab.page.goto(start)
        tab.page.get_by_role("button", name="Search").first.click()
        tab.page.get_by_role("combobox").fill("neighbours")
        tab.page.get_by_role("option").filter(has_text="When there is a confidence").click()
        tab.page.wait_for_url("**/docs/confidence.html*")
        assert "beta calibration" in tab.page.inner_text("article")
        assert not tab.errors
        assert [url for url in tab.requests if not url.startswith((start, "blob:", "data:"))] == []


@pytest.mark.parametrize("part", range(3))
def test_no_page_scrolls_sideways_on_a_phone(start: str, browser: Browser, part: int) -> None:
    # The layout needs no scripts, and they take time.
    with Tab.open(browser, width=390, scripts=False) as phone:
        for page in pages()[part::3]:
            if not page.is_relative_to(ROOT / "design"):
                phone.page.goto(urljoin(start, address(page)))
                assert not phone.scrolls_sideways(), page


def test_words_are_spelt_right() -> None:
    command = shutil.which("codespell", path=str(Path(sys.executable).parent))
    assert command is not None
    done = subprocess.run(
        [
            command,
            "--toml",
            "pyproject.toml",
            *map(str, pages()),
            "docs/zensical.toml",
            "integrations",
            "deploy",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""


@pytest.mark.parametrize("name", protocols.names())
def test_the_page_of_a_protocol_says_what_is_known_of_its_worth(name: str) -> None:
    text = (ROOT / "docs" / "protocols" / f"{name}.md").read_text("utf-8")
    (worth,) = re.findall(r"^## What is known of its worth\n(.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    assert "](" in worth or "ot measured" in worth
    assert f"]({name}.md)" in (ROOT / "docs" / "protocols" / "index.md").read_text("utf-8")
