"""The settings of tools: an error names its place, and an untrusted project sets none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pnyx.config.describe import describe
from pnyx.config.load import Settings, load
from pnyx.config.trust import trust
from pnyx.errors import ConfigError


def load_settings(tmp_path: Path, text: str = "", **env: str) -> Settings:
    (tmp_path / "named.toml").write_text(text)
    env |= {"HOME": str(tmp_path), "PNYX_CONFIG": "named.toml"}
    return load(env=env, cwd=tmp_path, protocol_names=["consensus"])


def test_every_setting_of_tools_is_read_from_file_and_environment(tmp_path: Path) -> None:
    text = """
        [tools]
        max_rounds = 2
        [tools.web_search]
        backend = "searxng"
        base_url = "http://127.0.0.1:8888"
        [tools.file_read]
        roots = ["docs", "~/notes"]
    """
    settings = load_settings(
        tmp_path,
        text,
        PNYX_TOOLS_ENABLED="true",
        PNYX_TOOLS_WEB_SEARCH_MAX_RESULTS="7",
        PNYX_TOOLS_CODE_EXECUTION_BACKEND="bubblewrap",
        PNYX_TOOLS_CODE_EXECUTION_TIMEOUT_S="2.5",
    )
    tools = settings.tools
    assert (tools.enabled, tools.max_rounds) == (True, 2)
    assert (tools.web_search.backend, tools.web_search.max_results) == ("searxng", 7)
    assert (tools.code_execution.backend, tools.code_execution.timeout_s) == ("bubblewrap", 2.5)
    assert tools.file_read.roots == ("docs", "~/notes")
    origins = {setting.key: setting.origin for setting in describe(settings)}
    assert origins["tools.web_search.base_url"] == "named.toml"
    assert origins["tools.web_search.max_results"] == "$PNYX_TOOLS_WEB_SEARCH_MAX_RESULTS"
    assert origins["tools.code_execution.memory_mb"] == "default"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[tools.web_search]\nbackend = "bing"',
            "tools.web_search.backend in named.toml:2 must be one of "
            "'duckduckgo', 'tavily', 'exa', 'searxng', 'provider' or 'none', not this text",
        ),
        (
            '[tools.web_search]\nbackend = "searxng"',
            "tools.web_search in named.toml:2 needs base_url, the URL of your SearXNG",
        ),
        (
            "[tools.web_search]\nresults = 3",
            "unknown key tools.web_search.results in named.toml:2; did you mean max_results?",
        ),
        (
            '[tools.web_search]\napi_key = "sk-planted"',
            "unknown key tools.web_search.api_key in named.toml:2; keys do not belong in files: "
            "put it into a variable, and set api_key_env to its name",
        ),
        (
            '[tools.web_search]\napi_key_env = "sk-planted"',
            "tools.web_search.api_key_env in named.toml:2 must be the name of an environment variable, "
            "not this text",
        ),
        (
            '[tools.web_search]\nbase_url = "http://user:planted@host"',
            "tools.web_search.base_url in named.toml:2 must be an http or https address, "
            "without user, password, query or fragment",
        ),
        ("[tools]\nmax_round = 3", "unknown key tools.max_round in named.toml:2; did you mean max_rounds?"),
        ("[tools]\nweb_search = true", "tools.web_search in named.toml:2 must be a table, not true"),
        (
            "[tools.shell]\nenabled = true",
            "unknown key tools.shell in named.toml:2; there are: enabled, max_rounds, web_search, "
            "code_execution, file_read",
        ),
        (
            "[tools.code_execution]\nmemory_mb = 1",
            "tools.code_execution.memory_mb in named.toml:2 must be at least 64, not 1",
        ),
    ],
)
def test_an_error_names_the_key_and_never_a_possible_secret(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, text)
    assert str(caught.value) == message


def test_a_project_file_sets_tools_only_if_trusted(tmp_path: Path) -> None:
    (tmp_path / "pnyx.toml").write_text('[tools.file_read]\nroots = ["/"]\n')
    env = {"HOME": str(tmp_path / "home")}
    with pytest.raises(ConfigError, match=r"sets tools\.file_read\.roots, which a project may do only"):
        load(env=env, cwd=tmp_path, protocol_names=["consensus"])
    trust(tmp_path, env=env)
    assert load(env=env, cwd=tmp_path, protocol_names=["consensus"]).tools.file_read.roots == ("/",)
