"""pnyx: one question to a panel of language models, one answer with its dissent, cost and record.

    result = await pnyx.ask("Should we self-host PostgreSQL?", panel=["openai:gpt-5", "mistral:large"])

Names are loaded when they are first used, so that `import pnyx` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__ as __version__
from .gc_pause import paused_collection

if TYPE_CHECKING:
    from .config.load import load as load_settings
    from .core.answers.replies.extract import final_answer
    from .core.answers.same.equivalence import same_answer
    from .core.events import (
        BranchesClosed,
        Budget,
        CallFailed,
        CallFinished,
        CallStarted,
        Event,
        PhaseEntered,
        RunFinished,
        RunStarted,
        SeatAbstained,
        SeatDropped,
        Token,
        ToolCalled,
        UnknownEvent,
        VoteTallied,
    )
    from .core.models import Price, Seat, Usage
    from .core.phases import START, Phases, Transition
    from .core.protocol import Option, Protocol
    from .core.steps import Ask, Brief, Decision, Dissent, Panel, Reply, Schema
    from .core.text import Draft, Material
    from .errors import NoQuorum, PnyxError, ProviderError, SeatAbsent, StoreError, UsageError
    from .interfaces.library import (
        aggregate,
        ask,
        ask_sync,
        delete,
        deliberate,
        feedback,
        open_runner,
        resume,
        stream,
        tag,
    )
    from .prompts import load as load_prompt
    from .providers.base import Call, Completion, Message, Provider, ToolCall
    from .providers.fake import FakeProvider
    from .providers.kind import ProviderConfig, ProviderKind
    from .run.result import Result
    from .run.runner import Runner

_HOMES = {
    "load_settings": "config.load:load",
    "final_answer": "core.answers.replies.extract",
    "same_answer": "core.answers.same.equivalence",
    "Budget": "core.events",
    "CallFailed": "core.events",
    "CallFinished": "core.events",
    "CallStarted": "core.events",
    "Event": "core.events",
    "PhaseEntered": "core.events",
    "RunFinished": "core.events",
    "RunStarted": "core.events",
    "SeatAbstained": "core.events",
    "SeatDropped": "core.events",
    "BranchesClosed": "core.events",
    "UnknownEvent": "core.events",
    "Token": "core.events",
    "ToolCalled": "core.events",
    "VoteTallied": "core.events",
    "Price": "core.models",
    "Seat": "core.models",
    "Usage": "core.models",
    "START": "core.phases",
    "Phases": "core.phases",
    "Transition": "core.phases",
    "Ask": "core.steps",
    "Brief": "core.steps",
    "Decision": "core.steps",
    "Dissent": "core.steps",
    "Option": "core.protocol",
    "Panel": "core.steps",
    "Protocol": "core.protocol",
    "Reply": "core.steps",
    "Schema": "core.steps",
    "Draft": "core.text",
    "Material": "core.text",
    "NoQuorum": "errors",
    "PnyxError": "errors",
    "ProviderError": "errors",
    "SeatAbsent": "errors",
    "StoreError": "errors",
    "UsageError": "errors",
    "aggregate": "interfaces.library",
    "ask": "interfaces.library",
    "ask_sync": "interfaces.library",
    "delete": "interfaces.library",
    "deliberate": "interfaces.library",
    "feedback": "interfaces.library",
    "open_runner": "interfaces.library",
    "resume": "interfaces.library",
    "stream": "interfaces.library",
    "tag": "interfaces.library",
    "load_prompt": "prompts:load",
    "FakeProvider": "providers.fake",
    "Call": "providers.base",
    "Completion": "providers.base",
    "Message": "providers.base",
    "Provider": "providers.base",
    "ToolCall": "providers.base",
    "ProviderConfig": "providers.kind",
    "ProviderKind": "providers.kind",
    "Result": "run.result",
    "Runner": "run.runner",
}

__all__ = [
    "START",
    "Ask",
    "BranchesClosed",
    "Brief",
    "Budget",
    "Call",
    "CallFailed",
    "CallFinished",
    "CallStarted",
    "Completion",
    "Decision",
    "Dissent",
    "Draft",
    "Event",
    "FakeProvider",
    "Material",
    "Message",
    "NoQuorum",
    "Option",
    "Panel",
    "PhaseEntered",
    "Phases",
    "PnyxError",
    "Price",
    "Protocol",
    "Provider",
    "ProviderConfig",
    "ProviderError",
    "ProviderKind",
    "Reply",
    "Result",
    "RunFinished",
    "RunStarted",
    "Runner",
    "Schema",
    "Seat",
    "SeatAbsent",
    "SeatAbstained",
    "SeatDropped",
    "StoreError",
    "Token",
    "ToolCall",
    "ToolCalled",
    "Transition",
    "UnknownEvent",
    "Usage",
    "UsageError",
    "VoteTallied",
    "aggregate",
    "ask",
    "ask_sync",
    "delete",
    "deliberate",
    "feedback",
    "final_answer",
    "load_prompt",
    "load_settings",
    "open_runner",
    "resume",
    "same_answer",
    "stream",
    "tag",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pnyx' has no attribute {name!r}")
    home, _, attribute = _HOMES[name].partition(":")
    with paused_collection():
        module = import_module(f".{home}", __name__)
    value = getattr(module, attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
