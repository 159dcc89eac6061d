"""Every command in the documents exists, with its flags."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from pnyx.interfaces.cli import cli
from tests.docs.site import pages
from tests.support.sources import ROOT

BLOCK = re.compile(r"^```(?:|console|bash|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What begins a command: a line, its prompt, a pipe, or the folder of the demo.
COMMAND = re.compile(r"(?:^|\| |\$ |&& |\.venv/bin/)pnyx ((?:[^|\n\\]|\\\n|\\\|)+)", re.MULTILINE)
INLINE = re.compile(rf"`pnyx ((?:{'|'.join(cli.list_commands(click.Context(cli)))})(?: [^`\n]*)?)`")
"""A command in a sentence. What begins with another word is a message that begins with the name."""
SHELL = set("[]|…<>;&$")
"""What is no argument: of the shell, or of a description such as `[--answer TEXT]`."""
WRITTEN_BY_HAND = [
    page for page in pages() if page.is_relative_to(ROOT / "docs") and page.parent.name != "reference"
] + [ROOT / "README.md"]


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each command on a page, without `pnyx`."""
    content = page.read_text("utf-8")
    for block in (*BLOCK.findall(content), *(f"pnyx {one}" for one in INLINE.findall(content))):
        for line in COMMAND.findall(block):
            text = re.sub(r"\s+#.*", "", line.replace("\\\n", " "))
            try:
                words = shlex.split(text)
            except ValueError:  # a quotation that a pipe or a comment ended
                words = text.split()
            if words and re.fullmatch(r"[a-z-]+", words[0]):
                yield words


def problem(words: list[str]) -> str | None:
    """What is wrong with a command, or None."""
    # Its settings too: a command keeps the option for help that its first context made.
    context = click.Context(cli, **cli.context_settings)
    command: click.Command | None = cli
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(context, words[0])
        if command is None:
            return f"no command {words[0]}"
        words = words[1:]
    assert command is not None
    known = {flag for one in (*cli.params, *command.params) for flag in (*one.opts, *one.secondary_opts)}
    known |= {"--help", "-h"}
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word.split("=")[0] not in known]
    if unknown:
        return f"{command.name} has no {unknown[0]}"
    if any(SHELL & set(word) for word in words) or isinstance(command, click.Group):
        return None
    context = click.Context(command, parent=context, ignore_unknown_options=True)
    try:
        _, left, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError:
        return None  # a sentence may name an option without its value
    return f"{command.name} takes no {left[0]}" if left else None


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_and_flags_of_a_page_exist(page: Path) -> None:
    found = [(problem(words), words) for words in commands(page)]
    assert [(why, words) for why, words in found if why] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```\n$ pnyx fly\n```\n", ["no command fly"]),
        ("```\npnyx ask --quickly 'a | b'\n```\n", ["ask has no --quickly"]),
        ("```\ngit diff | pnyx verify --rubic x\n```\n", ["verify has no --rubic"]),
        ("```\npnyx models pull --hard x  # --not-a-flag\n```\n", ["pull has no --hard"]),
        ("```console\n$ pnyx ask \\\n    --slow x\n```\n", ["ask has no --slow"]),
        (
            "`pnyx config show storage`, `pnyx runs --oldest`, `pnyx needs a key`",
            ["show takes no storage", "runs has no --oldest"],
        ),
        ("`pnyx runs --limit` or `pnyx feedback ID [--answer TEXT]`", [None, None]),
        ("```python\npnyx fly\n```\nno pnyx fly here\n", []),
    ],
)
def test_a_command_that_does_not_exist_is_found(text: str, found: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    assert [problem(words) for words in commands(page)] == found


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_comments_of_lines_that_follow_each_other_have_one_column(page: Path) -> None:
    for block in BLOCK.findall(page.read_text("utf-8")):
        column = None
        for line in block.split("\n"):
            found = re.search(r"\S {2,}(?=# )", line)
            assert found is None or column in (None, found.end()), line
            column = found and found.end()
