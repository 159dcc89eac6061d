"""The transcript of a run: the prompts of its seats show it before their task, so that hosts can cache it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from dataclasses import replace

from ...core.steps import Brief, Panel
from ...core.text import Draft, Material, Preamble
from ...core.tool_calls import ANY, AUTO, ToolOffer
from ...prompts import Template, load

__all__ = ["Transcript", "quoted"]

RULES, QUESTION, CONTEXT, NOTICE = load("rules"), load("question"), load("context"), load("notice")
FILES = load("files")
LANGUAGE, OTHER_LANGUAGE = load("language"), load("language-option")
INSTRUCTIONS = load("instructions")
TOOLS, TOOLS_AUTO = load("tools"), load("tools-auto")
TOOLS_REQUIRED, TOOLS_ONE = load("tools-required"), load("tools-one")
TOOLS_PARALLEL, TOOLS_SINGLE = load("tools-parallel"), load("tools-single")
HISTORY = 60_000
"""Characters of contributions that tasks no longer need, above which a round starts without them."""


class Transcript:
    """What the seats of a run have written, in one order for all readers; it only grows.

    A prompt of the run is the system message, the context, the question, the transcript, and the task.
    system: the template of the protocol's system message.
    """

    def __init__(self, brief: Brief, panel: Panel, system: Template) -> None:
        self.question = brief.question
        tag = panel.language
        language = LANGUAGE() if tag is None else OTHER_LANGUAGE(language=tag)
        message, after = system(rules=RULES(language=language)), [language.variant(short=True)]
        if brief.instructions:
            instructions = INSTRUCTIONS(instructions=brief.instructions)
            message = Draft("", "", (message, "\n", instructions), message.variant(short=True))
            after.append(instructions.variant(short=True))
        if brief.offer is not None:
            tools = _tools(brief.offer)
            # First of all: it is long, and so the prefix that the prompts of all protocols share.
            message = Draft("", "", (tools, "\n", message), message.variant(short=True))
            after.append(tools.variant(short=True))
        # Small models keep the system message of their template, and read the rest of it after the question.
        rest = Draft("", "", (), Draft("", "", tuple(piece for one in after for piece in ("\n", one))))
        question = Draft("", "", (QUESTION(question=brief.question, today=brief.today), rest))
        context = list[Draft | str]()
        if brief.files:
            context.append(FILES(files=tuple(one.document for one in brief.files)))
        if brief.context:
            context += ["\n", CONTEXT(context=brief.context)]
        # A call must repeat what stands in a file to the letter, also where that is the name of a model.
        subject = "\n".join(one.text for one in brief.context) if brief.offer is not None else ""
        self._before = Preamble(message, Draft("", "", tuple(context)), question, NOTICE(), subject=subject)
        self._order = panel.shuffle([seat.label for seat in panel.seats])
        self._contributions: dict[str, Material] = {}

    def copy(self) -> Transcript:
        """A transcript that begins alike and grows on its own, for a reader with an order of its own."""
        other = copy(self)
        other._contributions = dict(self._contributions)
        other._before = replace(self._before, own_order=True)
        return other

    @property
    def labels(self) -> list[str]:
        return list(self._contributions)

    def add(self, label: str, text: str) -> str:
        """Add a contribution at the end and return its label, which no other one has."""
        self._contributions[label] = Material(label, text)
        return label

    def add_all(self, kind: str, texts: Mapping[str, str]) -> dict[str, str]:
        """Add what several seats wrote at the same time, in the run's shuffled order of seats.

        texts: by the label of the author. Returns the labels of the contributions, by author.
        """
        authors = [author for author in self._order if author in texts]
        authors += [author for author in texts if author not in authors]
        return {author: self.add(f"{kind} by {author}", texts[author]) for author in authors}

    def opening(self, task: Draft) -> Draft:
        """The prompt that ends with `task`, without any contribution: for a seat that works alone."""
        return replace(task, preamble=self._before)

    def task(
        self,
        task: Draft,
        needed: Collection[str] = (),
        *,
        shown: Collection[str] | None = None,
        short: Collection[str] | None = None,
    ) -> Draft:
        """The prompt that ends with `task`. needed: labels of the contributions that the task is about.

        shown: the only contributions that it shows, the same ones in every prompt of a seat but for newer
        ones; default: all. short: those that the short variant shows; default: `needed`.
        """
        contributions = [one for one in self._contributions.values() if shown is None or one.label in shown]
        few = needed if short is None else short
        before = replace(
            self._before,
            contributions=tuple(contributions),
            needed=frozenset(n for n, one in enumerate(contributions) if one.label in needed),
            needed_short=frozenset(n for n, one in enumerate(contributions) if one.label in few),
        )
        return replace(task, preamble=before)

    def trim(self, needed: Collection[str]) -> None:
        """At the start of a round: leave out all but `needed` if the others have become too long.

        Seldom and all at once, since every prompt after it begins otherwise than those before.
        """
        others = [one for label, one in self._contributions.items() if label not in needed]
        if sum(len(one.text) for one in others) > HISTORY:
            for one in others:
                del self._contributions[one.label]


def _tools(offer: ToolOffer) -> Draft:
    listed = "\n".join(
        json.dumps(
            {"name": one.name, "description": one.description, "schema": dict(one.parameters)},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        for one in offer.tools
    )
    choice = {AUTO: TOOLS_AUTO, ANY: TOOLS_REQUIRED}.get(offer.choice)
    return TOOLS(
        tools=listed,
        choice=TOOLS_ONE(name=offer.choice) if choice is None else choice(),
        number=TOOLS_PARALLEL() if offer.parallel else TOOLS_SINGLE(),
    )


def quoted(labels: Iterable[str]) -> str:
    """Labels of contributions as a task lists them."""
    return ", ".join(f'"{label}"' for label in labels) or "(none)"
