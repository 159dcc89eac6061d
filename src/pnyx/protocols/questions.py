"""What goes into the question slot of a prompt."""

from __future__ import annotations

from ..core.steps import Brief
from ..core.text import Draft
from ..prompts import load

__all__ = ["question"]

CONTEXT = load("context")


def question(brief: Brief) -> str | Draft:
    """The question, and the brief's context fenced where there is any."""
    if not brief.context:
        return brief.question
    return CONTEXT(question=brief.question, context=brief.context)
