"""What it costs a call that operators see it: `python -m benchmarks.telemetry [--debates 40]`.

Debates on a host that answers at once, in turn: with nothing that observes them, with JSON logs, with metrics
for Prometheus, with traces and metrics for a collector (another process), and with all of these. Prints
milliseconds of CPU for each call to a model: of the event loop's thread, on which runs wait, and of the whole
process. Medians, and their difference from debates that nobody observes in the same process.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.overhead import cpu, finished_debate, reply_text, settings
from pnyx.core.models import Usage
from pnyx.interfaces.service.run_service import RunService
from pnyx.providers.base import Completion
from pnyx.providers.fake import FakeProvider
from pnyx.providers.registry import Providers
from pnyx.telemetry.log import JsonLog

SINK = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Sink(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *args): pass
server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
print(server.server_address[1], flush=True)
server.serve_forever()
"""
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "nothing": {},
    "JSON logs": {"log_format": "json"},
    "Prometheus": {"prometheus": True},
    "OTLP": {"otlp": True},
    "all": {"log_format": "json", "prometheus": True, "otlp": True},
}


@contextmanager
def collector() -> Iterator[str]:
    """The address of a collector that takes everything and keeps nothing, in another process."""
    with subprocess.Popen([sys.executable, "-c", SINK], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


async def measure(
    folder: Path, endpoint: str, debates: int, write: Callable[[str], object]
) -> dict[str, list[tuple[float, float]]]:
    """Variant -> (ms of the loop's thread, ms of the process) for a call, of each debate."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
    async with AsyncExitStack() as stack:
        services: dict[str, RunService] = {}
        for name, chosen in VARIANTS.items():
            plain = settings("http://127.0.0.1:9/v1", str(folder / f"{name}.db"))
            telemetry = plain.telemetry.model_copy(update={**chosen, "endpoint": endpoint})
            one = plain.model_copy(update={"telemetry": telemetry})
            fake = FakeProvider(lambda call: Completion(reply_text(call), Usage(500, 0, 200, 0)))
            log = JsonLog(write=write) if "log_format" in chosen else None
            services[name] = await stack.enter_async_context(
                RunService.open(one, providers=Providers(one, extra={"lab": fake}), log=log)
            )
            await finished_debate(services[name].runner)
        for _ in range(debates):
            for name, service in services.items():
                thread, process = time.thread_time(), cpu()
                result = await (await finished_debate(service.runner)).result()
                await asyncio.sleep(0.05)  # what threads still have to do belongs to this debate
                calls = result.usage["calls"] / 1000
                found[name].append(((time.thread_time() - thread) / calls, (cpu() - process) / calls))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--debates", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, collector() as endpoint, open(os.devnull, "w") as sink:
        found = asyncio.run(measure(Path(name), endpoint, arguments.debates, sink.write))
    print("| seen by | event loop, ms | above nothing | process, ms | above nothing |\n|---|--:|--:|--:|--:|")
    base = [statistics.median(values) for values in zip(*found["nothing"], strict=True)]
    for variant, rows in found.items():
        loop, process = (statistics.median(values) for values in zip(*rows, strict=True))
        print(f"| {variant} | {loop:.2f} | {loop - base[0]:.2f} | {process:.2f} | {process - base[1]:.2f} |")


if __name__ == "__main__":
    main()
