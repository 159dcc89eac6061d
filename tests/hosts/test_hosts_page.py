"""docs/hosts.md lists exactly the hosts that have cases."""

from __future__ import annotations

import re

from tests.hosts.case import load
from tests.support.sources import ROOT

PAGE = ROOT / "docs" / "hosts.md"


def test_the_page_lists_the_hosts_of_the_cases_with_their_kinds() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(), re.MULTILINE)
    listed = {(host, kind) for host, kinds in rows for kind in re.findall(r"`(\w+)`", kinds)}
    assert listed == {(case.host, case.dialect) for case in load()}
