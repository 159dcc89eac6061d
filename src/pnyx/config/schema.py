"""The schema of the settings: keys, types, units and defaults, as one frozen value.

`pnyx.config.load` reads files and the environment. This module looks up only the installed kinds of
providers and the home folder of a `~`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, field_validator, model_validator

from ..core.models import MOST
from ..core.prose.language import language_tag
from ..core.thinking import Effort
from ..errors import ConfigError, NotFound
from ..plugins import PROTOCOLS, PROVIDERS
from ..plugins import names as installed
from ..similar import among, nearest
from ..times import parse_duration
from .database_url import parse_database_url
from .layers import Key, Layer, Value
from .paths import expand_path
from .tables.base import Table
from .tables.base_url import BaseUrl, HostUrl
from .tables.panels import PanelName, PanelSettings, SavedPanel
from .tables.server import KeyLimits, McpSettings, ServedModel, ServeSettings, WorkerSettings
from .tables.telemetry import TelemetrySettings

__all__ = [
    "KEEP",
    "OWN",
    "SECTIONS",
    "TABLES",
    "BudgetSettings",
    "CodeSettings",
    "FileSettings",
    "ModelSettings",
    "PanelSettings",
    "PhaseSettings",
    "ProviderSettings",
    "RunSettings",
    "SavedPanel",
    "SearchSettings",
    "ServeSettings",
    "Settings",
    "StorageSettings",
    "TelemetrySettings",
    "ToolsSettings",
    "WorkerSettings",
    "table_at",
]


OWN = "own"
"""The kind of a provider whose object a program supplies; every other kind is an installed plugin."""

Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
ThinkingTokens = Annotated[int, Field(ge=0, le=100_000_000)]
Rate = Annotated[float, Field(ge=0, le=1e6)]
"""A price. With the largest number of tokens of a call, its cost is at most the largest cap."""
Cap = Annotated[float, Field(gt=0, le=MOST)]
Seconds = Annotated[float, Field(gt=0, le=MOST)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Language = Annotated[str, AfterValidator(language_tag)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _known_database(url: str) -> str:
    parse_database_url(url)
    return url


def _path(path: str) -> str:
    expand_path(path)
    return path


class ProviderSettings(Table):
    """One model host. It contains no key: `api_key_env` is the name of the variable with the key.

    kind: an installed one, or "own"; `pnyx.providers.installed` knows what each accepts and defaults to.
    concurrency: simultaneous calls to all its models. requests_per_minute: None is no limit.
    slots, context, threads: parallel generations, tokens of each, CPU threads of the embedded runtime.
    """

    kind: str
    base_url: HostUrl = None
    api_key_env: Variable | None = None
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    slots: Annotated[int, Field(ge=1, le=64)] | None = None
    context: Tokens | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    _free: bool = PrivateAttr(default=False)

    @property
    def free(self) -> bool:
        """Whether the object of a program says that its tokens cost nothing. No file can set it."""
        return self._free

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        kinds = (*installed(PROVIDERS), OWN)
        if kind not in kinds:
            raise ValueError(f"must be one of {', '.join(kinds)}, not {kind!r}{nearest(kind, kinds)}")
        return kind


class ModelSettings(Table):
    """Properties of a model that the catalogue lacks or has wrong. Prices in USD per million tokens.

    context, max_output: tokens. parameters: billions. proposer_eligible: whether it may propose.
    short_prompts: whether it receives the short variants of prompts. images: whether it reads images.
    temperature, reasoning_effort and thinking_tokens override those of `run`.
    """

    input_price: Rate | None = None
    output_price: Rate | None = None
    cached_price: Rate | None = None
    cache_write_price: Rate | None = None
    reasoning_price: Rate | None = None
    context: Tokens | None = None
    max_output: Tokens | None = None
    parameters: Annotated[float, Field(gt=0)] | None = None
    proposer_eligible: bool | None = None
    short_prompts: bool | None = None
    images: bool | None = None
    temperature: Temperature | None = None
    reasoning_effort: Effort | None = None
    thinking_tokens: ThinkingTokens | None = None

    @model_validator(mode="after")
    def _whole_price(self) -> ModelSettings:
        apart = (self.cached_price, self.cache_write_price, self.reasoning_price)
        prices = (self.input_price, self.output_price, *apart)
        if any(p is not None for p in prices) and None in prices[:2]:
            raise ValueError("needs both input_price and output_price, or no price at all")
        return self


class PhaseSettings(Table):
    """How much models think in a phase; overrides the settings of models and of `run`."""

    reasoning_effort: Effort | None = None
    thinking_tokens: ThinkingTokens | None = None


class RunSettings(Table):
    """deadline_s: seconds from each start or resume of a run until it is paused.

    call_deadline_s: seconds for one call, retries included. retries: further requests of one call.
    seed: random seed; None draws one. temperature: None is the host's default. max_output_tokens: limit of
    one reply. hedge: whether a call slower than 95 % of its model's calls is sent a second time in
    parallel, for at most 5 % of all calls. reasoning_effort, thinking_tokens: how much a model thinks before
    it answers, see `core.thinking`; None is the host's default. phases: by the name of a phase. language: of
    the answer, a BCP 47 tag; None is that of the question.
    """

    protocol: str = "consensus"
    deadline_s: Seconds = 600.0
    call_deadline_s: Seconds = 300.0
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    temperature: Temperature | None = None
    max_output_tokens: Tokens = 4096
    hedge: bool = False
    reasoning_effort: Effort | None = None
    thinking_tokens: ThinkingTokens | None = None
    language: Language | None = None
    phases: Mapping[str, PhaseSettings] = Field(default_factory=dict)


class BudgetSettings(Table):
    """Caps in USD, None for no cap. warn_usd: amount at which a run warns.

    run_usd: cap of one run. day_usd: of all runs of a day. batch_usd: of all runs of a batch. key_usd: of
    all runs of one owner, which is a key of the server, or "local".

    allow_unknown_price: whether a run with a cap may call models with an unknown price.
    """

    run_usd: Cap | None = None
    day_usd: Cap | None = None
    batch_usd: Cap | None = None
    key_usd: Cap | None = None
    warn_usd: Cap | None = None
    allow_unknown_price: bool = False


def _duration(text: str) -> str:
    parse_duration(text)
    return text


KEEP = ("tagged", "pinned", "feedback")
"""What old runs are kept for."""


class StorageSettings(Table):
    """url: URL of an SQLite file or PostgreSQL, or path of an SQLite file; None: in the data folder.

    retention: the age, such as 90d, from which servers and workers delete runs; None: they delete none. keep:
    the old runs that are kept all the same.
    """

    url: Annotated[str, Field(min_length=1), AfterValidator(_known_database)] | None = None
    retention: Annotated[str, AfterValidator(_duration)] | None = None
    keep: Annotated[tuple[Literal["tagged", "pinned", "feedback"], ...], Field(strict=False)] = (
        "tagged",
        "pinned",
        "feedback",
    )


_SEARCH_KEYS = {"tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY"}


class SearchSettings(Table):
    """The web search service and its number of results.

    api_key_env: None is the standard variable of Tavily or Exa, at their own host. base_url: of SearXNG,
    or of a host that replaces Tavily's or Exa's. search_price: USD per search by a model's host, with the
    back end "provider"; None is unknown.
    """

    backend: Literal["duckduckgo", "tavily", "exa", "searxng", "provider", "none"] = "duckduckgo"
    max_results: Annotated[int, Field(ge=1, le=20)] = 5
    api_key_env: Variable | None = None
    base_url: BaseUrl = None
    search_price: Rate | None = None

    @property
    def usual_key(self) -> str | None:
        """The standard variable for the key of the back end, as its vendor documents it."""
        return _SEARCH_KEYS.get(self.backend)

    @property
    def key_variables(self) -> tuple[str, ...]:
        """All variables that may contain a key of a search service."""
        return (*_SEARCH_KEYS.values(), *filter(None, [self.api_key_env]))

    @model_validator(mode="after")
    def _address(self) -> SearchSettings:
        if self.backend == "searxng" and self.base_url is None:
            raise ValueError("needs base_url, the URL of your SearXNG")
        return self


class CodeSettings(Table):
    """timeout_s: time limit of a program in seconds. memory_mb: memory limit of each process in MiB."""

    enabled: bool = False
    backend: Literal["monty", "bubblewrap"] = "monty"
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    memory_mb: Annotated[int, Field(ge=64, le=65536)] = 256


class FileSettings(Table):
    """roots: folders whose files may be read; relative ones start in the working directory."""

    roots: Annotated[tuple[Annotated[str, AfterValidator(_path)], ...], Field(strict=False)] = (".",)


Megabytes = Annotated[float, Field(gt=0, le=10_000)]


class ContextSettings(Table):
    """Limits of the files that a request brings. file_mb: of one file, image_mb: of one image, total_mb: of
    all, in MB (1,000,000 bytes). files: their number, also of a folder.
    """

    file_mb: Megabytes = 20.0
    image_mb: Megabytes = 5.0
    total_mb: Megabytes = 50.0
    files: Annotated[int, Field(ge=1, le=100_000)] = 500


class ToolsSettings(Table):
    """max_rounds: limit of the model's turns in one call; in the last one it must answer without tools."""

    enabled: bool = False
    max_rounds: Annotated[int, Field(ge=1, le=50)] = 5
    web_search: SearchSettings = SearchSettings()
    code_execution: CodeSettings = CodeSettings()
    file_read: FileSettings = FileSettings()


class Settings(Table):
    """All settings. `pnyx.config.load.load` builds them once, and callers pass them on.

    protocols: the tables named after protocols, unchecked; see `pnyx.config.load.check_protocols`.
    """

    providers: Mapping[str, ProviderSettings] = Field(default_factory=dict)
    models: Mapping[str, ModelSettings] = Field(default_factory=dict)
    panel: PanelSettings = PanelSettings()
    panels: Mapping[PanelName, SavedPanel] = Field(default_factory=dict)
    run: RunSettings = RunSettings()
    budget: BudgetSettings = BudgetSettings()
    storage: StorageSettings = StorageSettings()
    tools: ToolsSettings = ToolsSettings()
    context: ContextSettings = ContextSettings()
    serve: ServeSettings = ServeSettings()
    mcp: McpSettings = McpSettings()
    worker: WorkerSettings = WorkerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    protocols: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    _set: dict[Key, Value] = PrivateAttr(default_factory=dict)

    def origin(self, *key: str) -> str:
        """Return the origin of a key or of its table: a file, `$VARIABLE`, "flags", or "default"."""
        return self._set[key].origin if key in self._set else "default"

    def place(self, *key: str) -> str:
        """Return the origin of a key or of its table with its line in a file, for messages."""
        return self._set[key].place if key in self._set else "default"

    def note_origins(self, layer: Layer) -> None:
        """Note the origins of all keys that are set. A table has that of the first key in it."""
        self._set = dict(layer)
        for key, value in layer.items():
            for length in range(len(key)):
                self._set.setdefault(key[:length], value)

    def provider(self, name: str) -> ProviderSettings:
        """Return the provider called `name`: a configured one, or an installed kind of that name.

        Raises `ConfigError` if there is neither.
        """
        if name in self.providers:
            return self.providers[name]
        kinds = installed(PROVIDERS)
        if name in kinds:
            return ProviderSettings(kind=name)
        known = list(dict.fromkeys((*self.providers, *kinds)))
        raise ConfigError(f"no provider {name!r}{among(name, known, 'there are: ' + ', '.join(known))}")

    def saved_panel(self, name: str) -> SavedPanel:
        """Return the saved panel called `name`. Raises `NotFound`, which lists the saved ones."""
        if name in self.panels:
            return self.panels[name]
        known = ", ".join(self.panels)
        there = f"there are: {known}" if known else "none is saved: `pnyx init` saves one"
        if ":" in name:
            there += f'; to name a model, use "models": ["{name}"]'
        elif name in installed(PROTOCOLS):
            there += f'; {name} is a protocol: use "protocol": "{name}"'
        raise NotFound(f"no saved panel {name[:80]!r}{among(name, self.panels, there)}")

    def with_provider_objects(self, names: Iterable[str], free: Collection[str] = ()) -> Settings:
        """Return the settings with further providers of these names, whose objects the caller supplies.

        free: names of those whose tokens cost nothing.
        """
        own = {name: ProviderSettings(kind=OWN) for name in names}
        for name in free:
            own[name]._free = True
        return self.model_copy(update={"providers": own | dict(self.providers)})


TABLES: Mapping[tuple[str, ...], type[BaseModel]] = {
    ("providers", "*"): ProviderSettings,
    ("models", "*"): ModelSettings,
    ("panel",): PanelSettings,
    ("panels", "*"): SavedPanel,
    ("run",): RunSettings,
    ("run", "phases", "*"): PhaseSettings,
    ("serve", "models", "*"): ServedModel,
    ("serve", "keys", "*"): KeyLimits,
    ("budget",): BudgetSettings,
    ("storage",): StorageSettings,
    ("tools",): ToolsSettings,
    ("tools", "web_search"): SearchSettings,
    ("tools", "code_execution"): CodeSettings,
    ("tools", "file_read"): FileSettings,
    ("context",): ContextSettings,
    ("serve",): ServeSettings,
    ("mcp",): McpSettings,
    ("worker",): WorkerSettings,
    ("telemetry",): TelemetrySettings,
}
"""The tables of a settings file; "*" is a name that the user chooses."""


def table_at(key: Sequence[str]) -> type[BaseModel] | None:
    """Return the table whose keys are below `key`, or None."""
    for table, model in TABLES.items():
        if len(table) == len(key) and all(a in ("*", b) for a, b in zip(table, key, strict=True)):
            return model
    return None


SECTIONS = tuple(dict.fromkeys(table[0] for table in TABLES))
