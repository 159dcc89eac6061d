"""No garbage is collected while modules are imported, and the program's settings of the collector stay.

Each test runs in a new interpreter, whose collector has the settings of Python, and nothing frozen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.waiting import STALL_S

START = """
import gc
import weakref
from pnyx.gc_pause import MANY, YOUNG, delay_collection, end_delay, paused_collection
"""


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", START + dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_is_collected_inside_and_garbage_is_collected_later() -> None:
    run("""
        class Cycle:
            def __init__(self):
                self.itself = self

        gc.set_threshold(10, 10, 10)
        with paused_collection():
            garbage = weakref.ref(Cycle())
            kept = [[] for _ in range(2 * MANY)]
            assert garbage() is not None
            assert not gc.isenabled()
        assert gc.isenabled()
        assert gc.get_threshold() == (10, 10, 10)
        gc.collect()
        assert garbage() is None
        assert gc.get_freeze_count() == 0
    """)


def test_what_was_created_inside_counts_as_old() -> None:
    run("""
        gc.set_threshold(10 * MANY)
        with paused_collection():
            kept = [[] for _ in range(2 * MANY)]
        young = {id(one) for one in gc.get_objects(generation=0)}
        assert not young & set(map(id, kept))
    """)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_program_that_froze_objects_or_switched_the_collector_off_keeps_that(enabled: bool) -> None:
    run(f"""
        gc.freeze()
        (gc.enable if {enabled} else gc.disable)()
        frozen = gc.get_freeze_count()
        with paused_collection():
            kept = [[] for _ in range(2 * MANY)]
        assert gc.isenabled() is {enabled}
        assert gc.get_freeze_count() == frozen > 0
    """)


def test_a_pause_in_which_little_is_created_does_not_count_what_is_frozen() -> None:
    """Python counts frozen objects one by one, which takes longer than opening an SDK once more."""
    run("""
        gc.get_freeze_count = None
        with paused_collection():
            kept = [[] for _ in range(MANY // 2)]
        assert gc.isenabled()
    """)


def test_a_program_that_runs_for_long_collects_once_it_has_started() -> None:
    """A server kept the garbage of its first 100,000 runs."""
    run("""
        delay_collection()
        assert gc.get_threshold()[0] > 20 * YOUNG
        for _ in range(2):
            end_delay()
            assert gc.get_threshold()[0] == YOUNG
            assert gc.get_freeze_count() > 0
        assert not gc.callbacks
    """)


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["mcp"]])
def test_commands_that_run_for_long_end_the_delay(command: list[str], tmp_path: Path) -> None:
    assert_ends_delay(command, tmp_path)


def test_a_worker_ends_the_delay(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PNYX_DATABASE", postgres_url)
    assert_ends_delay(["worker"], tmp_path)


def assert_ends_delay(command: list[str], tmp_path: Path) -> None:
    code = f"""
        import os, threading, time
        from pnyx.interfaces.cli import main

        def check():
            for _ in range({round(STALL_S * 10)}):
                if gc.get_threshold()[0] == YOUNG:
                    os._exit(0)
                time.sleep(0.1)
            os._exit(1)

        threading.Thread(target=check, daemon=True).start()
        main({command!r})
    """
    home = {name: str(tmp_path) for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME")}
    start = [sys.executable, "-c", START + dedent(code)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(
        start, env=os.environ | home, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet
    ) as process:
        assert process.wait() == 0
