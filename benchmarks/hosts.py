"""CPU of a call to a host of each kind, by who writes its request: `python -m benchmarks.hosts`.

Calls go one after another to a scripted host in another process, which replies at once, whole or as a stream.
pnyx: the request is written by `pnyx.providers.hosted.plain`. SDK: by pydantic-ai and the SDK of the kind.
Milliseconds of CPU, medians, each in turn with the others.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from functools import partial

from benchmarks.engine import table, timed
from benchmarks.scripted import words
from pnyx.providers.base import Call, Message, Provider
from pnyx.providers.hosted.provider import open_hosted
from tests.support.scripted import spawn

MODELS = {
    "openai": "alpha",
    "anthropic": "claude-sonnet-4-5",
    "google": "gemini-2.5-flash",
    "mistral": "mistral-medium-latest",
}
"""Kind of provider -> a model whose requests pnyx writes itself."""
PROMPT = (Message("system", "Be brief."), Message("user", words(b"") * 5, breaks=(1_000, 3_000)))


async def send(provider: Provider, call: Call, stream: bool, times: int) -> int:
    for _ in range(times):
        await provider.complete(call, (lambda text: None) if stream else None)
    return times


async def measured(calls: int, repeats: int) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, list[float]]] = {}
    with spawn() as host:
        for kind, model in MODELS.items():
            own, sdk = (open_hosted(kind, base_url=getattr(host, kind)) for _ in range(2))
            sdk._plain = None
            for n in range(repeats + 1):
                for way in ("whole", "stream"):
                    row = rows.setdefault(f"{kind}, {way}", {"pnyx": [], "SDK": []})
                    for name, provider in (("pnyx", own), ("SDK", sdk)):
                        call = Call(model, PROMPT, max_tokens=1000)
                        taken = await timed(partial(send, provider, call, way == "stream", calls), 1)
                        if n:  # the first round loads what is needed
                            row[name].append(taken)
            await own.close()
            await sdk.close()
    return {row: {name: statistics.median(times) for name, times in two.items()} for row, two in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print(table(asyncio.run(measured(args.calls, args.repeats))))


if __name__ == "__main__":
    main()
