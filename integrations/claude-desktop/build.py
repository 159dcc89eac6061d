"""Build the bundle for Claude Desktop: `python integrations/claude-desktop/build.py [FILE]`.

A bundle is a zip archive of the manifest and what it starts. The times in it are fixed, so that the same
files make the same bundle.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("manifest.json", "pyproject.toml", "server.py")


def build(target: Path) -> None:
    """Write the bundle to `target`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name in FILES:
            bundle.writestr(zipfile.ZipInfo(name), (HERE / name).read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "build/pnyx.mcpb")
    build(place)
    print(place)
