"""Grammars of custom tools: which are refused, and that a call fits a regular expression."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from pnyx.interfaces.http.apis.conversation import RefusedError
from pnyx.interfaces.http.apis.grammars import grammar_of
from tests.interfaces.http.apis.test_tools import ASKED, proposal
from tests.support.scripted import ScriptedHost

SUM = r"""
start: expr
expr: term (SP ADD SP term)* -> sum
| term
?term: INT
SP: " "
ADD: "+"  // a sign
%import common.INT
"""
SQL = r"""
# One statement, as a host's guide has it
start: "SELECT" _SP cols _SP "FROM" _SP NAME ("WHERE" cond)? ";"
cols: NAME ("," NAME)*
cond.2: NAME /[<>=]{1,2}/ (NUMBER | ESCAPED_STRING)
_SP: /[ \t]+/
NAME: /[a-z_][a-z0-9_]*/i
NUMBER: ("0".."9")+ ["." ("0".."9")+]
%import common (ESCAPED_STRING, WS)
%ignore WS
"""
SEPARATED = r"""
start: _list{word, ","}
_list{item, sep}: item (sep item)*
word: /\w+/
"""
EXTENDED = r"""
start: reasoning answer
reasoning[max_tokens=50]: /(.|\n)*/
answer: %json {"type": "object"}
"""


@pytest.mark.parametrize("definition", [SUM, SQL, SEPARATED, EXTENDED, 'start: "/" | /["\\/]/'])
def test_a_grammar_of_lark_is_read(definition: str) -> None:
    found = grammar_of({"type": "grammar", "syntax": "lark", "definition": definition}, "f")
    assert found == {"syntax": "lark", "definition": definition}


@pytest.mark.parametrize(
    ("syntax", "definition", "param", "named"),
    [
        ("lark", "begin: /x/", "f.definition", "start"),
        ("lark", "start: a\nb: /x/", "f.definition", "line 1: a is not defined"),
        ("lark", 'start: "x', "f.definition", "line 1"),
        ("lark", "start: (/x/", "f.definition", "not closed"),
        ("lark", "start: /x/)", "f.definition", "closes nothing"),
        ("lark", 'start: "a"\n  ; "b"', "f.definition", "line 2"),
        ("regex", "([a-z", "f.definition", "regular expression"),
        ("regex", "", "f.definition", "defines"),
        ("regex", None, "f.definition", "defines"),
        ("bnf", "start: /x/", "f.syntax", "'bnf'"),
        (None, "x", "f.syntax", "None"),
    ],
)
def test_what_is_no_grammar_is_refused_with_its_place(
    syntax: str | None, definition: str | None, param: str, named: str
) -> None:
    given = {"syntax": syntax, "definition": definition}
    for form, where in (
        ({"type": "grammar", **given}, param),
        ({"type": "grammar", "grammar": given}, param.replace("f.", "f.grammar.")),
    ):
        with pytest.raises(RefusedError) as refused:
            grammar_of(form, "f")
        assert refused.value.param == where
        assert named in str(refused.value)


async def test_a_call_fits_the_regular_expression_of_its_tool(client: Any, lab: ScriptedHost) -> None:
    wrong = proposal(("timestamp", {"input": "today"}), before="")
    right = proposal(("timestamp", {"input": "2026-11-26"}), before="")
    lab.on("*", text=lambda request: right if "do not satisfy" in request.text else wrong)
    grammar = {"type": "grammar", "syntax": "regex", "definition": r"\d{4}-\d{2}-\d{2}"}
    tool: dict[str, Any] = {"type": "custom", "name": "timestamp", "format": grammar}
    response = await client.responses.create(
        model="voting", input="When?", tools=[tool], tool_choice={"type": "custom", "name": "timestamp"}
    )
    (call,) = response.output
    assert (call.type, call.input) == ("custom_tool_call", "2026-11-26")
    asked = len(lab.log)
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(
            model="voting", input="When?", tools=[{**tool, "format": {**grammar, "definition": "("}}]
        )
    assert refused.value.param == "tools[0].format.definition"
    with pytest.raises(openai.BadRequestError) as refused:
        await client.chat.completions.create(
            model="voting",
            messages=[ASKED],
            tools=[{"type": "custom", "custom": {"name": "t", "format": {"type": "grammar", "grammar": {}}}}],
        )
    assert refused.value.param == "tools[0].custom.format.grammar.syntax"
    assert len(lab.log) == asked
