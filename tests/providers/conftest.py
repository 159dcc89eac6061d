"""The real embedded model, for the tests of whatever runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pnyx.errors import NotFound
from pnyx.providers.embedded.weights import find
from tests.conftest import MODELS

PULL = "import sys; from pnyx.providers.embedded.weights import pull; pull('smollm2-135m')"


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The smallest known model, fetched by the first session on a machine and kept for the later ones."""
    try:
        return find("smollm2-135m", Path(MODELS))
    except NotFound:
        # In a process of its own: in this one, tests may not leave the machine.
        subprocess.run([sys.executable, "-c", PULL], env=os.environ | {"PNYX_MODELS": MODELS}, check=True)
        return find("smollm2-135m", Path(MODELS))
