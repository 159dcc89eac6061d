"""The report as text and as a page: untrusted text is harmless, and everything is readable."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pnyx.evaluate.analysis.log import Log, Row
from pnyx.evaluate.report.document import document
from pnyx.evaluate.report.formats import amount, clip, interval, p_value, percent, points, shown, usd
from pnyx.evaluate.report.page import page
from pnyx.evaluate.report.plots import Scale, ticks
from pnyx.evaluate.report.text import WIDTH, render
from tests.evaluate.logs import log, random_letters, random_log
from tests.support.pages import Page
from tests.support.rows import rows

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"onmouseover="alert(1)',
    "\x1b]52;c;aGk=\x07\x1b[2J",
    "\u202emodel\ud800 \u2028 name",
    "模型" * 40,
    "a-very-long-provider:" + "name-" * 40,
)

pytestmark = pytest.mark.usefixtures("unweighted")


def full(n: int = 40, names: tuple[str, ...] = ("a", "b", "council", "moa"), **more: Any) -> Log:
    """A log with which no table or plot is empty."""

    def change(row: Row) -> dict[str, Any]:
        return {
            "category": ("law", names[0])[int(row.id[1:]) % 2],
            "confidence": 0.9 if row.correct else 0.6,
            "steps": (True, row.correct) if row.arm in names[2:] else (),
            "cost_usd": 0.001 * len(row.arm),
            **more,
        }

    rng = random.Random(0)
    first, second, *protocols = names
    models = {first: random_letters(0.7, n, rng), second: random_letters(0.6, n, rng)}
    return log(
        models,
        {name: random_letters(0.7, n, rng) for name in protocols},
        random_letters(0.7, n, rng),
        change,
    )


def test_the_page_has_no_script_and_no_outside_resource() -> None:
    source = page(document(full()))
    found = Page(source)
    found.check_policy()
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"href", "xlink:href", "style"}
    assert not re.search(r"https?:|url\(|@import|javascript:", source, re.IGNORECASE)
    assert "prefers-color-scheme:dark" in source


def test_tables_have_captions_and_scopes_and_plots_have_names() -> None:
    found = Page(page(document(full())))
    tables = found.of("table")
    assert len(tables) == len(found.of("caption")) == 8
    assert {attributes["scope"] for attributes in found.of("th")} == {"col", "row"}
    plots = found.of("svg")
    # Accuracy, cost, differences, rounds, risk, and the reliability of eight arms.
    assert len(plots) == 5 + 8
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in plots)


def test_untrusted_text_of_the_log_is_escaped_on_the_page() -> None:
    names = (*HOSTILE[:2], *HOSTILE[3:])
    source = page(document(full(30, names)))
    source.encode("utf-8")
    found = Page(source)
    text = "".join(found.text)
    assert HOSTILE[0] in text
    assert HOSTILE[1] in text
    assert not found.of("script")
    assert not {name for _, attributes in found.tags for name in attributes if name.startswith("on")}
    assert "\u202e" not in source


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_name_changes_the_structure_of_the_page(model: str, category: str) -> None:
    made = log({model: "+x"}, change=lambda row: {"category": category})
    source = page(document(made))
    assert [tag for tag, _ in Page(source).tags] == _tags_of_a_plain_page()
    source.encode("utf-8")


@functools.cache
def _tags_of_a_plain_page() -> list[str]:
    plain = log({"a": "+x"}, change=lambda row: {"category": "c"})
    return [tag for tag, _ in Page(page(document(plain))).tags]


@rows(
    "made",
    [
        full(),
        full(1),
        full(cost_usd=0.0),
        full(cost_usd=None),
        full(confidence=None),
        full(confidence=1.0),
        log({"a": "+"}),
        log({"a": "....", "b": "!!!!"}, {"council": "____"}),
        log({"a": "++++", "b": "++++"}, {"council": "xxxx"}, "++__"),
    ],
)
def test_plots_stay_within_their_frames(made: Log) -> None:
    width = height = 0.0
    for tag, attributes in Page(page(document(made))).tags:
        if tag == "svg":
            _, _, width, height = map(float, str(attributes["viewbox"]).split())
        for name in ("x", "x1", "x2", "cx"):
            if name in attributes and tag in ("circle", "line", "rect", "text"):
                assert 0 <= float(str(attributes[name])) <= width
        for name in ("y", "y1", "y2", "cy"):
            if name in attributes and tag in ("circle", "line", "rect", "text"):
                assert 0 <= float(str(attributes[name])) <= height
        if tag == "polyline":
            for x, y in _points(str(attributes["points"])):
                assert 0 <= x <= width
                assert 0 <= y <= height


def _points(path: str) -> Iterator[tuple[float, float]]:
    for point in path.split():
        x, y = point.split(",")
        yield float(x), float(y)


@pytest.mark.parametrize("width", [40, 60, WIDTH])
def test_the_text_fits_the_terminal_and_has_no_control_characters(width: int) -> None:
    report = render(document(full(30, HOSTILE)), width)
    for line in report.split("\n"):
        assert cell_len(line) <= width, line
        assert line == line.rstrip()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", report)


def test_the_text_starts_with_the_most_important_part() -> None:
    report = document(random_log(40, change=lambda row: {"category": "law"}))
    text = render(report)
    places = [
        text.index(part)
        for part in (
            "Most right answers",
            "RIGHT ANSWERS, %",
            "COST OF A QUESTION",
            "AGAINST THE BEST SINGLE MODEL",
            "AGAINST THE MAJORITY",
            "AGAINST SAMPLES",
            "CALIBRATION OF CONFIDENCE",
            "RIGHT ANSWERS BY CATEGORY",
        )
    ]
    assert places == sorted(places)
    assert "ANSWERS CHANGED BY EACH ROUND" not in text
    lines = text.splitlines()
    start = lines.index("RIGHT ANSWERS, %")
    council = next(line for line in lines[start:] if line.startswith("council"))
    (arm,) = [arm for arm in report["arms"] if arm["name"] == "council"]
    assert f"{100 * arm['accuracy']['mean']:.1f}" in council


def test_no_heading_or_name_of_its_own_is_clipped() -> None:
    names = ("a", "self-consistency", "council", "moa")
    assert "…" not in render(document(full(names=names)), 200)


def test_an_unknown_price_is_shown_as_unknown() -> None:
    report = document(random_log(20, change=lambda row: {"cost_usd": None}))
    for form in (render(report), page(report)):
        assert "unknown" in form
        assert "$" not in form


def test_a_wide_table_continues_below_with_its_names_repeated() -> None:
    models = {f"lab:model-{n:02}": "+x+x" for n in range(12)}
    report = render(document(log(models, change=lambda row: {"category": "law"})))
    below = report[report.index("BY CATEGORY") :].splitlines()
    assert [line.split()[0] for line in below[1:]] == ["category", "law"] * (len(below) // 2)
    assert all(name in report[report.index("BY CATEGORY") :] for name in models)


def test_figures_are_formatted_for_people() -> None:
    assert percent(0.7833) == "78.3"
    assert interval({"low": 0.701, "high": 0.848}) == "[70.1, 84.8]"
    assert points({"mean": 0.058, "low": -0.0001, "high": 0.1}) == "+5.8 [+0.0, +10.0]"
    assert [p_value(p) for p in (None, 0.00001, 0.05)] == ["–", "<0.001", "0.050"]  # noqa: RUF001 (a dash)
    assert [usd(cost) for cost in (None, 0, 0.00001, 0.0123, 12.5)] == [
        "unknown",
        "$0",
        "$0.00001",
        "$0.0123",
        "$12.50",
    ]
    assert [amount(n) for n in (3.0, 3.25, 1234.5)] == ["3", "3.2", "1,234"]
    assert shown(" a\x1b[2J\n\u202eb ") == "a\ufffd[2J \ufffdb"


@given(st.floats(0, 1e6), st.floats(1e-9, 1e6), st.integers(2, 12))
def test_ticks_are_few_even_and_within(low: float, span: float, most: int) -> None:
    high = low + span
    found = ticks(low, high, most)
    assert len(found) <= most
    assert all(low - span * 1e-6 <= tick <= high + span * 1e-6 for tick in found)
    assert found == sorted(set(found))


@given(st.floats(1e-6, 1e3), st.floats(8, 1e6))
def test_a_logarithmic_scale_has_ordered_ticks_within_its_range(low: float, times: float) -> None:
    scale = Scale(low, low * times, 0.0, 500.0, log=True)
    found = scale.ticks()
    assert 1 <= len(found) <= 8
    places = [float(scale.at(tick)) for tick in found]
    assert places == sorted(places)
    assert all(0 <= place <= 500 for place in places)


@given(st.text(), st.integers(3, 40))
def test_a_name_is_clipped_in_its_middle(name: str, most: int) -> None:
    assert cell_len(clip(name, most)) <= most
    assert clip("abcdefghij", 7) == "abc…hij"
