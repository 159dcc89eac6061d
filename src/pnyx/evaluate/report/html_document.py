"""Build HTML documents in one file: no script, no outside resource, light and dark, printable.

These functions insert HTML as it is. The caller escapes untrusted text.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

__all__ = ["self_contained", "table"]

STYLE = Path(__file__).with_name("html_document.css")


def self_contained(title: str, body: str, style: Path) -> str:
    """A whole document. Its policy allows the common style and `style`, and nothing else."""
    css = STYLE.read_text("utf-8") + style.read_text("utf-8")
    digest = b64encode(sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{css}</style></head>\n"
        f"<body><main>{body}</main></body></html>\n"
    )


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls if it is too wide. The first cell of each row is its header."""
    columns = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    lines = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{title}"><table>'
        f"<caption>{title}</caption><thead><tr>{columns}</tr></thead><tbody>{lines}</tbody></table></div>"
    )
