"""Suggestions for unknown keys: the same key elsewhere, a similar one, or the keys of its table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from pnyx.config.load import check_protocols, load
from pnyx.config.schema import RunSettings
from pnyx.core.phases import Phases
from pnyx.core.protocol import Option, Protocol
from pnyx.errors import ConfigError
from pnyx.protocols import single
from tests.support.settings_messages import without_lines

OPTIONS: Mapping[str, Mapping[str, Option]] = {
    "council": {"rounds": Option(50, "rounds")},
    "consensus": {"rounds": Option(3, "rounds"), "threshold": Option(0.7, "likeness")},
    "voting": {"swap": Option(False, "swap")},
}
RUN = ", ".join(RunSettings.model_fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nrounds = 3", "run.rounds in {}; did you mean consensus.rounds?"),
        (
            '[run]\nprotocol = "council"\nrounds = 3',
            "run.rounds in {}; did you mean council.rounds?",
        ),
        (
            '[run]\nprotocol = "voting"\nrounds = 3',
            "run.rounds in {}; did you mean consensus.rounds or council.rounds?",
        ),
        ("rounds = 3", "rounds in {}; did you mean consensus.rounds?"),
        ('protocol = "voting"', "protocol in {}; did you mean run.protocol?"),
        ('seats = ["a:b"]', "seats in {}; did you mean panel.seats?"),
        ("[serve]\nconcurrency = 3", "serve.concurrency in {}; did you mean worker.concurrency?"),
        ("[consensus]\ndeadline_s = 3", "consensus.deadline_s in {}; did you mean run.deadline_s?"),
        ("[consensus]\nround = 3", "consensus.round in {}; did you mean rounds?"),
        ("[voting]\nrounds = 3", "voting.rounds in {}; there are: swap"),
        ("[run]\ntimeout_s = 3", f"run.timeout_s in {{}}; there are: {RUN}"),
        ('[storage]\npath = "x.db"', "storage.path in {}; there are: url, retention, keep"),
        (
            '[providers.lab]\nkind = "openai"\nurl = "http://127.0.0.1/v1"',
            "providers.lab.url in {}; did you mean base_url?",
        ),
        (
            '[models."openai:x"]\nprice_in = 1.0',
            'models."openai:x".price_in in {}; did you mean input_price?',
        ),
        ('[tools.web_search]\nurl = "http://x"', "tools.web_search.url in {}; did you mean base_url?"),
    ],
)
def test_an_unknown_key_is_reported_with_a_suggestion(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "named.toml").write_text(text)
    registry = {
        name: Protocol(name, "", Phases(()), single.PROTOCOL.script, options)
        for name, options in OPTIONS.items()
    }
    with pytest.raises(ConfigError) as caught:
        check_protocols(
            load(
                env={"HOME": str(tmp_path), "PNYX_CONFIG": "named.toml"},
                cwd=tmp_path,
                protocol_names=OPTIONS,
                options_of=OPTIONS.__getitem__,
            ),
            registry,
        )
    assert without_lines(str(caught.value)) == "unknown key " + message.format("named.toml")
