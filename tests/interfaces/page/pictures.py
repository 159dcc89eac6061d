"""Pictures of every state of the page at three widths, in light and dark, as WebP: `make screenshots`.

`python -m tests.interfaces.page.pictures FOLDER [STATE …]`. The folder of all states is `docs/img`.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page

from tests.interfaces.page.states import STATES, Scene, at_a_glance, problems
from tests.interfaces.page.test_ask import SAVED
from tests.support.browsing import Serve, Tab, chromium, serving
from tests.support.scripted import ScriptedHost

__all__ = ["main"]

CONFIG = SAVED.replace("[run]\n", "[run]\nseed = 7\n")
"""With a seed, every run has the same labels."""
WIDTHS = {1440: 1300, 820: 1250, 390: 1250}
"""Width -> the most pixels of height that are shown."""
MOST_BYTES = 3_000_000
SHOWN = {"revision": ".diff", "council": ".glance", "tie": ".glance", "consensus": "#debate"}
"""State -> what its picture is about, if that is not at the top of the page."""
FIXED = {
    r"\b\d+\.\d s\b": "2.4 s",
    r"\b[0-9a-z]{12}\b(?<=[a-z].*)(?<=\d.*)": "k3v8m2q7x4w1",
    r"\b127\.0\.0\.1:\d+": "127.0.0.1:8642",
    r"pnyx_share_[\w-]+": "pnyx_share_k3v8m2q7x4w1_0123456789abcdef",
    r"\b\d+ min ago\b": "just now",
    r"\b20\d\d-\d\d-\d\d\b": "2026-11-26",
    r"\b[A-Z][a-z]{2} \d{1,2}, 20\d\d\b": "Nov 26, 2026",
}
"""What differs from one run to the next -> what every picture shows in its place."""
FIX = """(fixed) => {
    // Else the clock of a run writes the time again.
    for (let timer = setTimeout(() => {}); timer > 0; timer -= 1) clearTimeout(timer);
    const rules = Object.entries(fixed).map(([found, shown]) => [new RegExp(found, "g"), shown]);
    const still = (text) => rules.reduce((words, [found, shown]) => words.replace(found, shown), text);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) walker.currentNode.data = still(walker.currentNode.data);
    for (const field of document.querySelectorAll("input[readonly]")) field.value = still(field.value);
}"""
TOP = "(place) => Math.max(0, document.querySelector(place).getBoundingClientRect().top - 160)"
SHRINK = """async ([png, scale, quality]) => {
    const picture = new Image();
    picture.src = `data:image/png;base64,${png}`;
    await picture.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(picture.width * scale);
    canvas.height = Math.round(picture.height * scale);
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return canvas.toDataURL("image/webp", quality).split(",")[1];
}"""
SCALES = {1440: 0.5, 820: 0.65, 390: 0.8}
QUALITY = 0.36
README = "debate"
SHORTEN = """() => document.querySelectorAll(".verdict .actions, .dissent, .facts + p, .glance, footer")
    .forEach((part) => part.remove())"""
"""What the picture of the README leaves out, so that question, verdict and round are on it."""


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as home,
        ScriptedHost() as host,
        serving(Path(home), CONFIG.format(url=host.openai)) as server,
        chromium() as browser,
    ):
        converter = browser.new_page()
        for name in names or [*STATES, README]:
            with host.scripted(), _opened(browser, server) as tab:
                if name == README:
                    at_a_glance(Scene(tab, server, host))
                    tab.page.evaluate(SHORTEN)
                    png = _picture(tab, 900, 1520)
                    (folder / f"{README}.webp").write_bytes(_webp(converter, png, 1.0, 0.6))
                    continue
                STATES[name](Scene(tab, server, host))
                assert not (found := problems(tab)), f"{name}: {found}"
                for width, most in WIDTHS.items():
                    for theme in ("light", "dark"):
                        png = _picture(tab, width, most, theme, SHOWN.get(name))
                        file = folder / f"{name}-{width}-{theme}.webp"
                        file.write_bytes(_webp(converter, png, SCALES[width], QUALITY))
                if name == "live":
                    _cancel(tab)
            print(name, flush=True)
    total = sum(path.stat().st_size for path in folder.glob("*.webp"))
    print(f"{total / 1e6:.2f} MB in {folder}")
    assert total <= MOST_BYTES, f"the pictures have {total} bytes, more than {MOST_BYTES}"


@contextmanager
def _opened(browser: Browser, server: Serve) -> Iterator[Tab]:
    with Tab.open(browser, 1440, 900, still=True) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        yield tab


def _picture(
    tab: Tab, width: int, most: int, theme: Literal["light", "dark"] = "light", shown: str | None = None
) -> bytes:
    """The page as PNG, at most `most` pixels high, from the top or from `shown`."""
    tab.page.set_viewport_size({"width": width, "height": 900})
    tab.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    tab.page.evaluate("scrollTo(0, 0)")
    tab.page.wait_for_timeout(60)
    tab.page.evaluate(FIX, FIXED)
    top = tab.page.evaluate(TOP, shown) if shown else 0
    height = min(most, tab.page.evaluate("document.documentElement.scrollHeight") - top)
    return tab.page.screenshot(full_page=True, clip={"x": 0, "y": top, "width": width, "height": height})


def _webp(converter: Page, png: bytes, scale: float, quality: float) -> bytes:
    encoded: str = converter.evaluate(SHRINK, [base64.b64encode(png).decode(), scale, quality])
    return base64.b64decode(encoded)


def _cancel(tab: Tab) -> None:
    """Cancel the run that is under way, so that later lists do not depend on when it ends."""
    with tab.page.expect_response("**/cancel"):
        tab.page.get_by_role("button", name="Cancel", exact=True).click()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
