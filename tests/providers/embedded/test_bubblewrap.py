"""The engine of an embedded model sees what it needs and nothing else; bubblewrap is there or is not."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from pnyx.providers.base import Call, Message
from pnyx.providers.embedded import bubblewrap
from pnyx.providers.embedded.provider import open_embedded
from tests.providers.embedded.engines import engines
from tests.support.sources import ROOT


def test_the_engine_sees_its_model_and_no_other_file_network_or_process(
    smollm2: Path, tmp_path: Path
) -> None:
    async def look() -> int:
        provider = open_embedded(smollm2.parent, context=2048)
        before = engines()
        try:
            await provider.complete(Call("smollm2-135m", (Message("user", "Hi"),), 1))
            (engine,) = engines() - before
            return check(engine)
        finally:
            await provider.close()

    def check(engine: int) -> int:
        root = Path(f"/proc/{engine}/root")
        assert (root / smollm2.resolve().relative_to("/")).is_file()
        for place in (tmp_path, ROOT / "tests", Path("/etc/passwd"), Path("/var")):
            assert place.exists()
            assert not (root / place.relative_to("/")).exists()
        for kind in ("net", "pid", "ipc", "mnt"):
            assert os.readlink(f"/proc/{engine}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
        return engine

    assert asyncio.run(look())


@pytest.mark.parametrize("script", [None, "exit 1", "echo no >&2; exit 126"])
def test_without_a_bubblewrap_that_works_the_command_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: script and str(program))
    bubblewrap._start.cache_clear()
    try:
        assert bubblewrap.confined(("engine",), (tmp_path,)) == ("engine",)
    finally:
        bubblewrap._start.cache_clear()


def test_all_parts_of_a_model_are_its_files(tmp_path: Path) -> None:
    for name in ("m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "m-00001-of-00003.gguf", "n.gguf"):
        (tmp_path / name).touch()
    found = bubblewrap.model_files(tmp_path / "m-00001-of-00002.gguf")
    assert [path.name for path in found] == ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]
    assert bubblewrap.model_files(tmp_path / "n.gguf") == [tmp_path / "n.gguf"]
