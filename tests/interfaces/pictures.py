"""Pictures of every state of the page at three widths, in light and dark, as WebP: `make screenshots`.

`python -m tests.interfaces.pictures FOLDER [STATE …]`. The folder of all states is `docs/img`.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.interfaces.page_states import STATES, Scene, problems
from tests.interfaces.test_page_ask import SAVED
from tests.support.browsing import Serve, Tab, chromium, serving
from tests.support.scripted import ScriptedHost

__all__ = ["main"]

WIDTHS = {1440: 1400, 820: 1400, 390: 1300}
"""Width -> the most pixels of height that are shown."""
MOST_BYTES = 3_000_000
SHOWN = {"revision": ".diff", "council": ".glance", "tie": ".glance", "consensus": "#debate"}
"""State -> what its picture is about, if that is not at the top of the page."""
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
QUALITY = 0.4


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = names or list(STATES)
    with (
        tempfile.TemporaryDirectory() as home,
        ScriptedHost() as host,
        serving(Path(home), SAVED.format(url=host.openai)) as server,
        chromium() as browser,
    ):
        converter = browser.new_page()
        for name in wanted:
            with host.scripted():
                _take(browser, converter, server, host, folder, name)
    total = sum(path.stat().st_size for path in folder.glob("*.webp"))
    print(f"{total / 1e6:.2f} MB in {folder}")
    assert total <= MOST_BYTES, f"the pictures have {total} bytes, more than {MOST_BYTES}"


def _take(
    browser: Browser, converter: Page, server: Serve, host: ScriptedHost, folder: Path, name: str
) -> None:
    with Tab.open(browser, 1440, 900, still=True) as tab:
        tab.page.goto(server.link)
        tab.question.wait_for()
        STATES[name](Scene(tab, server, host))
        assert not (found := problems(tab)), f"{name}: {found}"
        for width, most in WIDTHS.items():
            tab.page.set_viewport_size({"width": width, "height": 900})
            for theme in ("light", "dark"):
                tab.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
                tab.page.evaluate("scrollTo(0, 0)")
                tab.page.wait_for_timeout(60)
                top = tab.page.evaluate(TOP, SHOWN[name]) if name in SHOWN else 0
                height = min(most, tab.page.evaluate("document.documentElement.scrollHeight") - top)
                clip = {"x": 0, "y": top, "width": width, "height": height}
                png = tab.page.screenshot(full_page=True, clip=clip)  # type: ignore[arg-type]
                encoded = [base64.b64encode(png).decode(), SCALES[width], QUALITY]
                webp = base64.b64decode(converter.evaluate(SHRINK, encoded))
                (folder / f"{name}-{width}-{theme}.webp").write_bytes(webp)
    print(name, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
