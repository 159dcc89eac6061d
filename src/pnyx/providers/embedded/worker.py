"""The process of one embedded model: llama.cpp behind two pipes. Imports nothing of pnyx.

Started by the provider as `python worker.py GGUF CONTEXT SLOTS THREADS`. Lines of JSON:

    in   {"id": 1, "request": {…}}      generate; the request is an OpenAI chat request
         {"id": 1, "stop": true}        stop generating
    out  {"ready": true} | {"failed": "reason"}
         {"id": 1, "chunk": {…}}        a streamed chunk of the engine
         {"id": 1, "refused": "reason"} the engine refuses the request
         {"id": 1, "done": true}        the slot is free again

It ends when its input ends, however its parent does.
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
"""Prompt tokens between two checks for a cancelled call; more are no faster on few cores."""
CACHE_MIB = 256
"""Memory for cached prompts that are no longer in a slot."""
QUIET = -1

Send: TypeAlias = Callable[[dict[str, Any]], None]


def main(path: str, context: int, slots: int, threads: int) -> None:
    send = _open_output()
    try:
        engine = load(path, context, slots, threads)
    except ImportError as exc:
        send({"failed": f"xllamacpp cannot be imported ({exc}); it needs the system's libgomp and libstdc++"})
        return
    except RuntimeError:
        send({"failed": "it is damaged, of a type unknown to this llama.cpp, or too large for the memory"})
        return
    send({"ready": True})
    serve(engine, slots, send)
    # Not by returning: Python would wait for the threads that still generate.
    os._exit(0)


def load(path: str, context: int, slots: int, threads: int) -> Any:
    """Return the engine. Raises `RuntimeError` without a reason if the file cannot be loaded."""
    import xllamacpp  # type: ignore[import-untyped]  # after the pipes are set up; it has no types

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.model_alias = "embedded"
    params.n_parallel = slots
    params.n_ctx = slots * context
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = CACHE_MIB
    # A context that is silently reduced to fit the memory would contradict the catalogue.
    params.fit_params = False
    params.verbosity = QUIET
    # The engine always listens. No one knows the key, and the socket is removed once it is ready.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = params.endpoint_slots = False
    params.n_threads_http = 1
    with tempfile.TemporaryDirectory(prefix="pnyx-") as folder:
        socket_path = f"{folder}/engine.sock"
        # The path of a socket has about 100 bytes at most; without one it listens on a loopback port.
        if os.name == "posix" and len(os.fsencode(socket_path)) < 100:
            params.hostnames = [socket_path]
        return xllamacpp.Server(params)


def serve(engine: Any, slots: int, send: Send) -> None:
    """Generate for as many requests at once as there are slots, in their order, until the input ends."""
    pool = ThreadPoolExecutor(slots)
    stops: dict[int, threading.Event] = {}

    def run(id: int, request: dict[str, Any], stop: threading.Event) -> None:
        def on_chunk(chunk: Any) -> bool:
            send({"id": id, "chunk": chunk})
            # True stops the engine, and so would any other true value.
            return stop.is_set()

        try:
            if not stop.is_set():
                engine.handle_chat_completions(request, on_chunk)
        except (ValueError, RuntimeError) as exc:
            send({"id": id, "refused": str(exc)})
        del stops[id]
        send({"id": id, "done": True})

    for line in sys.stdin.buffer:
        message = json.loads(line)
        id = message["id"]
        if "request" in message:
            stops[id] = threading.Event()
            pool.submit(run, id, message["request"], stops[id])
        elif stop := stops.get(id):
            stop.set()


def _open_output() -> Send:
    """Return the function that writes to the parent; all other output of this process is discarded."""
    pipe = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    lock = threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            try:
                pipe.write(json.dumps(message).encode() + b"\n")
                pipe.flush()
            except BrokenPipeError:
                os._exit(0)

    return send


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
