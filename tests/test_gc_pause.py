"""No garbage is collected while modules are imported, and the program's settings of the collector stay."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Iterator

import pytest

from pnyx.gc_pause import paused_collection


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """The collector of a new process: without the settings and the frozen objects of the tests before."""
    enabled, threshold, frozen = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    callbacks = list(gc.callbacks)
    gc.callbacks.clear()
    gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what earlier tests left open
        gc.collect()
    yield
    gc.callbacks.extend(callbacks)
    if frozen:
        gc.freeze()
    gc.set_threshold(*threshold)
    (gc.enable if enabled else gc.disable)()


class Cycle:
    def __init__(self) -> None:
        self.itself = self


def test_nothing_is_collected_inside_and_garbage_is_collected_later() -> None:
    gc.enable()
    gc.set_threshold(10, 10, 10)
    with paused_collection():
        garbage = weakref.ref(Cycle())
        kept: list[list[int]] = [[] for _ in range(1_000)]
        assert garbage() is not None
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_threshold() == (10, 10, 10)
    gc.collect()
    assert garbage() is None
    assert len(kept) == 1_000


def test_what_was_created_inside_counts_as_old() -> None:
    gc.enable()
    gc.set_threshold(100_000)
    with paused_collection():
        kept: list[list[int]] = [[] for _ in range(1_000)]
    young = {id(one) for one in gc.get_objects(generation=0)}
    assert not young & set(map(id, kept))


@pytest.mark.parametrize("enabled", [True, False])
def test_a_program_that_froze_objects_or_switched_the_collector_off_keeps_that(enabled: bool) -> None:
    gc.freeze()
    try:
        (gc.enable if enabled else gc.disable)()
        frozen = gc.get_freeze_count()
        with paused_collection():
            pass
        assert gc.isenabled() is enabled
        assert gc.get_freeze_count() == frozen
    finally:
        gc.unfreeze()
