"""Words of languages as data: one JSON file a subject, keyed by two-letter codes of languages (ISO 639-1).

- `answers.json`: the labels of a final answer and the words around its value. `final`: labels that name the
  final answer. `answer`: labels that may name another one too. `leads`: words before a label. `is`: verbs
  after it. `not_but`: pairs of words around a value that is denied, before the right one ("not 5 but 7");
  the first is empty where the language puts both behind it. `deny`: words that deny a value or name several.
  `ends`: what may follow a value in its sentence. `unknown`: sentences that give no answer.
- `languages.json`: `scripts`: blocks of letters with their script, or with their language if only one is
  written in it. `words`: the commonest words of languages that share a script.
- `verdicts.json`: the words of votes and verdicts: language -> word of a prompt -> its translations.
- `replies.json`: praise and refusals: language -> parts of sentences.
"""

from __future__ import annotations

import json
import pkgutil
from functools import cache
from typing import Any

__all__ = ["table"]


@cache
def table(name: str) -> Any:
    """The content of `<name>.json`, which is read once. Do not change it."""
    data = pkgutil.get_data(__name__, f"{name}.json")
    if data is None:
        raise FileNotFoundError(f"{name}.json")
    return json.loads(data)
