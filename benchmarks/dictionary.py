"""Makes the dictionary of zstd that `pnyx.store.documents.packing` compresses with.

Databases depend on the one that is in use: a better one is another file beside it, never a replacement.

    .venv/bin/python -m benchmarks.dictionary FILE [--bytes 16384]

It is trained on what runs of every protocol store, with English sentences of our documentation as replies.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import tempfile
from pathlib import Path
from unittest import mock

from backports import zstd

from benchmarks.scripted import settings
from pnyx.core.models import Usage
from pnyx.providers.base import Call, Completion
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.run.options.request import RunRequest
from pnyx.run.options.resolve import resolve
from pnyx.run.runner import Runner
from pnyx.store.documents import packing

PROTOCOLS = ("consensus", "voting", "council", "deliberate", "single", "moa")
TIMES = 12
LEAST = 24
"""Bytes from which a sample is of use to the training."""


def sentences() -> list[str]:
    """English sentences without tables and code."""
    texts = [path.read_text() for folder in ("docs", "design") for path in sorted(Path(folder).rglob("*.md"))]
    found = [sentence for text in texts for sentence in re.split(r"(?<=[.:])\s+", text)]
    return [one for one in found if 40 < len(one) < 300 and not set("|`<>[") & set(one)]


async def samples() -> list[bytes]:
    """What the runs compress."""
    draw, every = random.Random(7), sentences()

    def text(least: int) -> str:
        out = ""
        while len(out) < least:
            out += draw.choice(every).strip() + draw.choice((" ", " ", " ", "\n\n", "\n- "))
        return out.strip()

    def reply(call: Call) -> Completion:
        tokens = draw.randrange(200, 4000)
        usage = Usage(tokens, draw.choice((0, tokens // 2)), draw.randrange(40, 900), 0)
        answer = draw.choice(("yes", "42"))
        return Completion(f"{text(draw.randrange(80, 1500))}\nFinal answer: {answer}", usage)

    found: list[bytes] = []

    def keep(data: bytes) -> bytes:
        found.append(data)
        return zstd.compress(data)

    def plain(data: bytes, what: str) -> bytes:
        return zstd.decompress(data)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(packing, "compress", keep),
        mock.patch.object(packing, "decompress", plain),
        mock.patch("pnyx.store.documents.contents.compress", keep),
        mock.patch("pnyx.store.documents.unpacking.decompress", plain),
    ):
        chosen = settings("http://127.0.0.1:9/v1", str(Path(folder) / "a.db"))
        async with Runner.open(chosen, Providers(chosen, extra={"lab": FakeProvider(reply)})) as runner:
            for _ in range(TIMES):
                for protocol in PROTOCOLS:
                    request = RunRequest(question=text(draw.randrange(40, 400)), protocol=protocol)
                    await (await runner.start(resolve(request, runner.settings))).result()
    return [one for one in dict.fromkeys(found) if len(one) >= LEAST]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--bytes", type=int, default=16384)
    args = parser.parse_args()
    found = asyncio.run(samples())
    made = zstd.train_dict(found, args.bytes).dict_content
    args.file.write_bytes(made)
    print(f"{len(made)} bytes from {len(found)} samples of {sum(map(len, found))} bytes")


if __name__ == "__main__":
    main()
