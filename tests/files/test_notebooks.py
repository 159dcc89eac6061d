"""Notebooks are given as their cells; documents that are not read are refused with what to do."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.config.schema import ContextSettings
from pnyx.core.context.files import File, Source
from pnyx.errors import FileProblem
from pnyx.files.notebook import notebook_text
from pnyx.files.read import read_files
from tests.support.properties import examples

CODE = {
    "cell_type": "code",
    "source": ["x = 1\n", "print(x)"],
    "outputs": [
        {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "<Figure>", "image/png": "aGk="}},
        {"output_type": "display_data", "data": {"image/png": "aGk="}},
        {
            "output_type": "error",
            "ename": "KeyError",
            "evalue": "'k'",
            "traceback": ["\x1b[31mKeyError\x1b[0m"],
        },
        {"output_type": "error", "ename": "KeyError", "evalue": "'k'", "traceback": []},
    ],
}
CELLS = [{"cell_type": "markdown", "source": "# Title"}, CODE, {"cell_type": "raw", "source": []}]
SHOWN = """\
[cell 1: markdown]
# Title

[cell 2: code]
x = 1
print(x)
[output of cell 2]
1
<Figure>
[image/png: not shown]
KeyError
KeyError: 'k'

[cell 3: raw]"""


async def read(source: Source) -> File:
    return (await read_files([source], ContextSettings())).files[0]


@pytest.mark.parametrize("form", ["data", "content"])
async def test_the_cells_of_a_notebook_have_their_numbers_and_text_outputs(form: str) -> None:
    text = json.dumps({"nbformat": 4, "metadata": {}, "cells": CELLS})
    value: Any = text if form == "content" else text.encode()
    file = await read(Source(name="Work.IPYNB", **{form: value}))
    assert [line.partition("| ")[2] for line in file.text.splitlines()] == SHOWN.splitlines()
    assert (file.note, file.size) == ("cells of a notebook", len(text))


def test_version_3_has_its_cells_in_worksheets() -> None:
    outputs = [{"output_type": "pyout", "text": ["2"]}, {"output_type": "display_data", "png": "aGk="}]
    cells = [{"cell_type": "code", "input": "1+1", "outputs": outputs}]
    text = json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]})
    assert notebook_text(text) == "[cell 1: code]\n1+1\n[output of cell 1]\n2"


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", '{"cells": []}', '{"nbformat": 4, "cells": [1]}', "[" * 99_999]
)
async def test_what_is_named_like_a_notebook_and_is_none_is_given_as_it_is(text: str) -> None:
    assert notebook_text(text) is None
    assert text in (await read(Source(name="x.ipynb", content=text))).text


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda one: (
        st.lists(one, max_size=3)
        | st.dictionaries(
            st.sampled_from(["cell_type", "source", "outputs", "data", "text", "output_type"]), one
        )
    ),
    max_leaves=12,
)


@examples(30)
@given(st.lists(ANY, max_size=3))
def test_no_notebook_fails(cells: list[Any]) -> None:
    shown = notebook_text(json.dumps({"nbformat": 4, "cells": cells}))
    assert (shown is None) == any(not isinstance(cell, dict) for cell in cells)


def archive(part: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as parts:
        parts.writestr(part, "")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (rb"{\rtf1\ansi Hello}", "RTF, which is not read: save it as docx, PDF or plain text"),
        (b"\xef\xbb\xbf\n" + rb"{\rtf1 Hello}", "RTF, which is not read"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "before 2007, which is not read: save it as docx"),
        (archive("ppt/presentation.xml"), "PowerPoint document, which is not read: save it as PDF"),
        (archive("META-INF/manifest.xml"), "OpenDocument file, which is not read: save it as docx"),
        (archive("META-INF/container.xml"), "EPUB book, which is not read"),
        (archive("xl/workbook.bin"), "binary Excel document, which is not read: save it as xlsx"),
        (archive("other.txt"), "not text, and of no kind that can be read"),
    ],
)
async def test_a_document_that_is_not_read_is_refused_with_what_to_do(data: bytes, words: str) -> None:
    with pytest.raises(FileProblem, match=f"^sent.bin is .*?{words}"):
        await read(Source(name="sent.bin", data=data))


async def test_a_text_about_rtf_is_a_text() -> None:
    text = r"A file starts with {\rtf1."
    assert text in (await read(Source(name="a.md", content=text))).text
