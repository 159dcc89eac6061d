"""The web page, as `make web` built it: a few files, held in memory and served by their exact names.

Nothing is looked up on the disk for a request, so that no path can lead out of the folder.
"""

from __future__ import annotations

from pathlib import Path

from starlette.responses import PlainTextResponse, Response

__all__ = ["FOLDER", "read_page"]

FOLDER = Path(__file__).parents[1] / "web"
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
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
}
FOR_EVER = "public, max-age=31536000, immutable"
"""Names of assets hold a hash of what is in them."""


def read_page(folder: Path = FOLDER) -> dict[str, Response]:
    """Path of a request -> the file. One that says what to do, where the page was not built."""
    if not (folder / "index.html").is_file():
        missing = "The page is not built here. Run: make web\n"
        return {"/": PlainTextResponse(missing, 503, {**GUARDS, "Cache-Control": "no-store"})}
    files = (path for path in folder.rglob("*") if path.is_file())
    page = {f"/{path.relative_to(folder).as_posix()}": _file(path, folder) for path in files}
    return {"/": page.pop("/index.html"), **page}


def _file(path: Path, folder: Path) -> Response:
    caching = FOR_EVER if path.parent == folder / "assets" else "no-cache"
    headers = {**GUARDS, "Cache-Control": caching}
    return Response(path.read_bytes(), media_type=TYPES[path.suffix], headers=headers)
