"""The specification of a run: stored with it, so that a resume needs no configuration."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date
from typing import Any

from .. import protocols
from ..config.layers import dotted
from ..core.context.files import File, contents, file_rows, without_content
from ..core.decision import Given
from ..core.documents import build, to_document
from ..core.models import MOST, REVISION, Payer, Seat
from ..core.protocol import Protocol
from ..core.steps import Brief, Panel
from ..core.text import Draft, Material, is_text
from ..core.thinking import EFFORTS, Effort, Thinking
from ..core.tool_calls import ToolOffer
from ..errors import ConfigError, Problems, UsageError
from ..prompts import load
from ..protocols.shared.answer_form import with_form
from ..protocols.shared.call_form import with_calls
from ..protocols.shared.grounding import grounded
from .calls.context_window import check_files_fit, check_question_fits
from .calls.limits import Limits
from .options.answer_schema import violation
from .options.client_tools import call_problem, offer_of
from .stored_spec import parts_of

__all__ = ["LOCAL", "Spec", "check_question"]

LOCAL = "local"
"""Owner of runs from the command line, and of requests with the server's temporary key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spec:
    """Everything that defines a run.

    options: of its protocol, resolved. tables: the options configured for other protocols, which it may run
    inside. seed: for labels and orders. salt: the secret from which fence nonces are derived. responses:
    existing answers. ground: search the web for the question first. budget_usd, day_usd, batch_usd, key_usd,
    key_day_usd: caps. batch: the name of the batch. batch_own: its cap is a flag of the batch's command, and
    settings do not change it. warn_usd: the amount at which a warning is due. deadline_s: seconds from the
    start, or from a resume, until the run is paused. searches: web searches that a seat's host may make
    itself in one request. search_price: USD for one of them, None if unknown. history, calibration: what
    earlier runs teach, see `run.learned`. revision: of what protocols do, see `models.REVISION`. language:
    the tag of the language to answer in; None: that of the question. instructions, answer_schema: of the
    asker, for the answer. client_tools, tool_choice, parallel_tool_calls: see `client_tools`. effort,
    thinking_tokens: of the request; see `thinking`. efforts_of_phases, efforts_of_seats: of the request, as
    fields of `Thinking`, by the name of a phase and by the label of a seat. judge: the seat that closes, if
    the request names one; it may be one of `seats`. files: what the question is about; as JSON without their
    contents, which are stored apart, see `contents`. saved_panel: the name of the one that the request names.
    trace: the request and the spans that the run belongs to, see `observer.renewed`.
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
    key_day_usd: float | None = None
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
    owner: str = LOCAL
    conversation: str | None = None
    history: Mapping[str, Any] | None = None
    calibration: Mapping[str, Any] | None = None
    revision: int = REVISION
    language: str | None = None
    instructions: str | None = None
    answer_schema: Mapping[str, Any] | None = None
    client_tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    effort: Effort | None = None
    thinking_tokens: int | None = None
    efforts_of_phases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    efforts_of_seats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    files: tuple[File, ...] = ()
    judge: Seat | None = None
    saved_panel: str | None = None
    trace: Mapping[str, str] | None = None

    @property
    def protocol_def(self) -> Protocol:
        """The protocol, with grounding, calls of the asker's tools and a form of the answer if requested.

        Raises `NotFound` if it is not installed.
        """
        protocol = protocols.get(self.protocol)
        if self.ground:
            protocol = replace(protocol, script=grounded(protocol.script))
        if (offer := self.offer) is not None:
            protocol = with_calls(protocol, offer, lambda calls: call_problem(calls, offer))
        if (document := self.answer_schema) is not None:
            protocol = with_form(protocol, document, lambda value: violation(value, document))
        return protocol

    @property
    def offer(self) -> ToolOffer | None:
        """The asker's tools as the seats are offered them."""
        return offer_of(self.client_tools, self.tool_choice, self.parallel_tool_calls)

    @property
    def all_options(self) -> dict[str, Any]:
        """The options, with the defaults of those that the version of a stored run did not have."""
        return {name: one.default for name, one in self.protocol_def.options.items()} | dict(self.options)

    @property
    def payer(self) -> Payer:
        """What the costs of the run are reported under."""
        models = {seat.label: seat.model for seat in self.callable_seats}
        return Payer(self.owner, self.protocol, self.saved_panel or "", models)

    @property
    def quorum(self) -> int:
        """The least number of live seats."""
        return (self.protocol_def.quorum_given if self.responses else None) or self.protocol_def.quorum

    @property
    def panel(self) -> Panel:
        return Panel(
            self.seats,
            self.seed,
            self.salt,
            frame=_frame,
            tools=self.tools,
            tool_turns=self.tool_turns,
            authors=tuple(response.source for response in self.responses if response.source),
            revision=self.revision,
            language=self.language,
            judge=self.judge,
        )

    @property
    def callable_seats(self) -> tuple[Seat, ...]:
        """The seats that may be called: those of the panel, and the judge."""
        return self.panel.closers(self.seats)

    @property
    def brief(self) -> Brief:
        return Brief(
            self.question,
            self.today,
            self.options,
            self.context,
            self.responses,
            self.instructions or "",
            self.offer,
            self.files,
        )

    @property
    def seat_rows(self) -> tuple[Mapping[str, Any], ...]:
        """The seats as events and results list them."""
        return tuple({"seat": s.label, "model": s.model, "role": s.role or None} for s in self.seats)

    @property
    def file_rows(self) -> tuple[Mapping[str, Any], ...]:
        """The files as events and results list them."""
        return file_rows(self.files)

    @property
    def contents(self) -> Mapping[str, str]:
        """`File.content` -> the content of the file, which is stored once for all runs."""
        return contents(self.files)

    @property
    def caps(self) -> dict[str, float | None]:
        """The scopes that a call is charged to -> their cap in USD, or None; see `RunBudget`."""
        batch = {f"batch:{self.batch}": self.batch_usd} if self.batch else {}
        # Charged without a cap too: a cap that is set later counts earlier spending.
        caps = {"run": self.budget_usd, "day": self.day_usd, **batch, f"key:{self.owner}": self.key_usd}
        # A person's own runs are no key's: their cap of a day is that of all runs.
        return caps if self.owner == LOCAL else {**caps, f"key-day:{self.owner}": self.key_day_usd}

    def thinking(self, seat: Seat, phase: str, effort: Effort | None = None) -> Thinking:
        """Return how much the seat may think in a call of `phase`. effort: see `Ask`.

        Precedence: the request for the phase, for the seat, and for all; then the settings of the phase, the
        model, and the run. A call with an effort of its own, such as a ballot, keeps it, unless its phase is
        named: a request for more thought is about answers, and one for none about all calls.
        """
        asked, configured = (
            Thinking.of(**table.get(phase, {})) for table in (self.efforts_of_phases, self.limits.phases)
        )
        of_seat = Thinking.of(**self.efforts_of_seats.get(seat.label, {}))
        request, model, run = (
            Thinking.of(one.effort, one.thinking_tokens) for one in (self, seat, self.limits)
        )
        general = Thinking.first((asked, of_seat, request, configured, model, run))
        if effort is None or general.effort == "none":
            return general
        of_phase = Thinking.first((asked, configured))
        return Thinking(effort) if of_phase == Thinking.of() else of_phase

    @property
    def asked_thinking(self) -> tuple[Any, ...]:
        """What the request says of thinking, for all, by phase and by seat, wherever the seats are; or ()."""
        efforts = self.efforts_of_seats
        named = [seat for seat in self.callable_seats if seat.label in efforts]
        of_seats = sorted((seat.model, seat.role, *efforts[seat.label].items()) for seat in named)
        asked = (self.effort, self.thinking_tokens, dict(self.efforts_of_phases), of_seats)
        return () if asked == (None, None, {}, []) else asked

    def output_limit(self, seat: Seat, times: int = 1) -> int:
        """Return the most output tokens of a call to the seat in any phase, thinking included.

        times: the limit of the run, as often as a reply may have it.
        """
        thinking = [
            self.thinking(seat, phase, effort)
            for phase in ("", *self.limits.phases, *self.efforts_of_phases)
            for effort in (None, EFFORTS[0])
        ]
        most = times * (self.limits.max_output_tokens + max(one.tokens or 0 for one in thinking))
        return most if seat.max_output is None else min(most, seat.max_output)

    def same_request(self, other: Spec) -> bool:
        """Return whether both send the same request to the same panel, in any order; caps may differ."""
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
            self.language,
            self.instructions,
            self.answer_schema,
            self.client_tools,
            self.tool_choice,
            self.parallel_tool_calls,
            self.asked_thinking,
            self.files,
            self.judge and self.judge.model,
            seats,
        )

    def resume_arguments(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of `Runner.resume` for the existing run with the spec `stored`, as JSON.

        Its budget is raised to that of this spec, and never lowered.
        """
        stored_cap, cap = stored["budget_usd"], self.budget_usd or MOST
        larger = cap if stored_cap is not None and cap > stored_cap else None
        return {"owner": self.owner, "deadline_s": self.deadline_s, "budget_usd": larger}

    def check(self) -> None:
        """Raise `UsageError` or `ConfigError` for a run that could not succeed."""
        check_question(self.question)
        problems = Problems()
        for check in (self.check_amounts, self._check_texts, self._check_protocol, self._check_prices):
            with problems:
                check()
        with problems:
            check_question_fits(self.seats, self.question, self.quorum)
            check_files_fit(self.callable_seats, self.question, self.files)
        problems.check()

    def _check_texts(self) -> None:
        # These are stored in columns of their own, which JSON does not escape.
        for name in ("question", "owner", "conversation", "batch"):
            if not is_text(getattr(self, name) or ""):
                raise UsageError(f"the {name} is not text: it contains NUL or half a character")

    def _check_protocol(self) -> None:
        if self.responses and self.protocol_def.quorum_given is None:
            accepting = [one.name for one in protocols.loaded() if one.quorum_given is not None]
            raise UsageError(f"{self.protocol} does not accept responses; these do: {', '.join(accepting)}")
        if len(self.seats) < self.quorum:
            one = self.seats[0].model if self.seats else "provider:model"
            enough = [other.name for other in protocols.loaded() if other.quorum <= len(self.seats)]
            raise UsageError(
                f"{self.protocol} needs {self.quorum} seats, the panel has {len(self.seats)}; "
                f'add models with "models", or seats of one model: "models": ["{one}*3"]'
                + (f', or another protocol with "protocol": {", ".join(enough)}' if enough else "")
            )
        if self.judge is not None and not self.protocol_def.judged:
            judged = [one.name for one in protocols.loaded() if one.judged]
            raise UsageError(f"{self.protocol} has no judge; these do: {', '.join(judged)}")

    def _check_prices(self) -> None:
        unknown = sorted({seat.model for seat in self.callable_seats if seat.price is None})
        capped = any(cap is not None for cap in self.caps.values())
        if unknown and capped and not self.allow_unknown_price:
            tables = ", ".join(f"[{dotted(['models', model])}]" for model in unknown)
            raise ConfigError(
                f"a budget is set, but the price of {', '.join(unknown)} is unknown; set input_price and "
                f"output_price in {tables}, or allow_unknown_price in [budget]"
            )
        if self.searches and self.search_price is None and capped and not self.allow_unknown_price:
            raise ConfigError(
                "a budget is set, but the price of a search by a model's host is unknown; set search_price "
                "in [tools.web_search], or allow_unknown_price in [budget]"
            )

    def check_amounts(self) -> None:
        """Raise `UsageError` for an invalid cap, deadline or seed."""
        problems = Problems()
        for name in _AMOUNTS:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0 < value <= MOST):
                with problems:
                    raise UsageError(
                        f"{name} must be a number above 0 and at most {MOST:,.0f}, not {value!r}; "
                        "leave it out to use the configured value"
                    )
        seed: object = self.seed
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**32:
            with problems:
                raise UsageError(
                    f"seed must be a whole number from 0 to {2**32 - 1}, not {seed!r}; "
                    "leave it out to draw one"
                )
        problems.check()

    def resolve(self, name: str, brief: Brief) -> tuple[Protocol, Brief]:
        """Return a protocol to run inside this one, and its brief with the options configured for it."""
        protocol = protocols.get(name)
        options = protocol.select_options({**self.tables.get(name, {}), **brief.options})
        return protocol, replace(brief, options=protocol.resolve_options(options))

    def to_json(self) -> dict[str, Any]:
        return {
            one.name: [without_content(file) for file in self.files]
            if one.name == "files"
            else to_document(getattr(self, one.name))
            for one in fields(self)
        }

    @classmethod
    def from_json(
        cls,
        document: Mapping[str, Any],
        run_id: str = "",
        contents: Mapping[str, str] | None = None,
    ) -> Spec:
        """Return the spec in a stored document; unknown fields are ignored.

        contents: as in `Spec.contents`, for a run that goes on; None: its files stay without their content.
        Raises `Unreadable`.
        """
        what = f"run {run_id}".strip()
        return build(cls, parts_of(document, what, contents), what)


def check_question(question: str) -> None:
    """Raise `UsageError` if there is no question."""
    if not question.strip():
        raise UsageError("there is no question")


_AMOUNTS = ("budget_usd", "day_usd", "batch_usd", "key_usd", "key_day_usd", "warn_usd", "deadline_s")


def _frame(role: str) -> Draft:
    return load("role")(role=role)
