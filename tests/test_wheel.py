"""The wheel that users install holds all that the package reads at run time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pnyx
from tests.support.sources import PACKAGE, ROOT

# By the backend that is installed, without asking the network.
BUILD = [
    *(sys.executable, "-m", "pip", "wheel", "--quiet"),
    "--no-deps",
    "--no-index",
    "--no-build-isolation",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*BUILD, f"--wheel-dir={folder}", str(ROOT)], check=True, timeout=120)
    (built,) = folder.iterdir()
    return zipfile.ZipFile(built)


def test_the_wheel_has_the_version_that_the_package_tells(wheel: zipfile.ZipFile) -> None:
    assert any(name.startswith(f"pnyx-{pnyx.__version__}.dist-info/") for name in wheel.namelist())


def test_the_docs_install_the_wheel_that_is_built(wheel: zipfile.ZipFile) -> None:
    assert f"dist/{Path(wheel.filename or '').name}[" in (ROOT / "docs" / "install.md").read_text()


def test_every_file_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    files = {p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    packed = {PACKAGE.parent / name for name in wheel.namelist() if name.startswith("pnyx/")}
    assert packed == files


@pytest.mark.parametrize(
    "kind",
    [
        *("py.typed", "prompts/*/*.md", "store/migrations/versions/*.py"),
        *("interfaces/web/index.html", "interfaces/web/assets/*.js", "interfaces/web/assets/*.css"),
    ],
)
def test_types_prompts_migrations_and_the_page_are_in_the_wheel(wheel: zipfile.ZipFile, kind: str) -> None:
    assert [name for name in wheel.namelist() if Path(name).match(f"pnyx/{kind}")]


def test_the_wheel_brings_the_command_the_protocols_and_the_providers(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    entry_points = wheel.read(name).decode()
    assert "pnyx = pnyx.__main__:main" in entry_points
    assert "consensus = pnyx.protocols.consensus:PROTOCOL" in entry_points
    assert "openai = pnyx.providers.hosted.kinds:OPENAI" in entry_points


def test_with_neither_the_page_nor_its_sources_no_wheel_is_built(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(PACKAGE, source / "src" / "pnyx", ignore=shutil.ignore_patterns("web", "__pycache__"))
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [*BUILD, f"--wheel-dir={tmp_path}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "has no sources of the page, and the page is not built" in done.stderr
    assert not list(tmp_path.glob("*.whl"))
