"""Values that no ledger and no clock can hold are refused where they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.config.load import load
from pnyx.config.schema import Settings
from pnyx.errors import ConfigError


def given(folder: Path, text: str, **env: str) -> Settings:
    (folder / "given.toml").write_text(text)
    return load(env={"HOME": str(folder), "PNYX_CONFIG": "given.toml", **env}, cwd=folder, protocol_names=())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[budget]\nrun_usd = 1e10", "budget.run_usd in given.toml must be at most 1000000000, not"),
        ("[budget]\nday_usd = 1e300", "budget.day_usd in given.toml must be at most 1000000000, not"),
        ("[run]\ndeadline_s = 1e10", "run.deadline_s in given.toml must be at most 1000000000, not"),
        (
            "[run]\nmax_output_tokens = 1000000000",
            "run.max_output_tokens in given.toml must be at most 100000000",
        ),
        (
            '[models."openai:x"]\ninput_price = 1e15\noutput_price = 1',
            "input_price in given.toml must be at most",
        ),
        (
            "[tools.web_search]\nsearch_price = 1e15",
            "search_price in given.toml must be at most 1000000, not",
        ),
    ],
)
def test_a_file_is_told_what_is_too_large(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        given(tmp_path, text)
    assert told in str(caught.value)


def test_a_variable_is_told_so_too_and_the_largest_is_taken(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"budget.run_usd in \$PNYX_BUDGET_RUN_USD must be at most 1000000000"
    ):
        given(tmp_path, "", PNYX_BUDGET_RUN_USD="1e12")
    assert given(tmp_path, "", PNYX_BUDGET_RUN_USD="1e9").budget.run_usd == 1e9
