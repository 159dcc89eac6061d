"""Build the site of the documents: `python -m tests.docs.site`, and with `--serve` show it on loopback.

The pages are the Markdown files of the repository, at their paths, so that their links hold on the site as in
a checkout. What they link to beside pages (sources, pictures) is copied next to them.
"""

from __future__ import annotations

import argparse
import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

from tests.docs.diagram import svg
from tests.support.sources import ROOT

__all__ = ["BrokenLinkError", "address", "build", "pages", "stage"]

PAGES = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"),
    *("docs/**/*.md", "design/**/*.md", "benchmarks/README.md", "deploy/**/*.md", "integrations/*/README.md"),
)
FENCE = re.compile(r"^(`{3,}|~{3,})")
LIST = re.compile(r"^(?:[-*+]|\d+\.) ")
LINK = re.compile(r"\]\(([^)\s]+?)(?:#[^)\s]*)?(?: \"[^\"]*\")?\)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class BrokenLinkError(Exception):
    """The report of links that lead nowhere, or of another fault of a page."""


def pages(root: Path = ROOT) -> list[Path]:
    """The Markdown files that the site shows."""
    return sorted({page for pattern in PAGES for page in root.glob(pattern)})


def address(page: Path, root: Path = ROOT) -> str:
    """Where the site has a page, from its start."""
    name = page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")
    return name.relative_to(root).as_posix()


def build(folder: Path, root: Path = ROOT) -> Path:
    """Build the site of `root` in `folder`/site and return that. Raises `BrokenLinkError`."""
    stage(folder, root)
    zensical = str(Path(sys.executable).with_name("zensical"))
    command = [zensical, "build", "--strict", "--config-file", "zensical.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        report = COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0]
        raise BrokenLinkError(report)
    return folder / "site"


def stage(folder: Path, root: Path = ROOT) -> None:
    """Copy the pages and what they link to into `folder`/pages, and the settings of the site beside them."""
    target = folder / "pages"
    for old in (target, folder / "site"):
        shutil.rmtree(old, ignore_errors=True)
    copied = {Path("docs/site.css")}
    broken: list[str] = []
    for page in pages(root):
        text = page.read_text("utf-8")
        for link in _links(text):
            file = (page.parent / unquote(link)).resolve()
            if not file.exists() or not file.is_relative_to(root):
                broken.append(f"{page.relative_to(root)}: {link} is not in this repository")
            elif file.is_dir():  # there is no page of it
                text = re.sub(rf"\[([^\]]*)\]\({re.escape(link)}\)", r"\1", text)
            elif file.suffix != ".md":
                copied.add(file.relative_to(root))
        _write(target / page.relative_to(root), _for_the_generator(text))
    if broken:
        raise BrokenLinkError("\n".join(broken))
    for path in sorted(copied):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / path, target / path)
    shutil.copyfile(root / "docs" / "zensical.toml", folder / "zensical.toml")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _links(text: str) -> Iterator[str]:
    """The paths that a page links to, code left out."""
    for target in LINK.findall(re.sub(r"`[^`\n]*`", "", "\n".join(_outside_of_code(text)))):
        if not re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            yield target


def _outside_of_code(text: str) -> Iterator[str]:
    fence = ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if fence:
            fence = "" if line.rstrip() == fence else fence
        elif mark:
            fence = mark[1]
        else:
            yield line


def _for_the_generator(text: str) -> str:
    """A page as the generator needs it: it wants a blank line before a list, and draws no diagram itself."""
    text = re.sub(
        r"^```mermaid\n(.*?)^```$", lambda block: svg(block[1]), text, flags=re.DOTALL | re.MULTILINE
    )
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = FENCE.match(line)
        if fence:
            fence = "" if line.rstrip() == fence else fence
        elif mark:
            fence = mark[1]
        elif LIST.match(line) and lines and lines[-1].strip() and not _is_list(lines):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _is_list(lines: list[str]) -> bool:
    """Whether the last paragraph belongs to a list."""
    for line in reversed(lines):
        if LIST.match(line):
            return True
        if not line.startswith(" "):
            return False
    return False


def _serve(site: Path) -> None:
    handler = functools.partial(SimpleHTTPRequestHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 8000), handler) as server:
        print("http://127.0.0.1:8000; Ctrl-C stops it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", action="store_true", help="show the site on a port of this machine")
    options = parser.parse_args()
    try:
        site = build(ROOT / "build")
    except BrokenLinkError as broken:
        sys.exit(str(broken))
    print(f"built {site.relative_to(ROOT)}: {len(list(site.rglob('*.html')))} pages")
    if options.serve:
        _serve(site)


if __name__ == "__main__":
    main()
