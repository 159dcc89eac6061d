"""Images and documents in messages: seats that read images see them, and old ones never block a turn."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from tests.interfaces.http.apis.conftest import ANSWER
from tests.support.documents import pdf_of, png_of
from tests.support.scripted import ScriptedHost
from tests.support.serving import SERVER_KEY, open_server

PICTURE = base64.b64encode(png_of(320, 200)).decode()
OTHER = base64.b64encode(png_of(10, 10)).decode()
REPORT = base64.b64encode(pdf_of("The limit is 3.")).decode()
URL = f"data:image/png;base64,{PICTURE}"
READER = {"pnyx": {"models": ["lab:alpha"], "footer": False}}
BOTH = {"pnyx": {"models": ["lab:alpha", "lab:beta", "lab:gamma"], "footer": False}}
BLIND = {"pnyx": {"models": ["lab:beta"], "footer": False}}


@pytest.fixture
def reader(lab: ScriptedHost) -> ScriptedHost:
    """The panel, of which the model alpha alone reads images."""
    lab.on("*", text=ANSWER)
    text = Path("lab.toml").read_text()
    Path("lab.toml").write_text(text.replace('[models."lab:alpha"]', '[models."lab:alpha"]\nimages = true'))
    return lab


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def shown(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def images_in(body: Any) -> int:
    return json.dumps(body).count('"image_url": {')


async def chat(url: str, *messages: Any, model: str = "pnyx/single", **more: Any) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=SERVER_KEY, max_retries=0) as client:
        return await client.chat.completions.create(model=model, messages=list(messages), **more)


async def test_seats_that_read_images_see_the_image_and_others_learn_of_it(reader: ScriptedHost) -> None:
    async with open_server() as server:
        await chat(server.url, user(said("What is it?"), shown(URL)), model="pnyx/voting", extra_body=BOTH)
    assert {request.model for request in reader.log} == {"alpha", "beta", "gamma"}
    for request in reader.log:
        text = json.dumps(request.body["messages"], ensure_ascii=False)
        assert "What is it?" in text
        assert "[image 1]" in text
        if request.model == "alpha":
            assert images_in(request.body) == 1
            assert URL in text
            assert "The image comes with this message." in text
        else:
            assert images_in(request.body) == 0
            assert "Your model reads no images" in text


async def test_an_image_is_an_error_only_if_no_seat_reads_it(reader: ScriptedHost) -> None:
    async with open_server() as server:
        with pytest.raises(openai.BadRequestError) as refused:
            await chat(server.url, user(said("What is it?"), shown(URL)), extra_body=BLIND)
        assert "no model of the panel reads images (image 1): lab:beta" in str(refused.value)
        assert refused.value.param == "messages"
        assert not reader.log


@pytest.mark.parametrize("panel", [READER, BLIND], ids=["reader", "blind"])
@pytest.mark.parametrize("url", [URL, "https://127.0.0.1/gone.png", "data:image/png;base64,AAAA"])
async def test_an_image_in_an_old_turn_never_blocks_a_text_turn(
    reader: ScriptedHost, panel: dict[str, Any], url: str
) -> None:
    turns = [user(said("What is it?"), shown(url)), {"role": "assistant", "content": "A dot."}]
    async with open_server() as server:
        await chat(server.url, *turns, user(said("Which colour?")), extra_body=panel)
    text = json.dumps(reader.log[-1].body["messages"], ensure_ascii=False)
    assert "Which colour?" in text
    given = panel is READER and url == URL
    assert images_in(reader.log[-1].body) == given
    assert ("left out here: an image" in text) == (not given)


async def test_images_are_numbered_in_the_order_of_the_conversation(reader: ScriptedHost) -> None:
    other = f"data:image/png;base64,{OTHER}"
    turns = [user(said("First?"), shown(URL)), {"role": "assistant", "content": "A dot."}]
    async with open_server() as server:
        await chat(server.url, *turns, user(said("And this one?"), shown(other)), extra_body=READER)
    text = json.dumps(reader.log[-1].body["messages"], ensure_ascii=False)
    assert images_in(reader.log[-1].body) == 2
    assert text.index("image image 1, 320 x 200") < text.index("image image 2, 10 x 10")
    assert "And this one?\\n[image 2]" in text


async def test_the_other_apis_take_images_and_documents_too(reader: ScriptedHost) -> None:
    async with open_server() as server:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key=SERVER_KEY, max_retries=0) as claude:
            source = {"type": "base64", "media_type": "image/png", "data": PICTURE}
            document = {"type": "base64", "media_type": "application/pdf", "data": REPORT}
            parts = [
                {"type": "image", "source": source},
                {"type": "document", "source": document, "title": "report.pdf"},
                said("What is it?"),
            ]
            content: Any = [user(*parts)]
            await claude.messages.create(
                model="pnyx/single", max_tokens=500, messages=content, extra_body=READER
            )
        async with openai.AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key=SERVER_KEY, max_retries=0
        ) as client:
            file = f"data:application/pdf;base64,{REPORT}"
            parts = [
                {"type": "input_image", "image_url": URL},
                {"type": "input_file", "filename": "report.pdf", "file_data": file},
                {"type": "input_text", "text": "What is it?"},
            ]
            given: Any = [user(*parts)]
            await client.responses.create(model="pnyx/single", input=given, extra_body=READER)
            parts = [{"type": "file", "file": {"filename": "report.pdf", "file_data": file}}, said("What?")]
            await chat(server.url, user(*parts), extra_body=BLIND)
    assert [images_in(request.body) for request in reader.log[:2]] == [1, 1]
    for request in reader.log:
        text = json.dumps(request.body["messages"], ensure_ascii=False)
        assert "file report.pdf" in text
        assert "The limit is 3." in text


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (shown("ftp://x/y.png"), "only http:// and https:// URLs"),
        (shown("https://127.0.0.1/y.png"), "only public addresses"),
        (shown("data:image/png"), "a data URL has the form"),
        (shown("data:image/png;base64,%%%"), "no Base64"),
        (shown("data:image/png;base64,AAAA"), "is not text, and of no kind that can be read"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "not this part"),
    ],
)
async def test_what_cannot_be_read_in_a_question_is_refused(
    reader: ScriptedHost, part: dict[str, Any], message: str
) -> None:
    async with open_server() as server:
        with pytest.raises(openai.BadRequestError) as refused:
            await chat(server.url, user(said("What is it?"), part), extra_body=READER)
    assert message in str(refused.value)
    assert not reader.log
