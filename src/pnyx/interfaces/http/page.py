"""The web page that `make web` builds: a few files, kept in memory and served by their exact paths.

No request reads the disk, so no path can lead out of the folder.
"""

from __future__ import annotations

from pathlib import Path

from starlette.responses import HTMLResponse, Response

__all__ = ["FOLDER", "read_page"]

FOLDER = Path(__file__).parents[1] / "web"
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
GUARDS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex, nofollow",
}
MISSING = """<!doctype html>
<html lang="en">
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>pnyx has no web page here</title>
<main>
<h1>This installation has no web page</h1>
<p>The server works, and answers programs at the addresses in
<a href="/openapi.json">its description</a> (it asks for a key).
An installed package contains the page; in a checkout, build it first: CONTRIBUTING.md says how.</p>
</main>
</html>
"""
FOR_EVER = "public, max-age=31536000, immutable"
"""The name of an asset contains a hash of its content."""


def read_page(folder: Path = FOLDER) -> dict[str, Response]:
    """Request path -> file. If the page is not built, `/` says how to build it."""
    if not (folder / "index.html").is_file():
        return {"/": HTMLResponse(MISSING, 503, {**GUARDS, "Cache-Control": "no-store"})}
    files = (path for path in folder.rglob("*") if path.is_file())
    page = {f"/{path.relative_to(folder).as_posix()}": _file(path, folder) for path in files}
    return {"/": page.pop("/index.html"), **page}


def _file(path: Path, folder: Path) -> Response:
    caching = FOR_EVER if path.parent == folder / "assets" else "no-store"
    headers = {**GUARDS, "Cache-Control": caching}
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers=headers)
