"""The facts of models and their sources, and the seats of a panel."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.schema import ModelSettings, ProviderSettings, Settings
from pnyx.core.models import NUSD, Price, Usage
from pnyx.errors import ConfigError, NotFound, UsageError
from pnyx.providers.catalogue import FAST, STRONG, Catalogue, parse_seats, seats
from pnyx.providers.embedded.weights_table import KNOWN
from pnyx.providers.prices import look_up
from tests.support.rows import rows

TODAY = date(2026, 11, 20)


def catalogue(today: date = TODAY, providers: Any = None, models: Any = None) -> Catalogue:
    return Catalogue(Settings(providers=providers or {}, models=models or {}), today)


def lab(**more: Any) -> dict[str, ProviderSettings]:
    return {"lab": ProviderSettings(kind="openai", base_url="http://127.0.0.1:9000/v1", **more)}


def test_price_of_a_makers_model_is_the_snapshots_and_dated() -> None:
    info = catalogue().describe("anthropic:claude-opus-5-5")
    assert info.price is not None
    assert (info.price.input, info.price.output, info.price.cached) == (4.0, 20.0, 0.2)
    assert info.price.as_of == "2026-11-20"
    assert info.price.source == info.source == "genai-prices 0.2.3"
    assert info.context == 1_000_000


def test_price_is_that_of_the_day() -> None:
    before = catalogue(date(2026, 11, 30)).describe("google:gemini-4-argon").price
    after = catalogue(date(2026, 12, 1)).describe("google:gemini-4-argon").price
    assert before is not None
    assert after is not None
    assert (before.output, after.output) == (10.0, 20.0)


def test_if_prices_depend_on_the_hour_the_highest_counts() -> None:
    price = catalogue().describe("deepseek:deepseek-v4-pro").price
    assert price is not None
    assert (price.input, price.output) == (1.32, 3.96)


def test_if_long_prompts_cost_more_the_window_ends_before_them() -> None:
    info = catalogue().describe("openai:gpt-6.1-sol")
    assert info.context == 272_000
    assert info.price is not None
    assert info.price.output == 10.0


def test_a_larger_configured_window_is_priced_at_the_tier_it_reaches() -> None:
    models = {"openai:gpt-6.1-sol": ModelSettings(context=1_000_000)}
    info = catalogue(models=models).describe("openai:gpt-6.1-sol")
    assert info.context == 1_000_000
    assert info.price is not None
    assert info.price.output == 15.0


def test_cache_writes_and_reads_have_prices_of_their_own() -> None:
    for ref, expected in (
        ("anthropic:claude-opus-5-5", (4.0, 0.2, 5.0)),
        ("openai:gpt-6.1-sol", (2.0, 0.1, 2.5)),
    ):
        price = catalogue().describe(ref).price
        assert price is not None
        assert (price.input, price.cached, price.cache_write) == expected
        # Whatever a host does with its cache, it is reserved for.
        assert price.ceiling(1_000_000, 0) == expected[-1] * NUSD


def test_a_host_that_writes_what_requests_mark_is_reserved_for_without_a_configured_price() -> None:
    models = {
        "own:claude": ModelSettings(input_price=2.0, output_price=8.0),
        "own:other": ModelSettings(input_price=2.0, output_price=8.0, cache_write_price=3.0),
        "lab:gpt": ModelSettings(input_price=2.0, output_price=8.0),
    }
    providers = {"own": ProviderSettings(kind="anthropic", base_url="http://127.0.0.1:9000"), **lab()}
    described = catalogue(models=models, providers=providers)
    prices = [described.describe(ref).price for ref in models]
    assert [price and price.cache_write for price in prices] == [2.5, 3.0, None]


@pytest.mark.parametrize(
    "ref", ["openai:gpt-99", "anthropic:claude-opus-99", "openrouter:openrouter/auto", "lab:gpt-5"]
)
def test_an_unknown_price_is_unknown_and_not_zero(ref: str) -> None:
    info = catalogue(providers=lab()).describe(ref)
    assert (info.price, info.source) == (None, "unknown")


@rows(
    "base_url, priced",
    [
        (None, True),
        ("https://api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.example.org/v1", False),
        ("https://api.openai.com:8443/v1", False),
        ("http://127.0.0.1:9000/v1", False),
    ],
)
def test_a_name_is_priced_only_at_its_makers_own_host(base_url: str | None, priced: bool) -> None:
    providers = {"openai": ProviderSettings(kind="openai", base_url=base_url)}
    info = catalogue(providers=providers).describe("openai:gpt-5")
    assert (info.price is not None) == priced


@rows(
    "ref, grounded",
    [
        ("openrouter:perplexity/sonar", True),
        ("openrouter:perplexity/sonar-pro", True),
        ("openai:gpt-4o-search-preview", True),
        ("openai:gpt-5-search-api", True),
        ("openai:o3-deep-research", True),
        ("openrouter:anthropic/claude-opus-5.5:online", True),
        ("openai:gpt-5", False),
        ("openrouter:openai/gpt-rosalind-research", False),
        ("deepseek:deepseek-v4-pro", False),
    ],
)
def test_models_that_search_do_not_propose_and_have_no_price_of_tokens(ref: str, grounded: bool) -> None:
    info = catalogue().describe(ref)
    assert info.proposer_eligible == (not grounded)
    assert info.price is None or not grounded


def test_models_charged_by_the_request_have_no_price_of_tokens() -> None:
    listing = look_up("perplexity", "sonar-reasoning", TODAY)
    assert listing is not None
    assert listing.price is None


def test_configuration_wins_over_everything() -> None:
    settings = ModelSettings(
        input_price=1.0,
        output_price=2.0,
        cached_price=0.5,
        reasoning_price=3.0,
        context=10,
        max_output=5,
        parameters=7.0,
        proposer_eligible=True,
        short_prompts=True,
        temperature=0.1,
    )
    info = catalogue(models={"openai:gpt-4o-search-preview": settings}).describe(
        "openai:gpt-4o-search-preview"
    )
    assert info.price == Price(1.0, 2.0, 0.5, 3.0, "2026-11-20", "configuration")
    assert (info.context, info.max_output, info.parameters, info.temperature) == (10, 5, 7.0, 0.1)
    assert (info.proposer_eligible, info.short_prompts, info.source) == (True, True, "configuration")


def test_a_configured_window_leaves_the_known_price() -> None:
    models = {"anthropic:claude-opus-5-5": ModelSettings(context=1000)}
    info = catalogue(models=models).describe("anthropic:claude-opus-5-5")
    assert info.context == 1000
    assert info.price is not None
    assert info.price.output == 20.0


def test_a_price_of_zero_can_be_configured() -> None:
    models = {"lab:alpha": ModelSettings(input_price=0, output_price=0)}
    price = catalogue(providers=lab(), models=models).describe("lab:alpha").price
    assert price is not None
    assert price.cost(Usage(10**6, 0, 10**6)) == 0


@pytest.mark.parametrize("name", KNOWN)
def test_embedded_models_are_free_and_known(name: str) -> None:
    info = catalogue().describe(f"embedded:{name}")
    assert info.price == Price(0, 0, None, None, "2026-11-20", "embedded")
    assert (info.parameters, info.context) == (KNOWN[name].parameters, KNOWN[name].context)
    assert info.short_prompts == KNOWN[name].short_prompts


def test_any_gguf_file_is_free() -> None:
    info = catalogue().describe("embedded:/models/José's model-3b.gguf")
    assert info.price == Price(0, 0, None, None, "2026-11-20", "embedded")
    assert (info.parameters, info.context) == (3.0, None)


@pytest.mark.parametrize("model", ["smollm2-135", "/models/José's model-3b.gguf"])
def test_an_embedded_model_without_a_file_gets_no_seat(model: str) -> None:
    with pytest.raises(NotFound, match="smollm2-135m" if model == "smollm2-135" else model):
        seats(catalogue(), [f"embedded:{model}"] * 3)


def test_a_known_embedded_model_gets_a_seat_before_it_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PNYX_MODELS", str(tmp_path))
    assert len(seats(catalogue(), ["embedded:smollm2-135m"] * 3)) == 3


def test_context_of_the_embedded_runtime_is_that_of_its_models() -> None:
    providers = {"embedded": ProviderSettings(kind="embedded", context=2048)}
    assert catalogue(providers=providers).describe("embedded:smollm2-135m").context == 2048


@rows(
    "model, billions",
    [
        ("llama3.2:3b", 3.0),
        ("smollm2:135m", 0.135),
        ("qwen2.5:0.5b-instruct-q4_0", 0.5),
        ("hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:IQ3_M", 1.0),
        ("mistral", None),
        ("mixtral:8x7b", None),
        ("gemma-128k", None),
    ],
)
def test_ollama_is_free_and_sizes_are_read_from_names(model: str, billions: float | None) -> None:
    info = catalogue().describe(f"ollama:{model}")
    assert (info.model, info.parameters) == (model, billions)
    assert info.price == Price(0, 0, None, None, "2026-11-20", "local")


def test_unknown_provider_is_named_with_the_nearest_and_all_others() -> None:
    with pytest.raises(
        ConfigError, match="no provider 'lob'; did you mean lab\\? There are: lab, anthropic, "
    ):
        catalogue(providers=lab()).describe("lob:alpha")


@rows("ref", ["alpha", ":alpha", "lab:", "lab: ", "", "lab:a*b", "lab:a\nb", "lab:\x1b[2J"])
def test_an_invalid_reference_is_refused_with_a_printable_message(ref: str) -> None:
    with pytest.raises(UsageError) as caught:
        catalogue(providers=lab()).describe(ref)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("specs", "refs"),
    [
        ([], ()),
        (["a:b", " c:d "], ("a:b", "c:d")),
        (["a:b*3"], ("a:b",) * 3),
        (["a:b:c/d@e*2", "x:y"], ("a:b:c/d@e", "a:b:c/d@e", "x:y")),
    ],
)
def test_seats_are_references_with_a_number(specs: list[str], refs: tuple[str, ...]) -> None:
    assert parse_seats(specs) == refs


@rows(
    "spec",
    [
        *(
            "a:b*",
            "a:b*0",
            "a:b*-1",
            "a:b*1.5",
            "a:b*x",
            "a:b*101",
            "a:b*2*2",
            "a*2",
            "*2",
            "a:b*99999999999",
        ),
        *("a:b*02", "a:b*000000000100", "a:b*\u0662", "a:b*1_0", "a:b*+2", "a:b* 2", "a:b*" + "1" * 5000),
    ],
)
def test_seats_that_cannot_be_read_are_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        parse_seats([spec])


def test_a_panel_has_a_largest_size() -> None:
    with pytest.raises(UsageError, match="at most 100 seats"):
        parse_seats(["a:b*60", "a:c*60"])


def test_seats_keep_their_order_and_have_the_facts_of_their_models() -> None:
    models = {"lab:alpha": ModelSettings(input_price=1, output_price=2, temperature=0.5)}
    panel = seats(catalogue(providers=lab(), models=models), ["lab:alpha", "embedded:smollm2-135m"], seed=1)
    assert [s.model for s in panel] == ["lab:alpha", "embedded:smollm2-135m"]
    assert panel[0].price == Price(1, 2, None, None, "2026-11-20", "configuration")
    assert (panel[0].temperature, panel[1].short_prompts, panel[1].parameters) == (0.5, True, 0.135)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_labels_are_all_letters_in_an_order_fixed_by_the_seed(count: int, seed: int) -> None:
    refs = ["ollama:a"] * count
    labels = [s.label for s in seats(catalogue(), refs, seed=seed)]
    assert labels == [s.label for s in seats(catalogue(), refs, seed=seed)]
    letters = [chr(65 + n) for n in range(26)] + ["A" + chr(65 + n) for n in range(26)]
    letters += ["B" + chr(65 + n) for n in range(26)]
    assert sorted(labels) == sorted(f"Participant {letter}" for letter in letters[:count])


def test_labels_differ_between_runs() -> None:
    panel = {tuple(s.label for s in seats(catalogue(), ["ollama:a"] * 5, seed=n)) for n in range(20)}
    assert len(panel) > 10


def test_roles_are_assigned_by_number_or_label() -> None:
    refs = ["ollama:a"] * 3
    by_number = seats(catalogue(), refs, {"2": "sceptic"}, seed=7)
    assert [s.role for s in by_number] == ["", "sceptic", ""]
    for name in (by_number[2].label, by_number[2].label[-1].lower()):
        assert [s.role for s in seats(catalogue(), refs, {name: "judge"}, seed=7)] == ["", "", "judge"]


@rows("name", ["0", "4", "D", "Participant D", "", "ollama:b"])
def test_a_role_of_no_seat_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"for a role(;|; did you mean ollama:a[?]) [sS]eats are 1 to 3"):
        seats(catalogue(), ["ollama:a"] * 3, {name: "judge"})


@rows("ref", [f"{kind}:{model}" for kind, models in FAST.items() for model in models])
def test_the_cheap_models_are_in_the_snapshot_and_cheap(ref: str) -> None:
    price = catalogue().describe(ref).price
    assert price is not None
    assert 0 < price.output < 5


@rows("ref", [f"{kind}:{model}" for kind, models in STRONG.items() for model in models])
def test_models_of_the_default_panel_are_in_the_snapshot(ref: str) -> None:
    info = catalogue().describe(ref)
    assert info.price is not None
    assert info.price.output >= 1
    assert info.proposer_eligible


def test_the_snapshot_is_not_loaded_for_a_panel_that_does_not_need_it() -> None:
    code = (
        "import sys\n"
        "from pnyx.providers.catalogue import Catalogue, seats\n"
        "from pnyx.config.schema import *\n"
        "providers = {'lab': ProviderSettings(kind='openai', base_url='http://127.0.0.1:1')}\n"
        "seats(Catalogue(Settings(providers=providers)), ['embedded:smollm2-135m', 'ollama:x', 'lab:y'])\n"
        "heavy = {'genai_prices', 'pydantic_ai', 'httpx', 'httpx2', 'xllamacpp', 'sqlalchemy', 'rich'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    )
