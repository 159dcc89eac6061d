"""The server that forks processes imports this: the tables that Inspect reads in its first evaluation."""

from __future__ import annotations

from inspect_ai.model import get_model_info

get_model_info("a model of tests")
