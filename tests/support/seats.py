"""Seats with prices, which decide who is strongest and cheapest."""

from __future__ import annotations

from typing import Any

from pnyx.core.models import Price, Seat

__all__ = ["lab_seat", "seat"]


def seat(label: str, model: str, output: float = 4.0, **more: Any) -> Seat:
    """output: in USD per million tokens."""
    return Seat(f"Participant {label}", model, price=Price(1.0, output), **more)


def lab_seat(label: str, output: float = 4.0, input: float = 1.0) -> Seat:
    """A seat for lab:a, where the label is A. output, input: in USD per million tokens."""
    return Seat(f"Participant {label}", f"lab:{label.lower()}", price=Price(input, output))
