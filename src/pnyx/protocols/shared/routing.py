"""Tables that say which protocol answers a class of questions: for protocols that run another one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...core.models import Seat
from ...core.parsing.form import Form
from ...prompts import Template

__all__ = ["Route", "Routing"]


@dataclass(frozen=True, slots=True)
class Route:
    """The protocol for a class of questions.

    options: those that differ from its configured ones. passed: option of the protocol -> option of `auto`
    that sets it.
    """

    protocol: str
    options: Mapping[str, Any] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)

    def settings(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options to run the protocol with. options: those of `auto`."""
        return {**self.options, **{name: options[of] for name, of in self.passed.items()}}


FALLBACK = Route("consensus")
VOTE = Route("voting", {"aggregation": "weighted"})
"""Where all models are small: their debates lose right answers that their votes have, and this loses none."""


@dataclass(frozen=True, slots=True)
class Routing:
    """A table of routes, and how the classifier is asked for a class. routes: class -> its route.

    any_model: whether a model with short prompts classifies too, as in version 0.1.0.
    """

    prompt: Template
    form: Form[Any]
    routes: Mapping[str, Route]
    any_model: bool = False

    def classifier(self, seats: Iterable[Seat]) -> Seat | None:
        """Return the first of `seats` that may classify; None if words decide."""
        return next((seat for seat in seats if self.any_model or not seat.short_prompts), None)

    def find(self, question_class: str | None, decompose: bool, small: bool) -> Route:
        """Return the route of a class; None: one that is not known. small: whether no seat may classify."""
        if small and question_class in (None, "checkable"):
            return VOTE
        route = self.routes.get(question_class or "", FALLBACK)
        return FALLBACK if route.protocol == "decompose" and not decompose else route

    def reachable(self, decompose: bool, small: bool) -> list[Route]:
        """Return all routes that a question can take."""
        return [self.find(question_class, decompose, small) for question_class in (None, *self.routes)]
