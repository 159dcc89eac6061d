"""How large an installation is, with each extra: `python -m benchmarks.sizes [EXTRA …]`.

Builds this folder's wheel once, and installs it into new environments with the versions of requirements.lock.
Prints a Markdown table: MiB on the disk (`du -sm`), with bytecode and the environment itself, and packages.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from pnyx.extras import EXTRAS

ROOT = Path(__file__).parents[1]


def measure(wheel: Path, extra: str, folder: Path) -> tuple[int, int]:
    """MiB and packages of an environment with `extra`, "" for the base."""
    environment = folder / (extra or "base")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = ["--python", str(environment / "bin" / "python")]
    install = ["uv", "pip", "install", "--quiet", "--compile-bytecode", "--link-mode=copy", *python]
    # Constraints without hashes, which would have to cover the wheel too.
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{line.rstrip(' ' + chr(92))}\n" for line in lines if line[:1].isalnum()))
    target = f"pnyx[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    subprocess.run([*install, "--constraint", str(constraints), target], check=True)
    size = subprocess.run(["du", "-sm", str(environment)], check=True, capture_output=True, text=True).stdout
    listed = ["uv", "pip", "freeze", *python]
    packages = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    return int(size.split()[0]), len(packages)


def main() -> None:
    chosen = sys.argv[1:] or ["", *EXTRAS, "all"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*build, f"--wheel-dir={folder}", str(ROOT)], check=True)
        (wheel,) = folder.glob("*.whl")
        base = None
        print("| extra | MiB | above the base | packages |")
        print("|---|--:|--:|--:|")
        for extra in chosen:
            size, packages = measure(wheel, extra, folder)
            base = size if base is None else base
            print(f"| {extra or '(base)'} | {size} | {size - base} | {packages} |", flush=True)


if __name__ == "__main__":
    main()
