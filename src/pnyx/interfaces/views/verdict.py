"""The verdict of `pnyx verify`: its schema, and its reports as text, SARIF and JUnit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from ..._version import __version__
from ...core.caching.regex import regex

__all__ = ["FAIL", "PASS", "REPORTS", "SCHEMA", "as_text", "contradiction"]

PASS, FAIL = "pass", "fail"
LEVELS = ("error", "warning", "note")
"""How serious a finding is, in SARIF's words."""
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": [PASS, FAIL]},
        "reasons": {"type": "string"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "rule": {"type": "string"},
                    "level": {"enum": [*LEVELS]},
                    "file": {"type": ["string", "null"]},
                    "line": {"type": ["integer", "null"]},
                    "message": {"type": "string"},
                },
                "required": ["rule", "level", "file", "line", "message"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["verdict", "reasons", "findings"],
    "additionalProperties": False,
}


def contradiction(verdict: Mapping[str, Any], final_answer: str | None) -> str | None:
    """Return why a verdict that says "pass" is not one, or None. final_answer: of the panel, in words.

    One model writes the verdict after the panel has decided, and may contradict the panel, or itself.
    """
    if verdict["verdict"] != PASS:
        return None
    if any(one["level"] == LEVELS[0] for one in verdict["findings"]):
        return "a finding of it is an error, which alone makes the material fail"
    if (final_answer or "").strip(" .*_`").lower() == FAIL:
        return "the panel's final answer is fail"
    return None


def as_text(verdict: Mapping[str, Any]) -> str:
    """The verdict for people: the word, the reasons, and one line for each finding."""
    return "\n".join([verdict["verdict"], "", verdict["reasons"], *_lines(verdict)])


def _lines(verdict: Mapping[str, Any]) -> Iterator[str]:
    if verdict["findings"]:
        yield ""
    for one in verdict["findings"]:
        place = ":".join(str(part) for part in (one["file"], one["line"]) if part is not None)
        yield f"- {one['level']}: {place + ': ' if place else ''}{one['message']} ({one['rule']})"


def as_sarif(verdict: Mapping[str, Any], run_id: str) -> str:
    """The findings as SARIF 2.1.0, for code scanning."""
    rules = list(dict.fromkeys(one["rule"] for one in verdict["findings"]))
    driver = {"name": "pnyx", "version": __version__, "rules": [{"id": rule} for rule in rules]}
    results = [
        {
            "ruleId": one["rule"],
            "ruleIndex": rules.index(one["rule"]),
            "level": one["level"],
            "message": {"text": one["message"]},
            "locations": [_location(one)] if one["file"] else [],
        }
        for one in verdict["findings"]
    ]
    properties = {"verdict": verdict["verdict"], "reasons": verdict["reasons"], "run": run_id}
    run = {"tool": {"driver": driver}, "results": results, "properties": properties}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return (
        json.dumps({"$schema": schema, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)
        + "\n"
    )


def _location(finding: Mapping[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": finding["file"]}}
    if finding["line"] is not None and finding["line"] > 0:
        place["region"] = {"startLine": finding["line"]}
    return {"physicalLocation": place}


def as_junit(verdict: Mapping[str, Any], run_id: str) -> str:
    """The verdict and each finding as a test case of JUnit; only a failed verdict and errors fail."""
    failed = verdict["verdict"] != PASS
    errors = [one for one in verdict["findings"] if one["level"] == "error"]
    suite = ElementTree.Element("testsuite", name="pnyx verify", id=run_id)
    suite.set("tests", str(1 + len(verdict["findings"])))
    suite.set("failures", str(failed + len(errors)))
    case = ElementTree.SubElement(suite, "testcase", name="verdict", classname="pnyx")
    if failed:
        ElementTree.SubElement(case, "failure", message=verdict["verdict"]).text = _xml(verdict["reasons"])
    for one in verdict["findings"]:
        case = ElementTree.SubElement(suite, "testcase", name=_xml(one["rule"]), classname="pnyx")
        if one["file"]:
            case.set("file", _xml(one["file"]))
        if one["line"] is not None:
            case.set("line", str(one["line"]))
        kind = "failure" if one["level"] == "error" else "system-out"
        ElementTree.SubElement(case, kind).text = _xml(one["message"])
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


_NOT_XML = regex("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml(text: str) -> str:
    """`text` without what XML 1.0 cannot hold."""
    return _NOT_XML.sub("\ufffd", text)


REPORTS = {"sarif": as_sarif, "junit": as_junit}
"""Name of a format -> the report of a verdict and its run."""
