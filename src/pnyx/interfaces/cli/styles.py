"""The styles of a panel that `pnyx init` proposes. Imports nothing."""

from __future__ import annotations

__all__ = ["STYLES"]

STYLES = {
    "fast": "cheap models that vote",
    "balanced": "strong models; the question decides how they talk",
    "thorough": "strong models in a long debate",
}
"""Style -> what it means, for a person."""
