"""docs/hosts.md lists exactly the hosts that have cases, and counts the errors."""

from __future__ import annotations

import re

from pnyx.providers.hosted import adjustments, provider
from tests.hosts.case import load
from tests.hosts.test_errors import TABLE
from tests.hosts.test_languages import SENTENCES
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "hosts.md"


def test_the_page_lists_the_hosts_of_the_cases_with_their_kinds() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(), re.MULTILINE)
    listed = {(host, kind) for host, kinds in rows for kind in re.findall(r"`(\w+)`", kinds)}
    assert listed == {(case.host, case.dialect) for case in load()}


def test_the_page_counts_the_errors_and_their_hosts() -> None:
    errors = [row for rows in TABLE.values() for row in rows]
    hosts = {row[0].partition(":")[0] for row in errors}
    text = PAGE.read_text()
    assert f"has {len(errors)} errors of {len(hosts)} hosts" in text
    assert f"for {adjustments.MODELS:,} models" in text
    assert f"Up to {provider.MAX_CHANGES} parameters" in text


def test_the_page_counts_the_sentences_in_other_languages() -> None:
    assert f"({sum(map(len, SENTENCES.values()))} sentences in" in PAGE.read_text()
