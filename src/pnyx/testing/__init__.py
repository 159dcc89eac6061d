"""Tests of protocols and providers without a network, a database or an event loop: docs/testing.md.

`drive_protocol` runs a protocol with scripted replies, `assert_replays` checks that a run of it can be
resumed, and `check_provider` checks what pnyx requires of a provider.
"""

from __future__ import annotations

from ..providers.fake import FakeProvider as ScriptedProvider
from ..providers.fake import ScriptedReply
from .driver import ProtocolDriver, Script, drive_protocol, make_seats, prompt_name
from .provider import check_provider
from .replays import assert_replays

__all__ = [
    "ProtocolDriver",
    "Script",
    "ScriptedProvider",
    "ScriptedReply",
    "assert_replays",
    "check_provider",
    "drive_protocol",
    "make_seats",
    "prompt_name",
]
