"""How long a host asks to wait, where its clock is not ours, or its headers say two things."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pnyx.providers.hosted.failures import retry_after


@pytest.mark.parametrize("skew", [timedelta(), timedelta(hours=5), timedelta(days=-400)])
@pytest.mark.parametrize("name", ["retry-after", "x-ratelimit-reset", "body", "words"])
def test_a_time_is_read_by_the_clock_of_the_host(name: str, skew: timedelta) -> None:
    now = (datetime.now(UTC) + skew).replace(microsecond=0)
    then = now + timedelta(seconds=26)
    headers, body = {"date": format_datetime(now, usegmt=True)}, ""
    if name == "retry-after":
        headers[name] = format_datetime(then, usegmt=True)
    elif name == "x-ratelimit-reset":
        headers[name] = str(int(then.timestamp()))
    elif name == "body":
        body = f'{{"X-RateLimit-Reset": "{int(then.timestamp() * 1000)}"}}'
    else:
        body = f"Limit reached, which resets at {then.isoformat()}"
    assert retry_after(headers, body) == 26.0


def test_no_milliseconds_say_nothing() -> None:
    assert retry_after({"retry-after-ms": "0", "retry-after": "1"}) == 1.0
    assert retry_after({"retry-after-ms": "0"}) is None
