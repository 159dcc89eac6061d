"""The process that one embedded model lives in: llama.cpp behind two pipes. Imports nothing of pnyx.

Started by the provider as `python worker.py GGUF CONTEXT SLOTS THREADS`. Lines of JSON:

    in   {"id": 1, "request": {…}}      generate; the request is an OpenAI chat request
         {"id": 1, "stop": true}        stop generating
    out  {"ready": true} | {"failed": "why"}
         {"id": 1, "chunk": {…}}        a streamed chunk, as the engine gives it
         {"id": 1, "refused": "why"}    the engine does not take the request
         {"id": 1, "done": true}        the slot is free again

It ends when its input does, however its parent ended.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

BATCH = 64
"""Prompt tokens between two looks at whether the call is still wanted; more are no faster on few cores."""
CACHE_MIB = 256
"""Memory for beginnings of prompts that have left their slot."""
QUIET = -1

Say: TypeAlias = Callable[[dict[str, Any]], None]


def main(path: str, context: int, slots: int, threads: int) -> None:
    say = _voice()
    try:
        engine = load(path, context, slots, threads)
    except ImportError as exc:
        say({"failed": f"xllamacpp cannot be imported ({exc}); it needs the system's libgomp and libstdc++"})
        return
    except RuntimeError:
        say({"failed": "it is damaged, of a kind this llama.cpp does not know, or too large for the memory"})
        return
    say({"ready": True})
    serve(engine, slots, say)
    # Not by returning: what still generates is wanted by nobody, and Python would wait for it.
    os._exit(0)


def load(path: str, context: int, slots: int, threads: int) -> Any:
    """The engine. Raises `RuntimeError` without a reason when the file cannot be loaded."""
    import xllamacpp  # type: ignore[import-untyped]  # after the pipes are safe; it ships no types

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = "embedded"
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = CACHE_MIB
    # A context quietly made smaller to fit the memory would break what the catalogue says of the model.
    params.fit_params = False
    params.verbosity = QUIET
    # The engine insists on listening. Nobody knows the key, and the socket is gone once it is ready.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = False
    params.n_threads_http = 1
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        door = f"{folder}/engine.sock"
        # Systems cut the path of a socket at about 100 bytes; without one it listens on a loopback port.
        if os.name == "posix" and len(os.fsencode(door)) < 100:
            params.hostnames = [door]
        return xllamacpp.Server(params)


def serve(engine: Any, slots: int, say: Say) -> None:
    """Generate for as many requests at a time as there are slots, in their order, until input ends."""
    pool = ThreadPoolExecutor(slots)
    unwanted: dict[int, threading.Event] = {}

    def run(id: int, request: dict[str, Any], stop: threading.Event) -> None:
        def arrived(chunk: Any) -> bool:
            say({"id": id, "chunk": chunk})
            # True stops the engine, and so would any other true value.
            return stop.is_set()

        try:
            if not stop.is_set():
                engine.handle_chat_completions(request, arrived)
        except (ValueError, RuntimeError) as exc:
            say({"id": id, "refused": str(exc)})
        del unwanted[id]
        say({"id": id, "done": True})

    for line in sys.stdin.buffer:
        message = json.loads(line)
        id = message["id"]
        if "request" in message:
            unwanted[id] = threading.Event()
            pool.submit(run, id, message["request"], unwanted[id])
        elif stop := unwanted.get(id):
            stop.set()


def _voice() -> Say:
    """What speaks to the parent, alone: whatever else is printed in this process goes nowhere."""
    pipe = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    lock = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        with lock:
            try:
                pipe.write(json.dumps(message).encode() + b"\n")
                pipe.flush()
            except BrokenPipeError:
                os._exit(0)

    return say


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
