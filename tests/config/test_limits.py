"""Settings of the wrong size are refused, and each default can be written in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pnyx.config.describe import describe
from pnyx.config.load import load
from pnyx.config.schema import Settings
from pnyx.errors import ConfigError
from tests.support.settings_messages import without_lines


def load_text(folder: Path, text: str, **env: str) -> Settings:
    (folder / "settings.toml").write_text(text)
    env = {"HOME": str(folder), "PNYX_CONFIG": "settings.toml", **env}
    return load(env=env, cwd=folder, protocol_names=("consensus",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[budget]\nrun_usd = 1e10", "budget.run_usd in settings.toml must be at most 1000000000, not"),
        ("[budget]\nday_usd = 1e300", "budget.day_usd in settings.toml must be at most 1000000000, not"),
        ("[run]\ndeadline_s = 1e10", "run.deadline_s in settings.toml must be at most 1000000000, not"),
        (
            "[run]\nmax_output_tokens = 1000000000",
            "run.max_output_tokens in settings.toml must be at most 100000000",
        ),
        (
            '[models."openai:x"]\ninput_price = 1e15\noutput_price = 1',
            "input_price in settings.toml must be at most",
        ),
        (
            "[tools.web_search]\nsearch_price = 1e15",
            "search_price in settings.toml must be at most 1000000, not",
        ),
    ],
)
def test_values_in_a_file_that_are_too_large_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(tmp_path, text)
    assert message in without_lines(str(caught.value))


def test_a_variable_that_is_too_large_is_refused_and_the_largest_value_is_accepted(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"budget.run_usd in \$PNYX_BUDGET_RUN_USD must be at most 1000000000"
    ):
        load_text(tmp_path, "", PNYX_BUDGET_RUN_USD="1e12")
    assert load_text(tmp_path, "", PNYX_BUDGET_RUN_USD="1e9").budget.run_usd == 1e9


def test_each_default_can_be_written_in_a_file(tmp_path: Path) -> None:
    defaults = [each for each in describe(load_text(tmp_path, "")) if each.value is not None]
    assert {"storage.keep", "serve.hosts", "run.retries"} <= {each.key for each in defaults}
    for each in defaults:
        table, _, name = each.key.rpartition(".")
        text = f"[{table}]\n{name} = {json.dumps(each.value)}"  # which TOML reads alike
        assert each.value in [
            found.value for found in describe(load_text(tmp_path, text)) if found.key == each.key
        ]


def test_what_is_kept_by_retention_is_a_list_of_known_names(tmp_path: Path) -> None:
    assert load_text(tmp_path, '[storage]\nkeep = ["tagged"]').storage.keep == ("tagged",)
    assert load_text(tmp_path, "[storage]\nkeep = []").storage.keep == ()
    with pytest.raises(
        ConfigError, match=r"storage.keep\[0\] in .* must be one of 'tagged', 'pinned' or 'feedback'"
    ):
        load_text(tmp_path, '[storage]\nkeep = ["starred"]')
