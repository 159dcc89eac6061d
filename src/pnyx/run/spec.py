"""What a run was asked to be: stored with it whole, so that a resume needs no configuration."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

from .. import protocols
from ..core.decision import Given
from ..core.documents import build
from ..core.models import MOST, Price, Seat
from ..core.protocol import Protocol
from ..core.steps import Brief, Panel
from ..core.text import Draft, Material, is_text
from ..errors import ConfigError, UsageError
from ..prompts import load
from ..protocols.shared.grounding import grounded
from .limits import Limits

__all__ = ["Spec"]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A run before it starts.

    options: of its protocol, settled. tables: the options configured for other protocols, which it
    may run inside. seed: of labels and orders; salt: the secret from which fence nonces come.
    responses: answers that exist already. ground: search the web for the question first. budget_usd,
    day_usd, batch_usd, key_usd: caps; batch: the name of what the third is for; batch_own: that one was
    given with the batch, and no setting changes it; warn_usd: where a warning is due; deadline_s: seconds
    from its beginning, and anew from each resuming, until the run is paused. history, calibration: what
    earlier runs taught, see `run.learned`.
    searches: of the web, that a seat's host may make by itself in one request, where it can;
    search_price: USD for one of them, None when unknown.
    """

    question: str
    protocol: str
    seats: tuple[Seat, ...]
    limits: Limits
    options: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    context: tuple[Material, ...] = ()
    today: str = field(default_factory=lambda: date.today().isoformat())
    seed: int = 0
    salt: str = field(default_factory=lambda: secrets.token_hex(16))
    budget_usd: float | None = None
    day_usd: float | None = None
    batch_usd: float | None = None
    batch_own: bool = False
    key_usd: float | None = None
    batch: str | None = None
    warn_usd: float | None = None
    deadline_s: float | None = None
    allow_unknown_price: bool = False
    tools: tuple[str, ...] = ()
    tool_turns: int = 5
    searches: int = 0
    search_price: float | None = None
    responses: tuple[Given, ...] = ()
    ground: bool = False
    owner: str = "local"
    conversation: str | None = None
    history: Mapping[str, Any] | None = None
    calibration: Mapping[str, Any] | None = None

    @property
    def page(self) -> Protocol:
        page = protocols.get(self.protocol)
        return replace(page, script=grounded(page.script)) if self.ground else page

    @property
    def quorum(self) -> int:
        """Live seats that the run needs."""
        return (self.page.quorum_given if self.responses else None) or self.page.quorum

    @property
    def panel(self) -> Panel:
        return Panel(
            self.seats,
            self.seed,
            self.salt,
            frame=_frame,
            tools=self.tools,
            tool_turns=self.tool_turns,
            authors=tuple(given.source for given in self.responses if given.source),
        )

    @property
    def brief(self) -> Brief:
        return Brief(self.question, self.today, self.options, self.context, self.responses)

    @property
    def seated(self) -> tuple[Mapping[str, Any], ...]:
        """The seats as events and results tell them."""
        return tuple({"seat": s.label, "model": s.model, "role": s.role or None} for s in self.seats)

    @property
    def caps(self) -> dict[str, float | None]:
        """What a call is charged to, and how much each may hold: scope -> USD, None without a cap.

        The run's own account is the runner's to name.
        """
        batch = {f"batch:{self.batch}": self.batch_usd} if self.batch else {}
        # Charged whether there is a cap or not: one that is set later holds for what was spent before.
        return {"run": self.budget_usd, "day": self.day_usd, **batch, f"key:{self.owner}": self.key_usd}

    def same_request(self, other: Spec) -> bool:
        """Whether both ask the same of the same panel, however chance has seated it; caps may differ."""
        return self._request() == other._request()

    def _request(self) -> tuple[Any, ...]:
        seats = sorted((seat.model, seat.role) for seat in self.seats)
        return (
            self.question,
            self.protocol,
            dict(self.options),
            self.context,
            self.responses,
            self.ground,
            seats,
        )

    def going_on(self, begun: Mapping[str, Any]) -> dict[str, Any]:
        """How a run goes on that this begins again, as arguments of `Runner.resume`: under the larger cap.

        begun: the spec that it has, as JSON. Another cap may have been given since, which is not taken back.
        """
        had, wanted = begun["budget_usd"], self.budget_usd or MOST
        larger = wanted if had is not None and wanted > had else None
        return {"owner": self.owner, "deadline_s": self.deadline_s, "budget_usd": larger}

    def check(self) -> None:
        """Raise `UsageError` for a run that could not end well."""
        if not self.question.strip():
            raise UsageError('there is no question; give one as an argument, or "-" and text on stdin')
        self.check_amounts()
        # These are kept as they are, beside the JSON that holds the rest.
        for name in ("question", "owner", "conversation", "batch"):
            if not is_text(getattr(self, name) or ""):
                raise UsageError(f"the {name} is not text: it holds NUL or half a character")
        if self.responses and self.page.quorum_given is None:
            takers = [page.name for page in protocols.loaded() if page.quorum_given is not None]
            raise UsageError(f"{self.protocol} takes no given responses; these do: {', '.join(takers)}")
        if len(self.seats) < self.quorum:
            raise UsageError(
                f"{self.protocol} needs {self.quorum} seats, the panel has {len(self.seats)}; "
                "give more with --model, or one model several seats: --model 'provider:model*3'"
            )
        unknown = sorted({seat.model for seat in self.seats if seat.price is None})
        capped = any(cap is not None for cap in self.caps.values())
        if unknown and capped and not self.allow_unknown_price:
            raise ConfigError(
                f"a budget is set, but the price of {', '.join(unknown)} is unknown; set input_price and "
                f'output_price in [models."{unknown[0]}"], or allow_unknown_price in [budget]'
            )
        if self.searches and self.search_price is None and capped and not self.allow_unknown_price:
            raise ConfigError(
                "a budget is set, but the price of a search by a model's host is unknown; set search_price "
                "in [tools.web_search], or allow_unknown_price in [budget]"
            )

    def check_amounts(self) -> None:
        """The same for its caps, its deadline and its seed alone."""
        for name in _AMOUNTS:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value <= MOST):
                raise UsageError(
                    f"{name} must be a number above 0 and at most {MOST:,.0f}, not {value!r}; "
                    "leave it out for what is configured"
                )
        seed: object = self.seed
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            raise UsageError(
                f"seed must be a whole number from 0 to {2**32 - 1}, not {seed!r}; leave it out to draw one"
            )

    def resolve(self, name: str, brief: Brief) -> tuple[Protocol, Brief]:
        """A protocol to run inside this one, with the options configured for it."""
        page = protocols.get(name)
        given = {**self.tables.get(name, {}), **brief.options}
        return page, replace(brief, options=page.resolve_options(page.select_options(given)))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], run_id: str = "") -> Spec:
        """The spec in a stored document; unknown fields are ignored. Raises `Unreadable`."""
        what = f"run {run_id}".strip()
        values = dict(document)
        for name, of in (("seats", Seat), ("context", Material), ("responses", Given)):
            items = [{**one, **_price(one, what)} if of is Seat else one for one in values.get(name, ())]
            if name in values:
                values[name] = tuple(build(of, one, what) for one in items)
        if "limits" in values:
            values["limits"] = build(Limits, values["limits"], what)
        if "tools" in values:
            values["tools"] = tuple(values["tools"])
        return build(cls, values, what)


def _price(seat: Mapping[str, Any], what: str) -> dict[str, Any]:
    price = seat.get("price")
    return {} if price is None else {"price": build(Price, price, what)}


_AMOUNTS = ("budget_usd", "day_usd", "batch_usd", "key_usd", "warn_usd", "deadline_s")


def _frame(role: str) -> Draft:
    return load("role")(role=role)
