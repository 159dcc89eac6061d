"""What the user should know of a model's host, beside its reply."""

from __future__ import annotations

from collections.abc import Iterator

from ...core.context.compaction import tokens
from ...core.models import Seat
from ...providers.base import Completion

__all__ = ["cut_prompt", "host_notes"]

MOST_BYTES = 7
LEAST_WINDOW = 256


def host_notes(seat: Seat, prompt: str, done: Completion) -> Iterator[str]:
    """Yield the notes of the provider, and one if the host has read only a part of `prompt`."""
    yield from (f"{seat.provider}:{note}" for note in done.notes)
    reported: object = getattr(done.usage, "input_tokens", None)  # a provider may report anything
    read = cut_prompt(reported, prompt) if type(reported) is int else None
    if read is not None:
        yield (
            f"{seat.model} has read only {read:,} of about {tokens(prompt):,} tokens: its host cuts prompts. "
            f'Set context = {read} in [models."{seat.model}"], or give the model a larger window '
            "(Ollama: OLLAMA_CONTEXT_LENGTH)"
        )


def cut_prompt(reported: int, prompt: str) -> int | None:
    """Return the input tokens that a host reports if it can have read only a part of `prompt`, else None.

    No tokenizer puts more than `MOST_BYTES` of prose, code or CJK into a token, on average. Fewer tokens than
    `LEAST_WINDOW` are no window: such a host does not count what it has cached.
    """
    whole = len(prompt.encode("utf-8", "surrogatepass")) / MOST_BYTES
    return reported if LEAST_WINDOW <= reported < whole else None
