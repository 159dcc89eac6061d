"""The cells of a Jupyter notebook as text: sources and outputs, with their numbers.

The format: https://nbformat.readthedocs.io (versions 3 and 4). Images and other rich outputs are named only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["MEDIA_TYPE", "is_notebook_name", "notebook_text"]

MEDIA_TYPE = "application/x-ipynb+json"
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def is_notebook_name(name: str) -> bool:
    """Whether the name is that of a notebook."""
    return name.lower().endswith(".ipynb")


def notebook_text(text: str) -> str | None:
    """Return the cells of a notebook as text; None if `text` is not a notebook."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells = _cells(document)
    if cells is None:
        return None
    return "\n\n".join("\n".join(_lines(n, cell)) for n, cell in enumerate(cells, 1))


def _cells(document: Any) -> list[Mapping[str, Any]] | None:
    if not isinstance(document, dict) or not isinstance(document.get("nbformat"), int):
        return None
    # Version 3 has its cells in worksheets.
    sheets = document.get("worksheets")
    holders = [document] if "cells" in document or not isinstance(sheets, list) else sheets
    cells: list[Mapping[str, Any]] = []
    for holder in holders:
        found = holder.get("cells") if isinstance(holder, dict) else None
        if not isinstance(found, list) or not all(isinstance(cell, dict) for cell in found):
            return None
        cells += found
    return cells


def _lines(number: int, cell: Mapping[str, Any]) -> Iterator[str]:
    yield f"[cell {number}: {cell.get('cell_type', 'unknown')}]"
    if source := _joined(cell.get("source", cell.get("input"))):
        yield source.rstrip("\n")
    outputs = cell.get("outputs")
    shown = [_output(one) for one in outputs if isinstance(one, dict)] if isinstance(outputs, list) else []
    if shown := [one for one in shown if one.strip()]:
        yield f"[output of cell {number}]"
        yield from (one.rstrip("\n") for one in shown)


def _output(output: Mapping[str, Any]) -> str:
    """The text of an output: what was printed, the value, or the error."""
    if output.get("output_type") in ("error", "pyerr"):
        trace = output.get("traceback")
        lines = [one for one in trace if isinstance(one, str)] if isinstance(trace, list) else []
        return _COLOURS.sub("", "\n".join(lines) or f"{output.get('ename')}: {output.get('evalue')}")
    # Version 3 has its data in the output itself.
    data = output.get("data", output)
    if not isinstance(data, dict):
        return ""
    for kind in ("text", "text/plain", "text/markdown", "text/html"):
        if text := _joined(output.get(kind, data.get(kind))):
            return _COLOURS.sub("", text)
    kinds = sorted(kind for kind in data if "/" in kind)
    return f"[{', '.join(kinds)}: not shown]" if kinds else ""


def _joined(value: Any) -> str:
    """A text, which the format may split into a list of its lines."""
    if isinstance(value, list):
        return "".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""
