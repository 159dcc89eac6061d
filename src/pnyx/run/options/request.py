"""The options of a run, each defined once: type, bounds, default, help, and its name in each interface.

The flags of the command line and the fields of JSON are generated from `RunRequest`; a test compares the
library's keyword arguments and the table in docs/requests.md with it. It imports nothing that is slow to
load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...core.context.files import File, Source
    from ...core.text import Material
    from .responses import Response

__all__ = ["NAME", "OPTIONS", "TEXT", "Kind", "RequestOption", "RunRequest"]

NAME = 400
"""Most characters of a name, an id or a choice in a request from outside."""
TEXT = 4 << 20
"""Most characters of a text for seats, such as the question."""


class Kind(Enum):
    """The type of an option's value; each interface has its own notation for it."""

    TEXT = auto()
    TEXTS = auto()
    WHOLE = auto()
    AMOUNT = auto()
    """A number above 0."""
    FLAG = auto()
    SWITCH = auto()
    """On, off, or as configured."""
    TEXT_BY_NAME = auto()
    VALUE_BY_NAME = auto()
    RESPONSES = auto()
    SCHEMA = auto()
    """A JSON schema of an object."""
    TOOLS = auto()
    """Tools that the asker runs, each an object with name, description and parameters."""
    MATERIAL = auto()
    FILES = auto()


@dataclass(frozen=True, slots=True)
class RequestOption:
    """How interfaces show an option.

    low, high: inclusive bounds of a `WHOLE`. longest: characters of a text, or of each text in a list or
    object; what comes from outside is refused beyond it. choices: value -> help, for a `TEXT` that allows no
    others. flags, metavar, flag_help: for the command line; several flags of an option with choices are one
    for each. http, mcp: whether requests over HTTP (and batch lines) and the MCP tool have it. keyword: its
    name in the library.
    """

    kind: Kind
    help: str
    low: int | None = None
    high: int | None = None
    longest: int = NAME
    choices: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    flag_help: str = ""
    http: bool = True
    mcp: bool = True
    keyword: str | None = None


def _option(
    kind: Kind, help: str, default: Any = None, factory: Callable[[], Any] | None = None, **more: Any
) -> Any:
    metadata = {"option": RequestOption(kind, help, **more)}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One question and the options of its run. Unset options come from the settings, see `resolve`.

    There are no options for hosts and keys: they belong to the settings.
    """

    question: str = field(
        metadata={
            "option": RequestOption(
                Kind.TEXT,
                "The question. The panel knows nothing else.",
                longest=TEXT,
                metavar="QUESTION",
                keyword="question",
            )
        }
    )
    protocol: str | None = _option(
        Kind.TEXT,
        "How the panel reaches an answer, such as consensus or voting; see `pnyx protocols`.",
        flags=("-p", "--protocol"),
        metavar="NAME",
        keyword="protocol",
    )
    models: Sequence[str] = _option(
        Kind.TEXTS,
        "The panel: provider:model for one seat, provider:model*N for N seats; NAME=REF names them.",
        (),
        flags=("-m", "--model"),
        metavar="[NAME=]REF[*N]",
        keyword="panel",
    )
    panel: str | None = _option(
        Kind.TEXT,
        "A saved panel, by the NAME of [panels.NAME] in the settings; other options take precedence over it.",
        flags=("-P", "--panel"),
        metavar="NAME",
        keyword="saved_panel",
    )
    judge: str | None = _option(
        Kind.TEXT,
        "The model that closes: judges the votes, or writes the answer. It need not be on the panel.",
        flags=("--judge",),
        metavar="REF",
        keyword="judge",
    )
    rounds: int | None = _option(
        Kind.WHOLE, "The most rounds.", low=1, high=1000, flags=("--rounds",), metavar="N", keyword="rounds"
    )
    options: Mapping[str, Any] = _option(
        Kind.VALUE_BY_NAME,
        "Other options of the protocol, by name.",
        factory=dict,
        longest=20_000,
        flags=("--option",),
        metavar="KEY=VALUE",
        keyword="options",
    )
    preset: str | None = _option(
        Kind.TEXT,
        "A set of the protocol's options: quick for a fast answer, deep for a thorough one.",
        choices={
            "quick": "Use the protocol's options for a fast answer.",
            "deep": "Use the protocol's options for a thorough answer.",
        },
        flags=("--quick", "--deep"),
        keyword="preset",
    )
    cast: str | None = _option(
        Kind.TEXT,
        "Roles for all seats: diverse (skeptic, advocate, pragmatist in turn) or redteam.",
        flags=("--roles",),
        metavar="NAME",
        keyword="cast",
    )
    roles: Mapping[str, str] = _option(
        Kind.TEXT_BY_NAME,
        "A role for a seat, by its label, number or NAME, or for the seats of a model.",
        factory=dict,
        longest=20_000,
        flags=("--role",),
        metavar="SEAT=TEXT",
        keyword="roles",
    )
    deadline_s: float | None = _option(
        Kind.AMOUNT,
        "Pause after this many seconds; a resumed run has as many again.",
        flags=("--deadline",),
        metavar="SECONDS",
        keyword="deadline_s",
    )
    call_deadline_s: float | None = _option(
        Kind.AMOUNT,
        "Stop waiting for a model after this many seconds.",
        flags=("--stall-timeout",),
        metavar="SECONDS",
        http=False,
        mcp=False,
    )
    seed: int | None = _option(
        Kind.WHOLE,
        "Random seed for labels and orders, also passed to the models.",
        low=0,
        high=2**32 - 1,
        flags=("--seed",),
        metavar="N",
        keyword="seed",
    )
    effort: str | None = _option(
        Kind.TEXT,
        "How much models think before they answer: none, low, medium or high; see docs/reasoning.md.",
        choices={
            "none": "No thinking.",
            "low": "Little thinking.",
            "medium": "More thinking.",
            "high": "Much thinking.",
        },
        flags=("--effort",),
        metavar="LEVEL",
        keyword="effort",
    )
    thinking_tokens: int | None = _option(
        Kind.WHOLE,
        "The most tokens that a model thinks before it answers, on top of the limit of a reply.",
        low=0,
        high=100_000_000,
        flags=("--thinking-tokens",),
        metavar="N",
        keyword="thinking_tokens",
    )
    efforts: Mapping[str, str | int] = _option(
        Kind.VALUE_BY_NAME,
        "How much one phase (such as propose) or one seat, named as for a role, thinks instead: a level or a "
        "number of tokens.",
        factory=dict,
        flags=("--effort-for",),
        metavar="NAME=LEVEL",
        keyword="efforts",
    )
    language: str | None = _option(
        Kind.TEXT,
        "The language of the answer, such as en, de or pt-BR; by default that of the question.",
        flags=("--language",),
        metavar="TAG",
        keyword="language",
    )
    instructions: str | None = _option(
        Kind.TEXT,
        "Your instructions for the content and the form of the answer, as a system message has them.",
        longest=TEXT,
        flags=("--instructions",),
        metavar="TEXT",
        keyword="instructions",
    )
    answer_schema: Mapping[str, Any] | None = _option(
        Kind.SCHEMA,
        "The JSON schema of the answer, which is then an object as JSON; its prose is in `detail.prose`.",
        flags=("--answer-schema",),
        metavar="FILE",
        keyword="answer_schema",
    )
    client_tools: Sequence[Mapping[str, Any]] = _option(
        Kind.TOOLS,
        "Tools that you run and the answer may call: each with name, description and parameters (a schema).",
        (),
        flags=("--client-tools",),
        metavar="FILE",
        keyword="client_tools",
    )
    tool_choice: str | None = _option(
        Kind.TEXT,
        "Whether the answer is a call of your tools: auto, none, required, or the name of the tool to call.",
        flags=("--tool-choice",),
        metavar="CHOICE",
        keyword="tool_choice",
    )
    parallel_tool_calls: bool | None = _option(
        Kind.SWITCH,
        "Let one answer have several calls of your tools; on unless you turn it off.",
        flags=("--parallel-tool-calls/--no-parallel-tool-calls",),
        keyword="parallel_tool_calls",
    )
    tools: bool | None = _option(
        Kind.SWITCH,
        "Let seats search the web, read pages and files, and run Python; see docs/tools.md.",
        flags=("--tools/--no-tools",),
        keyword="tools",
    )
    ground: bool = _option(
        Kind.FLAG,
        "Search the web first; all seats cite the same numbered sources.",
        False,
        flags=("--ground",),
        keyword="ground",
    )
    allow_unknown_price: bool = _option(
        Kind.FLAG,
        "With a budget, also use models without a known price.",
        False,
        flags=("--allow-unknown-price",),
        http=False,
        mcp=False,
        keyword="allow_unknown_price",
    )
    budget_usd: float | None = _option(
        Kind.AMOUNT,
        "Pause before the run costs more than this, in USD.",
        flags=("--budget",),
        metavar="USD",
        keyword="budget_usd",
    )
    responses: Iterable[Response] = _option(
        Kind.RESPONSES,
        "Existing answers, for a protocol that accepts them: texts, or {answer, reasoning, source}.",
        (),
        longest=TEXT,
        flags=("--responses",),
        metavar="FILE",
        flag_help="Existing answers, for a protocol that accepts them (see `pnyx protocols`): JSON Lines of "
        "answer and reasoning.",
        keyword="responses",
    )
    context: Sequence[Material | str] = _option(
        Kind.MATERIAL,
        "Material that the question is about, such as a document or a diff.",
        (),
        http=False,
        keyword="context",
    )
    files: Sequence[Source | File] = _option(
        Kind.FILES,
        "Files that the question is about: texts, code, PDF, Word, Excel and images; see docs/context.md.",
        (),
        flags=("--file",),
        metavar="PATH",
        flag_help="A file that the question is about: text, code, PDF, Word, Excel or an image.",
        keyword="files",
    )

    @property
    def protocol_options(self) -> dict[str, Any]:
        """`options` with `rounds`, which takes precedence if both are set."""
        return {**(self.options or {}), **({} if self.rounds is None else {"rounds": self.rounds})}


OPTIONS: Mapping[str, RequestOption] = {f.name: f.metadata["option"] for f in fields(RunRequest)}
"""Field -> option, in the order in which interfaces list them."""
