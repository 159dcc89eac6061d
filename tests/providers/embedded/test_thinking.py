"""An embedded model whose chat template lets it think: SmolLM2 with another template."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from pnyx.core.steps import Schema
from pnyx.providers.base import Call, Message
from pnyx.providers.embedded.provider import open_embedded

VOTE = Schema.of(
    "vote", {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
)
THINKING = """\
{% for m in messages %}<|im_start|>{{m.role}}
{% if m.reasoning_content %}<think>
{{m.reasoning_content}}
</think>

{% endif %}{{m.content}}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>
{% if enable_thinking is false %}
</think>

{% endif %}{% endif %}"""
"""A chat template of a model that thinks, unless that is turned off; shorter than that of SmolLM2."""


@pytest.fixture
def thinker(smollm2: Path, tmp_path: Path) -> Path:
    """SmolLM2 with a template in which it thinks."""
    content, key = smollm2.read_bytes(), b"tokenizer.chat_template"
    start = content.index(key) + len(key) + 12
    (length,) = struct.unpack_from("<Q", content, start - 8)
    path = tmp_path / "thinker.gguf"
    template = (THINKING + "{#").encode().ljust(length - 2) + b"#}"
    path.write_bytes(content[:start] + template + content[start + length :])
    return path


async def test_a_model_thinks_apart_from_its_answer_as_much_as_it_may(thinker: Path) -> None:
    provider, pieces = open_embedded(context=2048, slots=1), list[str]()
    greeting = Call(str(thinker), (Message("user", "Say hi."),), 24, temperature=0.0)
    try:
        whole = await provider.complete(greeting, pieces.append)
        assert (whole.text, whole.finish_reason, pieces) == ("", "length", [])
        assert whole.reasoning.strip()
        none = await provider.complete(replace(greeting, effort="none"))
        assert (none.reasoning, bool(none.text.strip())) == ("", True)
        few = replace(greeting, effort="low", thinking_tokens=8)
        short = await provider.complete(few)
        assert 0 < len(short.reasoning) < len(whole.reasoning)
        assert short.text.strip() or short.finish_reason == "stop"
        verdict = await provider.complete(replace(few, schema=VOTE, max_tokens=100))
        assert json.loads(verdict.text).keys() == {"sure"}
    finally:
        await provider.close()
