"""MCP clients use the same panel of scripted models as the tests of the interfaces."""

from __future__ import annotations

from tests.interfaces.conftest import lab

__all__ = ["lab"]
