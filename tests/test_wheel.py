"""The wheel that users install holds all that the package reads at run time."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import pnyx
from tests.support.sources import PACKAGE, ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Built by the backend that is installed, without asking the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    subprocess.run([*command, f"--wheel-dir={folder}", str(ROOT)], check=True, timeout=120)
    (built,) = folder.iterdir()
    return zipfile.ZipFile(built)


def test_the_wheel_has_the_version_that_the_package_tells(wheel: zipfile.ZipFile) -> None:
    assert any(name.startswith(f"pnyx-{pnyx.__version__}.dist-info/") for name in wheel.namelist())


def test_every_file_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    files = {p for p in PACKAGE.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    packed = {PACKAGE.parent / name for name in wheel.namelist() if name.startswith("pnyx/")}
    assert packed == files


@pytest.mark.parametrize("kind", ["py.typed", "prompts/*/*.md", "store/migrations/versions/*.py"])
def test_types_prompts_and_migrations_are_in_the_wheel(wheel: zipfile.ZipFile, kind: str) -> None:
    assert [name for name in wheel.namelist() if Path(name).match(f"pnyx/{kind}")]


def test_the_wheel_brings_the_command_and_the_protocols(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("/entry_points.txt"))
    told = wheel.read(name).decode()
    assert "pnyx = pnyx.interfaces.cli:main" in told
    assert "consensus = pnyx.protocols.consensus:PROTOCOL" in told
