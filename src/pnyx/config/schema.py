"""The settings as one frozen value: what may be set, of what type, in what unit, and its default.

Reads no file and no environment, except which kinds of providers are installed and whose home a path's `~`
is; `pnyx.config.load` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)

from ..core.models import MOST
from ..errors import ConfigError
from ..plugins import PROVIDERS
from ..plugins import names as installed
from .database_url import parse_database_url
from .paths import expanded

__all__ = [
    "OWN",
    "RESTRICTED",
    "SECTIONS",
    "TABLES",
    "BudgetSettings",
    "CodeSettings",
    "FileSettings",
    "ModelSettings",
    "PanelSettings",
    "ProviderSettings",
    "RunSettings",
    "SearchSettings",
    "ServeSettings",
    "Settings",
    "StorageSettings",
    "ToolsSettings",
    "WorkerSettings",
    "nearest",
]


OWN = "own"
"""The kind of a provider whose object a program supplies; every other kind is an installed plugin."""

Tokens = Annotated[int, Field(gt=0, le=100_000_000)]
Rate = Annotated[float, Field(ge=0, le=1e6)]
"""A price: with as many tokens as a call may have, the call's is no more than a cap may be."""
Cap = Annotated[float, Field(gt=0, le=MOST)]
Seconds = Annotated[float, Field(gt=0, le=MOST)]
Temperature = Annotated[float, Field(ge=0, le=2)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _plain_url(base_url: str | None) -> str | None:
    if base_url is None:
        return None
    try:
        url = urlsplit(base_url)
        fine = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port)
    except ValueError:
        fine = False
    if not fine or re.search(r"[\s@?#\\]|[^ -~]", base_url):
        raise ValueError("must be an http or https address, without user, password, query or fragment")
    return base_url


def _known_database(url: str) -> str:
    parse_database_url(url)
    return url


def _path(path: str) -> str:
    expanded(path)
    return path


BaseUrl = Annotated[str | None, AfterValidator(_plain_url)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ProviderSettings(_Table):
    """One host of models. Keys are never written here: `api_key_env` names the variable that holds one.

    kind: an installed one, or "own"; `pnyx.providers.installed` knows what each accepts and defaults to.
    concurrency: calls under way at once, to all its models. requests_per_minute: None is no limit.
    slots, context, threads: of the embedded runtime: parallel generations, tokens each, CPU threads.
    """

    kind: str
    base_url: BaseUrl = None
    api_key_env: Variable | None = None
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    slots: Annotated[int, Field(ge=1, le=64)] | None = None
    context: Tokens | None = None
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        kinds = (*installed(PROVIDERS), OWN)
        if kind not in kinds:
            raise ValueError(f"must be one of {', '.join(kinds)}, not {kind!r}{nearest(kind, kinds)}")
        return kind


class ModelSettings(_Table):
    """What the catalogue does not know of a model, or has wrong. Prices in USD per million tokens.

    context, max_output: tokens. parameters: billions. proposer_eligible: whether it may propose.
    short_prompts: whether it gets the prompts' short variants. temperature: overrides run.temperature.
    """

    input_price: Rate | None = None
    output_price: Rate | None = None
    cached_price: Rate | None = None
    reasoning_price: Rate | None = None
    context: Tokens | None = None
    max_output: Tokens | None = None
    parameters: Annotated[float, Field(gt=0)] | None = None
    proposer_eligible: bool | None = None
    short_prompts: bool | None = None
    temperature: Temperature | None = None

    @model_validator(mode="after")
    def _whole_price(self) -> ModelSettings:
        prices = (self.input_price, self.output_price, self.cached_price, self.reasoning_price)
        if any(p is not None for p in prices) and None in prices[:2]:
            raise ValueError("needs both input_price and output_price, or no price at all")
        return self


class PanelSettings(_Table):
    """seats: "provider:model", or "provider:model*N" for N seats; empty: chosen from what is there."""

    # TOML has lists only; strict typing would refuse them for a tuple.
    seats: Annotated[tuple[str, ...], Field(strict=False)] = ()


class RunSettings(_Table):
    """deadline_s: seconds from a run's beginning, and anew from each resuming, until it is paused.

    call_deadline_s: seconds for one call, retries included.

    retries: requests after the first, for one call. seed: of everything drawn; None draws one.
    temperature: None leaves it to the host. max_output_tokens: of one reply. hedge: whether a call that
    takes longer than 95 % of its model's gets a second request beside it, for at most 5 % of all calls.
    """

    protocol: str = "consensus"
    deadline_s: Seconds = 600.0
    call_deadline_s: Seconds = 300.0
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = None
    temperature: Temperature | None = None
    max_output_tokens: Tokens = 4096
    hedge: bool = False


class BudgetSettings(_Table):
    """Caps in USD, None for no cap. warn_usd: spent in a run, from where on it warns.

    run_usd: of one run. day_usd: of all runs of a day. batch_usd: of all runs of a batch. key_usd: of
    all runs of one owner, which is a key of the server, or "local".

    allow_unknown_price: whether a capped run may ask models whose price is unknown.
    """

    run_usd: Cap | None = None
    day_usd: Cap | None = None
    batch_usd: Cap | None = None
    key_usd: Cap | None = None
    warn_usd: Cap | None = None
    allow_unknown_price: bool = False


class StorageSettings(_Table):
    """url: of an SQLite file or a PostgreSQL, or the path of an SQLite file; None: in the data folder."""

    url: Annotated[str, Field(min_length=1), AfterValidator(_known_database)] | None = None


class ServeSettings(_Table):
    """Of `pnyx serve`. host, port: where it listens; port 0 takes a free one.

    hosts: names, beside those of this machine, that requests may call the server by (`Host`). runs: under way
    at once, at most. queue: whether runs are put into the queue that `pnyx worker` takes them from, instead
    of being run by the server.
    """

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8642
    hosts: Annotated[tuple[str, ...], Field(strict=False)] = ()
    runs: Annotated[int, Field(ge=1, le=100_000)] = 2000
    queue: bool = False


class WorkerSettings(_Table):
    """Of `pnyx worker`. concurrency: runs under way at once, at most."""

    concurrency: Annotated[int, Field(ge=1, le=10_000)] = 16


_SEARCH_KEYS = {"tavily": "TAVILY_API_KEY", "exa": "EXA_API_KEY"}


class SearchSettings(_Table):
    """Who is asked to search the web, and for how many results.

    api_key_env: None is the usual variable of Tavily or Exa, at their own host. base_url: of a SearXNG,
    or of a host in place of Tavily's or Exa's own. search_price: USD for one search by a model's host, where
    the back end is "provider"; None is unknown.
    """

    backend: Literal["duckduckgo", "tavily", "exa", "searxng", "provider", "none"] = "duckduckgo"
    max_results: Annotated[int, Field(ge=1, le=20)] = 5
    api_key_env: Variable | None = None
    base_url: BaseUrl = None
    search_price: Rate | None = None

    @property
    def usual_key(self) -> str | None:
        """The variable that the maker of the back end has people put their key into."""
        return _SEARCH_KEYS.get(self.backend)

    @property
    def key_variables(self) -> tuple[str, ...]:
        """The variables that may hold a key of a search service, whichever is asked."""
        return (*_SEARCH_KEYS.values(), *filter(None, [self.api_key_env]))

    @model_validator(mode="after")
    def _address(self) -> SearchSettings:
        if self.backend == "searxng" and self.base_url is None:
            raise ValueError("needs base_url, the address of the SearXNG")
        return self


class CodeSettings(_Table):
    """timeout_s: seconds a program may run. memory_mb: MiB it may use, each of its processes for itself."""

    enabled: bool = False
    backend: Literal["monty", "bubblewrap"] = "monty"
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 30.0
    memory_mb: Annotated[int, Field(ge=64, le=65536)] = 256


class FileSettings(_Table):
    """roots: the folders whose files may be read, from the working directory where not absolute."""

    roots: Annotated[tuple[Annotated[str, AfterValidator(_path)], ...], Field(strict=False)] = (".",)


class ToolsSettings(_Table):
    """max_rounds: turns of the model in one call, at most; in the last it must answer with what it has."""

    enabled: bool = False
    max_rounds: Annotated[int, Field(ge=1, le=50)] = 5
    web_search: SearchSettings = SearchSettings()
    code_execution: CodeSettings = CodeSettings()
    file_read: FileSettings = FileSettings()


class Settings(_Table):
    """Everything that can be set. `pnyx.config.load.load` builds it once; it is passed to whoever needs it.

    protocols: the tables named after protocols, unchecked; see `pnyx.config.load.check_protocols`.
    """

    providers: Mapping[str, ProviderSettings] = Field(default_factory=dict)
    models: Mapping[str, ModelSettings] = Field(default_factory=dict)
    panel: PanelSettings = PanelSettings()
    run: RunSettings = RunSettings()
    budget: BudgetSettings = BudgetSettings()
    storage: StorageSettings = StorageSettings()
    tools: ToolsSettings = ToolsSettings()
    serve: ServeSettings = ServeSettings()
    worker: WorkerSettings = WorkerSettings()
    protocols: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    _origins: Mapping[tuple[str, ...], str] = PrivateAttr(default_factory=dict)

    def origin(self, *key: str) -> str:
        """Where the key, or something in its table, was given: a file, `$VARIABLE`, "flags", or "default"."""
        return next((where for k, where in self._origins.items() if k[: len(key)] == key), "default")

    def provider(self, name: str) -> ProviderSettings:
        """The provider called `name`: a configured one, or an installed kind of that name.

        Raises `ConfigError` if there is neither.
        """
        if name in self.providers:
            return self.providers[name]
        kinds = installed(PROVIDERS)
        if name in kinds:
            return ProviderSettings(kind=name)
        known = list(dict.fromkeys((*self.providers, *kinds)))
        raise ConfigError(f"no provider {name!r}{nearest(name, known)}; there are: {', '.join(known)}")

    def with_own(self, names: Iterable[str]) -> Settings:
        """These settings, with providers of these names whose objects the caller supplies."""
        own = {name: ProviderSettings(kind=OWN) for name in names}
        return self.model_copy(update={"providers": own | dict(self.providers)})


TABLES: Mapping[tuple[str, ...], type[BaseModel]] = {
    ("providers", "*"): ProviderSettings,
    ("models", "*"): ModelSettings,
    ("panel",): PanelSettings,
    ("run",): RunSettings,
    ("budget",): BudgetSettings,
    ("storage",): StorageSettings,
    ("tools",): ToolsSettings,
    ("tools", "web_search"): SearchSettings,
    ("tools", "code_execution"): CodeSettings,
    ("tools", "file_read"): FileSettings,
    ("serve",): ServeSettings,
    ("worker",): WorkerSettings,
}
"""What each table of a settings file holds; "*" stands for a name the user gives."""

SECTIONS = tuple(dict.fromkeys(table[0] for table in TABLES))
RESTRICTED = frozenset(SECTIONS) - {"panel", "run"}
"""Sections that a project file may set only in a trusted folder: all but those known to be harmless."""


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """A "did you mean" with the known name nearest to `name`, to be put behind a message, or nothing.

    likeness: how much of both names, 0 to 1, has to be the same.
    """
    found = get_close_matches(name, list(known), 1, likeness)
    return f"; did you mean {found[0]}?" if found else ""
