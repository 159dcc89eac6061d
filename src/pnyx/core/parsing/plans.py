"""Plans: a question divided into subtasks that can depend on each other."""

from __future__ import annotations

import graphlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..caching.regex import regex
from ..context import reply_sizes
from .authorship import own_words
from .directives import Unreadable, strip_punctuation
from .form import Form
from .json_objects import field, object_schema

__all__ = ["PLAN", "PLAN_FORM", "Subtask", "check_plan", "read_plan"]


@dataclass(frozen=True, slots=True)
class Subtask:
    """A question to answer with the answers of other subtasks. needs: their labels."""

    label: str
    question: str
    needs: tuple[str, ...] = ()


_STRING = {"type": "string"}
PLAN = object_schema(
    "plan",
    {
        "subtasks": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "label": _STRING,
                    "question": _STRING,
                    "needs": {"type": "array", "items": _STRING},
                },
                "required": ["label", "question", "needs"],
                "additionalProperties": False,
            },
        }
    },
)

_NEEDS = r"(?:needs?|depends?\s+on|requires?|dependenc(?:y|ies)|after)"
_ITEM = regex(
    r"[\s*+•|#-]*(?:(?:sub-?)?task|step|part|question|q)?"
    r"[\s*_]*(?P<label>\d{1,2}|(?!label\b)[A-Za-z]\w{0,30})[*_]*\s*[.):：|][\s*_|]*(?P<question>[^\s*_|].*?)"
    rf"(?:[\s|;,([—–-]+{_NEEDS}\b\s*[:：]?\s*(?P<needs>[^)\]|]*)[)\]|]*)?[\s*_|.]*",
    re.IGNORECASE,
)
_CONTINUED = regex(rf"[\s*+•-]*{_NEEDS}\b[\s*_]*[:：]?[\s*_]*(?P<needs>.*)", re.IGNORECASE)
_NO_NEEDS = ("", "none", "nothing", "no", "null", "n/a", "[]")


def read_plan(text: str) -> tuple[Subtask, ...]:
    """The subtasks in `text`, unchecked: `check_plan` says whether they can be carried out.

    Reads a JSON object or array, or a list of questions ("2. What does it cost? (needs: 1)"). Raises
    `Unreadable` if there is no plan or more than one.
    """
    reply = own_words(text, regex(r"(?!)"))
    nested = [
        items
        for document in reply.objects
        if (
            items := field(
                document, "subtasks", "sub_tasks", "tasks", "steps", "plan", "parts", "subquestions"
            )
        )
        is not None
    ]
    loose = [document for document in reply.objects if _question(document)]
    plans = [tuple(_subtasks(items)) for items in nested or ([loose] if loose else [])]
    plans = plans or list(filter(None, [tuple(_list_items(reply.lines))]))
    if not plans:
        raise Unreadable(f"no plan was found: {_WANTED}")
    if len(set(plans)) > 1:
        raise Unreadable(f"there is more than one plan: {_WANTED}")
    return plans[0]


_WANTED = 'give one JSON object {"subtasks": [{"label": "a", "question": "...", "needs": []}, ...]}'


def check_plan(plan: Sequence[Subtask], most: int) -> str | None:
    """Why `plan` cannot be carried out, without words from the plan itself; None if it can.

    A valid plan has 1 to `most` subtasks, each with a unique label and a question, and no cycle of needs.
    """
    if not 1 <= len(plan) <= most:
        return f"the plan has {len(plan)} subtasks; it may have 1 to {most}"
    labels = [task.label for task in plan]
    for n, task in enumerate(plan, 1):
        if not task.label or not task.question:
            return f"a subtask needs a label and a question, which subtask {n} has not"
        if labels.count(task.label) > 1:
            same = [str(at) for at, label in enumerate(labels, 1) if label == task.label]
            return f"subtasks {' and '.join(same)} have the same label"
        if any(need not in labels for need in task.needs):
            return f"subtask {n} needs what is no subtask's label"
    try:
        graphlib.TopologicalSorter({task.label: task.needs for task in plan}).prepare()
    except graphlib.CycleError as exc:
        circle = " <- ".join(str(labels.index(label) + 1) for label in exc.args[1])
        return f"subtasks need each other in a circle: {circle}"
    return None


def _subtasks(items: Any) -> Iterator[Subtask]:
    """Yield the subtasks in a list of objects or questions, or in a mapping from labels to them."""
    if isinstance(items, Mapping):
        items = [
            {"label": label, **(item if isinstance(item, Mapping) else {"question": item})}
            for label, item in items.items()
        ]
    if not isinstance(items, list):
        raise Unreadable(f"the subtasks are not a list: {_WANTED}")
    for n, item in enumerate(items, 1):
        task = item if isinstance(item, Mapping) else {"question": item}
        question = _question(task)
        if not isinstance(question, str):
            raise Unreadable(f"subtask {n} has no question: {_WANTED}")
        label = field(task, "label", "id", "name", "key", "number")
        needs = field(task, "needs", "depends_on", "dependson", "dependencies", "requires", "after")
        yield Subtask(str(n if label is None else label).strip(), question.strip(), _needs(needs))


PLAN_FORM = Form(
    PLAN, lambda data: tuple(_subtasks(data["subtasks"])), read_plan, max_tokens=reply_sizes.PLAN.limit
)


def _question(task: Mapping[str, Any]) -> Any:
    return field(task, "question", "task", "subtask", "text", "description", "prompt")


def _needs(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"\s*(?:[,;&]|\band\b)\s*", value)
    items = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(
        dict.fromkeys(need for item in items if (need := str(item).strip()).casefold() not in _NO_NEEDS)
    )


def _list_items(lines: Sequence[str]) -> Iterator[Subtask]:
    """Yield the subtasks in a text list, one per line: questions, or items with their needs."""
    task: Subtask | None = None
    for line in lines:
        if task and (more := _CONTINUED.fullmatch(line)):
            task = Subtask(task.label, task.question, _parse_labels(more["needs"]))
            continue
        item = _ITEM.fullmatch(line) if len(line) < 2_000 else None
        if item is None:
            continue
        if task:
            yield task
        task = None
        short = item["label"].isdigit() or len(item["label"]) == 1
        if item["needs"] is not None or (short and item["question"].endswith("?")):
            task = Subtask(
                item["label"], strip_punctuation(item["question"]), _parse_labels(item["needs"] or "")
            )
    if task:
        yield task


def _parse_labels(needs: str) -> tuple[str, ...]:
    """The labels in "subtask 1 and 2"."""
    plain = re.sub(r"\b(?:sub-?)?(?:tasks?|steps?|parts?|questions?)\b", " ", needs, flags=re.IGNORECASE)
    return _needs(strip_punctuation(plain))
