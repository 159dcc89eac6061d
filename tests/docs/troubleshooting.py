"""Write docs/troubleshooting.md from the messages in the code: `python -m tests.docs.troubleshooting`.

`troubleshooting.toml` has the causes and fixes. Each of its tables takes the messages that fit it and no
table before: by `messages` (patterns of the text), or by `files` (of src/pnyx) and `errors` (classes), of
which both must fit if both are there. `shown` are texts that are not the argument of an error; they stand in
the code too.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from pnyx import errors
from tests.support.sources import PACKAGE, modules

__all__ = ["PAGE", "Message", "families", "messages", "page", "place", "raised"]

PAGE = PACKAGE.parents[1] / "docs" / "troubleshooting.md"
FAMILIES = Path(__file__).with_name("troubleshooting.toml")
CLASSES = {name for name in dir(errors) if name[0].isupper()} - {"Any", "ClassVar", "Self"} | {"ValueError"}
NOT_SHOWN = ("core/parsing/*", "protocols/shared/*_form.py", "protocols/shared/judge.py", "testing/*")
"""Where errors are raised that only a model or a test reads."""


class Message(NamedTuple):
    """An error as the code raises it. file: in src/pnyx. text: with … for what varies."""

    error: str
    file: str
    text: str


@functools.cache
def messages() -> tuple[Message, ...]:
    """The messages of all errors that a person may see, in the order of the files."""
    found = dict.fromkeys(
        Message(error, file, text)
        for module in modules()
        if not any(fnmatch(file := module.path.relative_to(PACKAGE).as_posix(), one) for one in NOT_SHOWN)
        for error, text in raised(module.tree)
        if error != "ValueError" or file.startswith("config/")  # elsewhere a fault of the code
    )
    return tuple(found)


@functools.cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads(FAMILIES.read_text("utf-8"))


def families() -> list[Mapping[str, Any]]:
    """The tables of `troubleshooting.toml`."""
    return list(_tables()["family"])


def place(message: Message) -> str | None:
    """The title of the table that a message belongs to."""
    for family in families():
        if any(re.search(pattern, message.text) for pattern in family.get("messages", ())):
            return str(family["title"])
        by_error = message.error in family.get("errors", ())
        by_file = any(fnmatch(message.file, pattern) for pattern in family.get("files", ()))
        if ("errors" in family or "files" in family) and (
            (by_error or "errors" not in family) and (by_file or "files" not in family)
        ):
            return str(family["title"])
    return None


def page() -> str:
    """The text of docs/troubleshooting.md."""
    return "\n".join([_tables()["introduction"], *_sections()])


def _sections() -> Iterator[str]:
    placed: dict[str | None, list[str]] = {}
    for message in messages():
        placed.setdefault(place(message), []).append(message.text)
    for family in families():
        texts = dict.fromkeys([*family.get("shown", ()), *placed.get(family["title"], ())])
        yield f"## {family['title']}\n"
        yield f"**Cause.** {family['cause'].strip()}\n"
        yield f"**Fix.** {family['fix'].strip()}\n"
        yield "\n".join(f"- {_code(text)}" for text in texts) + "\n"


def _code(text: str) -> str:
    marks = "``" if "`" in text else "`"
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{space}{' '.join(text.split())}{space}{marks}"


def raised(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in CLASSES:
                texts = [text for text in map(_text, node.args) if re.search(r"\w+ .*\w{3}", text)]
                yield from ((name, text) for text in texts[-1:])


def _text(node: ast.expr) -> str:
    """A text in the code, with … for each expression in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return re.sub("…+", "…", "".join(map(_text, parts)))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.IfExp(body=body):
            return _text(body)
    return "…"


def main() -> None:
    PAGE.write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
