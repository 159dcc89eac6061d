"""Failures in other languages than English: what kind they are, and what is changed of the request."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from pnyx.providers.hosted.failure_phrases import TABLE as FAILURES
from pnyx.providers.hosted.failure_phrases import _phrases, in_english
from tests.hosts.test_errors import KINDS, TABLE, Row, answer, errors, output_limit
from tests.support.rows import rows

SENTENCES = tomllib.loads((Path(__file__).parent / "languages.toml").read_text(encoding="utf-8"))
STATUS = {
    "too_long": (400, 500),
    "rate_limited": (0,),
    "overloaded": (0,),
    "refused": (0, 429),
    "filtered": (0, 400),
}
STATUS |= {"auth": (0, 400), "not_found": (0, 400)}
ACCEPTED = {"overloaded": {"rate_limited", "overloaded"}, "filtered": {"refused"}}
"""Kinds of a table's sentences: a crowd at a host is named like a crowd of requests, and both are retried."""


def reported(sentence: str, status: int = 400) -> Row:
    body = json.dumps({"error": {"message": sentence, "type": None}}, ensure_ascii=False)
    return Row("variant", "alpha", status, body)


@pytest.mark.parametrize("kind", sorted(STATUS))
def test_a_failure_has_its_kind_in_any_language(kind: str) -> None:
    accepted = ACCEPTED.get(kind, {kind})
    wrong = []
    for sentence in SENTENCES[kind]:
        for status in STATUS[kind]:
            row = reported(sentence, status)
            found = answer(row)
            if found.error.kind not in accepted or found.change is not None:
                wrong.append((status, found.error.kind, sentence))
            assert sentence in str(found.error)
    assert wrong == []


def test_a_refused_parameter_is_left_out_in_any_language() -> None:
    gone = {sentence: answer(reported(sentence)).gone for sentence in SENTENCES["parameter"]}
    assert {sentence: names for sentence, names in gone.items() if names != {"temperature"}} == {}


def test_an_output_limit_is_lowered_in_any_language() -> None:
    limits = {sentence: output_limit(answer(reported(sentence)).body) for sentence in SENTENCES["limit"]}
    assert {sentence: limit for sentence, limit in limits.items() if limit != 8192} == {}


def test_instructions_are_moved_in_any_language_where_there_is_no_system_role() -> None:
    turns = {sentence: answer(reported(sentence)).body["messages"] for sentence in SENTENCES["system"]}
    assert {sentence: messages for sentence, messages in turns.items() if len(messages) != 1} == {}


def test_a_failure_in_chinese_has_its_kind_in_traditional_characters_too() -> None:
    table = tomllib.loads(FAILURES.read_text(encoding="utf-8"))["chinese"]
    simplified, traditional = ("".join(table[name]) for name in ("simplified", "traditional"))
    assert len(set(traditional)) == len(simplified)
    characters = str.maketrans(simplified, traditional)
    # What JSON escapes is not translated.
    found = [row for row in errors(*KINDS) if row.body.startswith("{") and "\\u" not in row.body]
    other = [(row, replace(row, body=row.body.translate(characters))) for row in found]
    changed = [(row, again) for row, again in other if row != again]
    assert len(changed) > 30
    assert [again.body for row, again in changed if row.error.kind != again.error.kind] == []


def test_english_has_no_words_of_another_meaning_in_another_language() -> None:
    bodies = [(kind, row[2]) for kind, rows in TABLE.items() for row in rows if row[2].isascii()]
    bodies = [(kind, body) for kind, body in bodies if "\\u" not in body]  # which is no English then
    added = {
        (kind, "".join(in_english(body).splitlines()[len(body.splitlines()) :])) for kind, body in bodies
    }
    assert added <= {(kind, "") for kind in TABLE} | {("auth", "invalid api key")}


@rows(
    "sentence, wait",
    [
        ("レート制限に達しました。20秒後に再試行してください。", 20),
        ("1時間後に再試行してください。", 3600),
        ("요청이 너무 많습니다. 5분 후 다시 시도해 주세요.", 300),
        ("Trop de requêtes. Réessayez dans 20 secondes.", 20),
        ("Troppe richieste, riprova tra 2 minuti.", 120),
        ("Zu viele Anfragen, bitte in 20 Sekunden erneut versuchen.", 20),
        ("Demasiadas solicitudes, inténtelo en 1,5 minutos.", 90),
        ("Zbyt wiele żądań, spróbuj za 20 sekund.", 20),
        ("Слишком много запросов, повторите через 1 час.", 3600),
        ("Çok fazla istek, 20 saniye sonra tekrar deneyin.", 20),
        ("طلبات كثيرة جدًا، حاول بعد 20 ثانية.", 20),
        ("请求过于频繁 (请在30秒后重试)", 30),
        ("Забагато запитів, зачекайте 2 хвилини.", 120),
        ("Příliš mnoho požadavků, zkuste to za 20 sekund.", 20),
        ("Terlalu banyak permintaan, coba lagi dalam 20 detik.", 20),
        ("คำขอมากเกินไป โปรดลองอีกครั้งใน 20 วินาที", 20),
        ("Quá nhiều yêu cầu, vui lòng thử lại sau 5 phút.", 300),
        ("För många förfrågningar, försök igen om 20 sekunder.", 20),
        ("Prea multe cereri, încercați din nou peste 20 de secunde.", 20),
        ("Túl sok kérés, próbálja újra 20 másodperc múlva.", 20),
        # What is allowed in some time is no wait.
        ("Trop de requêtes : limite de 3 requêtes par 20 secondes.", None),
        ("Too many requests: 60 in 1 minute are allowed.", None),
    ],
)
def test_a_wait_is_read_in_any_language(sentence: str, wait: float | None) -> None:
    error = reported(sentence, 429).error
    assert (error.kind, error.retry_after) == ("rate_limited", wait)


def test_a_phrase_that_is_not_looked_for_in_ascii_matches_none() -> None:
    bodies = [row.body for row in errors(*KINDS)]
    text = "\n".join(body for body in bodies if body.isascii())
    assert len(text) > 100_000
    skipped = [phrase for _, phrases in _phrases()[0] for phrase in phrases if not phrase.may_be_ascii]
    assert len(skipped) > 50
    for phrase in skipped:
        assert not all(part.search(text) for part in phrase.parts), [part.pattern for part in phrase.parts]
