"""Settings: precedence, problems with their places, and no unknown keys."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pnyx.config.credentials import database_secrets
from pnyx.config.describe import describe
from pnyx.config.load import Settings, check_protocols, database_url, load
from pnyx.config.trust import trust
from pnyx.core.phases import Phases
from pnyx.core.protocol import Option, Protocol
from pnyx.errors import ConfigError
from pnyx.protocols import single
from tests.support.packages import installing
from tests.support.settings_messages import without_lines

PROTOCOLS = ("consensus", "voting")
LAB = '[providers.lab]\nkind = "openai"\nbase_url = "http://127.0.0.1:9000/v1"\n'

Write = Callable[..., Settings]


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "home")}


@pytest.fixture
def settings(tmp_path: Path, home: Mapping[str, str]) -> Write:
    """Load settings from the text of files: `project` (trusted), `user`, `named`."""

    def write(
        project: str | bytes | None = None,
        user: str | None = None,
        named: str | None = None,
        env: Mapping[str, str] = {},
        overrides: Mapping[str, Any] = {},
    ) -> Settings:
        variables = dict(home)
        if user is not None:
            folder = tmp_path / "home" / ".config" / "pnyx"
            folder.mkdir(parents=True)
            (folder / "config.toml").write_text(user)
        if project is not None:
            (tmp_path / "pnyx.toml").write_bytes(project if isinstance(project, bytes) else project.encode())
            with suppress(ConfigError):  # `load` reports the problems of the file
                trust(tmp_path, env=home)
        if named is not None:
            (tmp_path / "named.toml").write_text(named)
            variables["PNYX_CONFIG"] = "named.toml"
        return load(env=variables | dict(env), cwd=tmp_path, overrides=overrides, protocol_names=PROTOCOLS)

    return write


def problems(write: Callable[[], object]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        write()
    assert caught.value.exit_code == 2
    return without_lines(str(caught.value)).split("\n  - ")


def test_without_any_file_the_defaults_apply(settings: Write) -> None:
    found = settings()
    assert (found.run.protocol, found.run.deadline_s, found.run.retries) == ("consensus", 600, 3)
    assert found.budget.run_usd is None
    assert all(setting.origin == "default" for setting in describe(found))


def test_flags_win_over_environment_over_project_over_user(settings: Write) -> None:
    found = settings(
        user="[run]\nretries = 1\nseed = 1\ndeadline_s = 1\nmax_output_tokens = 1",
        project="[run]\nretries = 2\nseed = 2\ndeadline_s = 2",
        env={"PNYX_RUN_RETRIES": "3", "PNYX_RUN_SEED": "3"},
        overrides={"run": {"retries": 4, "seed": None}},
    )
    run = found.run
    assert (run.retries, run.seed, run.deadline_s, run.max_output_tokens) == (4, 3, 2, 1)
    origins = {s.key: s.origin for s in describe(found)}
    assert origins["run.retries"] == "flags"
    assert origins["run.seed"] == "$PNYX_RUN_SEED"
    assert origins["run.deadline_s"] == "pnyx.toml"
    assert origins["run.max_output_tokens"].endswith("config.toml")
    assert origins["run.temperature"] == "default"


def test_tables_merge_and_lists_replace(settings: Write) -> None:
    found = settings(
        user=LAB + 'concurrency = 2\n[panel]\nseats = ["lab:a", "lab:b"]',
        project='[providers.lab]\nconcurrency = 5\n[panel]\nseats = ["lab:c"]',
    )
    assert found.providers["lab"].kind == "openai"
    assert found.providers["lab"].concurrency == 5
    assert found.panel.seats == ("lab:c",)


def test_a_file_named_by_the_variable_replaces_the_project_file_and_needs_no_trust(
    settings: Write, tmp_path: Path
) -> None:
    (tmp_path / "pnyx.toml").write_text("[run]\nretries = 9")
    found = settings(named="[budget]\nrun_usd = 2.5", user="[run]\nseed = 4")
    assert (found.budget.run_usd, found.run.retries, found.run.seed) == (2.5, 3, 4)


def test_named_file_that_is_missing_is_an_error(settings: Write) -> None:
    assert problems(lambda: settings(env={"PNYX_CONFIG": "nowhere.toml"})) == [
        "$PNYX_CONFIG: cannot read nowhere.toml: No such file or directory"
    ]


def test_the_user_file_is_in_the_xdg_folder(tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "xdg" / "pnyx").mkdir(parents=True)
    (tmp_path / "xdg" / "pnyx" / "config.toml").write_text("[run]\nretries = 7")
    env = {**home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load(env=env, cwd=tmp_path, protocol_names=PROTOCOLS).run.retries == 7
    relative = {**home, "XDG_CONFIG_HOME": "xdg"}
    assert load(env=relative, cwd=tmp_path, protocol_names=PROTOCOLS).run.retries == 3


def test_settings_are_frozen(settings: Write) -> None:
    with pytest.raises(ValueError, match="frozen"):
        settings().run = None  # type: ignore[assignment]


def test_every_problem_is_listed(settings: Write) -> None:
    text = """
        colour = 1
        [run]
        deadlines = 3
        retries = 1.5
        [budget]
        run_usd = 0
        [providers.lab]
        concurrency = 0
    """
    found = problems(lambda: settings(text, env={"PNYX_RUN_SEED": "-1", "PNYX_RNU_SEED": "1"}))
    assert found[0] == "the settings are wrong:"
    assert set(found[1:]) == {
        "unknown key colour in pnyx.toml",
        "unknown key run.deadlines in pnyx.toml; did you mean deadline_s?",
        "run.retries in pnyx.toml must be a whole number, not 1.5",
        "budget.run_usd in pnyx.toml must be more than 0, not 0",
        "providers.lab.concurrency in pnyx.toml must be at least 1, not 0",
        "providers.lab in pnyx.toml needs kind",
        "run.seed in $PNYX_RUN_SEED must be at least 0, not -1",
        "unknown variable PNYX_RNU_SEED in the environment; did you mean PNYX_RUN_SEED?",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rnu]\nseed = 1", "unknown key rnu in pnyx.toml; did you mean run?"),
        ("[votting]\nmode = 1", "unknown key votting in pnyx.toml; did you mean voting?"),
        ("[protocols.voting]\nmode = 1", "unknown key protocols in pnyx.toml; did you mean tools?"),
        ('[run]\ndeadline_s = "60"', "run.deadline_s in pnyx.toml must be a number, not '60'"),
        ("[run]\ndeadline_s = nan", "run.deadline_s in pnyx.toml must be a finite number, not nan"),
        ("[run]\ndeadline_s = inf", "run.deadline_s in pnyx.toml must be a finite number, not inf"),
        ("[run]\nretries = true", "run.retries in pnyx.toml must be a whole number, not true"),
        ("[run]\nseed = 4294967296", "run.seed in pnyx.toml must be less than 4294967296, not 4294967296"),
        ("[run]\ntemperature = 3", "run.temperature in pnyx.toml must be at most 2, not 3"),
        ("[run]\nseed = 2026-01-01", "run.seed in pnyx.toml must be a whole number, not 2026-01-01"),
        ("run = 5", "run in pnyx.toml must be a table, not 5"),
        ("[[run]]\nseed = 1", "run in pnyx.toml must be a table, not a list"),
        ("[run.seed]\nx = 1", "run.seed in pnyx.toml must be a whole number, not a table"),
        ("consensus = 5", "consensus in pnyx.toml must be a table, not 5"),
        ("models = [1]", "models in pnyx.toml must be a table, not a list"),
        ('[panel]\nseats = "a:b"', "panel.seats in pnyx.toml must be a list, not 'a:b'; write [\"a:b\"]"),
        ('[panel]\nseats = ["a:b", 3]', "panel.seats[1] in pnyx.toml must be text, not 3"),
        (
            '[run]\nprotocol = "consensu"',
            "run.protocol in pnyx.toml: no protocol 'consensu'; did you mean consensus?",
        ),
        (
            '[providers.Lab]\nkind = "openai"',
            "providers.Lab in pnyx.toml: a provider's name has only a-z, 0-9, _ and -",
        ),
        (
            '[providers.lab]\nkind = "openia"',
            "providers.lab.kind in pnyx.toml must be one of anthropic, deepseek, embedded, google, "
            "mistral, ollama, openai, openrouter, own, not 'openia'; did you mean openai?",
        ),
        (
            '[models."own:x"]\ncontext = 1',
            'models."own:x" in pnyx.toml: no provider own; '
            'add [providers.own], with kind = "own" if a program supplies it',
        ),
        ("[models.alpha]\ncontext = 1", 'models.alpha in pnyx.toml: a model is named "provider:model"'),
        (
            LAB + '[models."lob:alpha"]\ncontext = 1',
            'models."lob:alpha" in pnyx.toml: no provider lob; did you mean lab?',
        ),
        (
            '[models."openai:x"]\ninput_price = 1',
            'models."openai:x" in pnyx.toml needs both input_price and output_price, or no price at all',
        ),
        (
            '[models."openai:x"]\ncached_price = 1',
            'models."openai:x" in pnyx.toml needs both input_price and output_price, or no price at all',
        ),
        (
            '[models."openai:x"]\ninput_price = -1\noutput_price = 1',
            'models."openai:x".input_price in pnyx.toml must be at least 0, not -1',
        ),
        ('[storage]\nurl = ""', "storage.url in pnyx.toml must be text that is not empty, not this text"),
        ("a.b.c.d.e.f.g.h.i = 1", "unknown key a.b.c.d.e.f.g.h.i in pnyx.toml"),
    ],
)
def test_a_problem_names_the_key_the_file_and_the_needed_value(
    settings: Write, text: str, message: str
) -> None:
    assert problems(lambda: settings(text)) == [message]


def test_literal_key_is_refused_without_being_shown(settings: Write) -> None:
    (message,) = problems(lambda: settings(LAB + 'api_key = "sk-planted-secret"'))
    assert message.startswith("unknown key providers.lab.api_key in pnyx.toml; ")
    assert "api_key_env" in message
    assert "planted" not in message


@pytest.mark.parametrize("line", ['api_key_env = "sk-planted-secret"', 'requests_per_minute = "planted"'])
def test_secret_in_the_wrong_place_is_refused_without_being_shown(settings: Write, line: str) -> None:
    (message,) = problems(lambda: settings(LAB + line))
    assert message.startswith("providers.lab.")
    assert "planted" not in message


@pytest.mark.parametrize(
    "url",
    [
        "http://user:planted@host/v1",
        "https://host/v1?key=planted",
        "https://host/v1#planted",
        "ftp://planted",
        "planted",
        "https://host:99999/planted",
        "https://[planted/v1",
        "https://host/\\u0007planted",
        "http://",
    ],
)
def test_base_url_is_plain_and_not_shown_when_it_is_not(settings: Write, url: str) -> None:
    (message,) = problems(lambda: settings(f'[providers.lab]\nkind = "openai"\nbase_url = "{url}"'))
    assert message.removeprefix("providers.lab.base_url in pnyx.toml ").startswith("must ")
    assert "planted" not in message


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"[run]\nseed = \n", "pnyx.toml is not valid TOML: Invalid value (at line 2, column 8)"),
        (b'[run]\nprotocol = "\xff"', "pnyx.toml is not UTF-8 (line 2)"),
        (b"x = " + b"[" * 5000, "pnyx.toml is nested too deeply"),
        # Python's parser took minutes for these, its time growing with the square of their length.
        (b"[" + b".".join([b"a"] * 500_000) + b"]", "pnyx.toml is nested too deeply"),
        (b"x = {" + b" . ".join([b'"a"'] * 150_000) + b" = 1}", "pnyx.toml is nested too deeply"),
        (b"# " + b"x" * (1 << 20), "pnyx.toml is larger than 1 MiB"),
        (b"\x00", "pnyx.toml is not valid TOML: Invalid statement (at line 1, column 1)"),
    ],
)
def test_file_that_cannot_be_used_is_named_with_the_line(settings: Write, raw: bytes, message: str) -> None:
    assert problems(lambda: settings(raw)) == [message]


def test_byte_order_mark_is_tolerated(settings: Write) -> None:
    assert settings(b"\xef\xbb\xbf[run]\nretries = 5").run.retries == 5


def test_a_project_file_that_is_not_a_regular_file_is_refused(settings: Write, tmp_path: Path) -> None:
    (tmp_path / "pnyx.toml").symlink_to("/dev/zero")
    assert problems(settings) == ["pnyx.toml is not a file that can be read"]


def test_escape_sequences_in_a_hostile_file_do_not_reach_the_terminal(settings: Write) -> None:
    text = '"\\u001b[2J\\u202e" = 1\n[run]\nprotocol = "\\u001b[2J\\u202e"\ndeadline_s = "\\u001b]52\\u0007"'
    found = problems(lambda: settings(text))
    assert len(found) == 4
    assert all(line.isprintable() for line in found)


def test_empty_variable_counts_as_not_set(settings: Write) -> None:
    assert settings(env={"PNYX_RUN_SEED": ""}).run.seed is None


@pytest.mark.parametrize(
    ("variable", "text", "read"),
    [
        ("PNYX_RUN_DEADLINE_S", "60", lambda s: s.run.deadline_s == 60),
        ("PNYX_RUN_TEMPERATURE", " 0.5 ", lambda s: s.run.temperature == 0.5),
        ("PNYX_RUN_PROTOCOL", "voting", lambda s: s.run.protocol == "voting"),
        ("PNYX_BUDGET_RUN_USD", "0.25", lambda s: s.budget.run_usd == 0.25),
        ("PNYX_BUDGET_ALLOW_UNKNOWN_PRICE", "true", lambda s: s.budget.allow_unknown_price),
        ("PNYX_DATABASE", "sqlite:///x.db", lambda s: s.storage.url == "sqlite:///x.db"),
        ("PNYX_CONSENSUS_ROUNDS", "5", lambda s: s.protocols == {"consensus": {"rounds": "5"}}),
        ("PNYX_MODELS", "/models", lambda s: s == Settings()),
    ],
)
def test_variable_sets_its_key(
    settings: Write, variable: str, text: str, read: Callable[[Settings], bool]
) -> None:
    assert read(settings(env={variable: text}))


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        (
            "PNYX_RUN_DEADLINE_S",
            "soon",
            "run.deadline_s in $PNYX_RUN_DEADLINE_S must be a number, not 'soon'",
        ),
        ("PNYX_RUN_RETRIES", "NaN", "run.retries in $PNYX_RUN_RETRIES must be a whole number, not nan"),
        ("PNYX_PANEL_SEATS", "a:b", "unknown variable PNYX_PANEL_SEATS in the environment"),
        (
            "PNYX_STORAGE_URL",
            "x",
            "unknown variable PNYX_STORAGE_URL in the environment; did you mean PNYX_DATABASE?",
        ),
        ("PNYX_FOO", "1", "unknown variable PNYX_FOO in the environment"),
    ],
)
def test_variable_that_cannot_be_used_is_named(
    settings: Write, variable: str, text: str, message: str
) -> None:
    assert problems(lambda: settings(env={variable: text})) == [message]


def test_a_bare_database_path_starts_in_the_folder_of_its_file(settings: Write, tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "pnyx"
    assert database_url(settings(user='[storage]\nurl = "runs.db"')) == str(user / "runs.db")
    assert database_url(settings(env={"PNYX_DATABASE": "runs.db"})) == str(tmp_path / "runs.db")
    assert database_url(settings(overrides={"storage": {"url": "sqlite:///a.db"}})) == "sqlite:///a.db"


def test_the_database_is_in_the_data_folder_by_default(tmp_path: Path, home: Mapping[str, str]) -> None:
    assert database_url(Settings(), home) == f"{home['HOME']}/.local/share/pnyx/pnyx.db"
    assert database_url(Settings(), {"XDG_DATA_HOME": str(tmp_path)}) == str(tmp_path / "pnyx" / "pnyx.db")


def test_secrets_are_masked_where_settings_are_shown(settings: Write) -> None:
    found = settings(
        env={"PNYX_DATABASE": "postgresql://me:pl%40nted@host/db?sslpassword=planted"},
    )
    shown = {s.key: s.value for s in describe(found)}
    assert shown["storage.url"] == "postgresql://me:[redacted]@host/db?sslpassword=[redacted]"
    assert set(database_secrets(found.storage.url or "")) == {"pl%40nted", "pl@nted", "planted"}


def option_table() -> dict[str, Protocol]:
    options = {"rounds": Option(3, "rounds", 1, 9), "mode": Option("a", "mode", choices=("a", "b"))}
    return {name: Protocol(name, "", Phases(()), single.PROTOCOL.script, options) for name in PROTOCOLS}


def test_protocol_tables_are_checked_against_their_options(settings: Write) -> None:
    check_protocols(settings("[consensus]\nrounds = 2"), option_table())
    bad = settings(
        '[consensus]\nround = 2\nmode = "c"\n[voting]\nrounds = [1]\nmode = { a = 1 }',
        env={"PNYX_CONSENSUS_ROUNDS": "99"},
    )
    assert set(problems(lambda: check_protocols(bad, option_table()))[1:]) == {
        "unknown key consensus.round in pnyx.toml; did you mean rounds?",
        "consensus.mode must be one of a, b, not 'c' (in pnyx.toml)",
        "consensus.rounds must be between 1 and 9, not 99 (in $PNYX_CONSENSUS_ROUNDS)",
        "voting.rounds in pnyx.toml must be a single value, not a list",
        "voting.mode in pnyx.toml must be a single value, not a table",
    }


def test_tables_of_installed_third_party_protocols_are_known(tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "pnyx.toml").write_text("[agora]\nturns = 2\n")
    with pytest.raises(ConfigError, match="unknown key agora"):
        load(env=home, cwd=tmp_path)
    with installing(tmp_path / "site") as install:
        install("agora", "pnyx.protocols", "agora = agora:PROTOCOL", "raise AssertionError")
        found = load(env={**home, "PNYX_CONFIG": "pnyx.toml"}, cwd=tmp_path)
        assert found.protocols == {"agora": {"turns": 2}}
    assert "agora" not in sys.modules


def test_installed_third_party_kinds_of_providers_are_known(tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "acme.toml").write_text('[providers.mine]\nkind = "acme"\n')
    home = {**home, "PNYX_CONFIG": str(tmp_path / "acme.toml")}
    with pytest.raises(ConfigError, match=r"must be one of anthropic, deepseek, .*, own, not 'acme'"):
        load(env=home, cwd=tmp_path)
    with installing(tmp_path / "site") as install:
        install("acme", "pnyx.providers", "acme = acme:ACME", "raise AssertionError")
        settings = load(env=home, cwd=tmp_path)
        assert (settings.provider("mine").kind, settings.provider("acme").kind) == ("acme", "acme")
    assert "acme" not in sys.modules
