from __future__ import annotations

import doctest

import pytest

from pnyx.core.models import Usage
from pnyx.errors import ProviderError
from pnyx.providers import fake
from pnyx.providers.base import Call, Completion, Message, Provider
from pnyx.providers.fake import FakeProvider

CALL = Call("any", (Message("system", "be brief"), Message("user", "hello there")), max_tokens=10)


def test_the_example_in_its_documentation_runs() -> None:
    assert doctest.testmod(fake).failed == 0
    assert doctest.testmod(fake).attempted > 5


async def test_replies_come_in_order_and_calls_are_recorded() -> None:
    provider: Provider = FakeProvider(["one", "two"])
    assert [(await provider.complete(CALL)).text for _ in range(2)] == ["one", "two"]
    assert isinstance(provider, FakeProvider)
    assert provider.calls == [CALL, CALL]
    await provider.close()


async def test_the_end_of_the_script_is_an_error_that_is_not_retried() -> None:
    provider = FakeProvider([])
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await provider.complete(CALL)
        assert caught.value.kind == "unavailable"
        assert not caught.value.retryable


async def test_a_function_may_be_async_and_sees_the_call() -> None:
    async def script(call: Call) -> str:
        return f"{call.model} at {call.max_tokens}"

    assert (await FakeProvider(script).complete(CALL)).text == "any at 10"


async def test_usage_is_a_token_for_four_characters() -> None:
    completion = await FakeProvider(["x" * 40]).complete(CALL)
    assert completion.usage == Usage(input_tokens=4, output_tokens=10)


async def test_a_completion_is_passed_on_as_it_is() -> None:
    completion = Completion("cut", None, "length", model="other")
    assert await FakeProvider([completion]).complete(CALL) == completion


@pytest.mark.parametrize("text", ["a b", "  two\n\n  lines \t", "", "\n", "word"])
async def test_the_pieces_of_a_stream_join_to_the_text(text: str) -> None:
    pieces: list[str] = []
    assert (await FakeProvider([text]).complete(CALL, pieces.append)).text == text
    assert "".join(pieces) == text
    assert all(pieces)


async def test_an_exception_in_the_script_is_raised() -> None:
    error = ProviderError("truncated", "cut", billed=True)
    with pytest.raises(ProviderError) as caught:
        await FakeProvider([error]).complete(CALL)
    assert caught.value is error
