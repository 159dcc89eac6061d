"""The owners of an evaluation's runs and of what they teach. Imports nothing: every command loads this."""

from __future__ import annotations

__all__ = ["LEARNER", "OWNER"]

OWNER = "eval"
"""The owner of an evaluation's runs. It has no history: an arm must not know the answers that grade it."""
LEARNER = "local"
"""The owner whose later runs learn from the grades."""
