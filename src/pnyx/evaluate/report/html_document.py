"""Pages that are one file: no script, nothing from elsewhere, light and dark, readable in print.

What a page shows comes here as HTML already; whoever makes it escapes what others wrote.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

__all__ = ["self_contained", "table"]

STYLE = Path(__file__).with_name("html_document.css")


def self_contained(title: str, body: str, style: Path) -> str:
    """A whole document, which may use the style common to all pages and `style`, and nothing else."""
    css = STYLE.read_text("utf-8") + style.read_text("utf-8")
    known = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{known}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{css}</style></head>\n"
        f"<body><main>{body}</main></body></html>\n"
    )


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls where it is too wide; the first cell of a row names it."""
    columns = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{title}"><table>'
        f"<caption>{title}</caption><thead><tr>{columns}</tr></thead><tbody>{lines}</tbody></table></div>"
    )
