"""Models that run on this machine: llama.cpp, through xllamacpp, on GGUF files. No key, no network, no price.

Each model has a process of its own (`worker.py`): the library holds Python's lock while it loads, which
would stop the event loop for seconds, and a crash in it would end the whole program.

The models get no tools: those that fit here write tool calls too badly, so `Call.tools` is ignored.

The same seed returns the same text while the engine is in the same state. A prompt whose start is cached, or
another call in the same batch, is rounded differently, and sampling may then differ.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from ...config.paths import models_dir
from ...core.models import Usage
from ...errors import NotFound, ProviderError
from ..base import Call, Completion
from . import wire
from .bubblewrap import confined, model_files
from .weights import find
from .weights_table import KNOWN

__all__ = ["CONTEXT", "SLOTS", "EmbeddedProvider", "open_embedded"]

SLOTS = 2
"""Generations at once in one model; on 2 cores, two at once take 0.7 of the time of two in turn."""
CONTEXT = 8192
"""Tokens per slot, prompt and reply together, for a file that is not in the table."""
WORKER = Path(__file__).with_name("worker.py")


def open_embedded(models_dir: Path | None = None, **options: int | None) -> EmbeddedProvider:
    """A provider for the models in `models_dir` and any GGUF file by its path; options as for the class."""
    return EmbeddedProvider(models_dir, **options)


class EmbeddedProvider:
    """One engine per model file, started by its first call. Belongs to one event loop.

    directory: default, `paths.models_dir()`. context: tokens per slot; default, the model's. slots:
    generations at once in one model. threads: per model; default, the cores this process may use.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        context: int | None = None,
        slots: int | None = None,
        threads: int | None = None,
    ) -> None:
        self._directory = directory or models_dir()
        self._context = context
        self._slots = slots or SLOTS
        self._threads = threads or available_cores()
        self._engines: dict[Path, _Engine] = {}

    async def complete(self, call: Call, on_text: Callable[[str], None] | None = None) -> Completion:
        """Return one reply. A cancelled call stops generating within one batch of its prompt or one token.

        Raises `ProviderError`: not_found (no such file), unavailable (cannot be loaded, or the provider was
        closed), too_long (the prompt does not fit), refused (the engine does not accept the request),
        unreachable (the engine crashed; the next call starts another).
        """
        engine = await self._engine(call.model)
        stream = _Stream(on_text, has_schema=call.schema is not None)
        number = engine.start(wire.build_request(call), stream)
        try:
            await stream.done
        finally:
            engine.stop(number)
        return stream.completion(call.model)

    def context(self, model: str) -> int:
        """Tokens that one call to `model` may hold, prompt and reply together."""
        if self._context:
            return self._context
        return KNOWN[model].context if model in KNOWN else CONTEXT

    async def close(self) -> None:
        """End the engines with their calls. A later call starts its engine again."""
        engines, self._engines = self._engines, {}
        await asyncio.gather(*(engine.close() for engine in engines.values()))

    async def _engine(self, model: str) -> _Engine:
        try:
            path = find(model, self._directory)
        except NotFound as exc:
            raise ProviderError("not_found", str(exc)) from exc
        await asyncio.to_thread(confined, ())  # its first call starts a process
        engine = self._engines.get(path)
        if engine is None or engine.is_over:
            engine = self._engines[path] = _Engine(path, self.context(model), self._slots, self._threads)
        # Other calls may wait for it too, so a cancelled call only stops waiting.
        if failure := await asyncio.shield(engine.ready):
            raise ProviderError("unavailable", failure)
        return engine


def _environment() -> dict[str, str]:
    """What the engine needs of the environment. A native library that parses files gets no API key."""
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in NEEDED or name.startswith(NEEDED_PREFIXES)
    }


NEEDED = {
    *("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "SYSTEMROOT", "VIRTUAL_ENV"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME"),
}
NEEDED_PREFIXES = ("OMP_", "GOMP_", "KMP_", "GGML_", "LLAMA_", "CUDA_", "HIP_", "ROCR_", "VK_", "MALLOC_")
"""Search paths, and the settings of the libraries that compute."""


class _Engine:
    """The process of one model. Its state changes on the event loop only; two threads pass the lines.

    ready: done when the model is loaded, with "" or why it cannot be. is_over: it accepts no more calls.
    """

    def __init__(self, path: Path, context: int, slots: int, threads: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[str] = self._loop.create_future()
        self.is_over = False
        self._path = path
        self._closed = False
        self._streams: dict[int, _Stream] = {}
        self._numbers = itertools.count(1)
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        # -P: imports must not find the modules in the folder of the worker, which have common names.
        command = (sys.executable, "-P", str(WORKER), str(path), *map(str, (context, slots, threads)))
        self._process = subprocess.Popen(
            confined(command, (WORKER, *model_files(path))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Threads that spin while they wait make everything 10 to 100 times slower when a core is busy.
            env={"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "500"} | _environment(),
            # This process handles a Ctrl-C in the terminal.
            start_new_session=True,
        )
        for pass_lines in (self._write_lines, self._read_lines):
            threading.Thread(target=pass_lines, name=f"pnyx {path.stem}", daemon=True).start()

    def start(self, request: Mapping[str, Any], stream: _Stream) -> int:
        """Generate a reply into `stream` when a slot is free. Returns the number that `stop` takes."""
        number = next(self._numbers)
        self._streams[number] = stream
        self._send({"id": number, "request": request})
        if self.is_over:
            self._end_all()
        return number

    def stop(self, number: int) -> None:
        """Stop generating a reply, if it is not complete."""
        if self._streams.pop(number, None):
            self._send({"id": number, "stop": True})

    async def close(self) -> None:
        self._closed = True
        self._process.kill()
        await asyncio.to_thread(self._process.wait)
        self._end()

    def _receive(self, message: Mapping[str, Any]) -> None:
        if "id" in message:
            stream = self._streams.get(message["id"])
            if stream and stream.receive(message):
                del self._streams[message["id"]]
        elif not self.ready.done():
            failed = message.get("failed")
            self.is_over = bool(failed)
            self.ready.set_result(f"{self._path} cannot be loaded: {failed}" if failed else "")

    def _end(self) -> None:
        self.is_over = True
        if not self.ready.done():
            self.ready.set_result(f"{self._path} cannot be loaded: {self._end_reason()}")
        self._end_all()

    def _end_all(self) -> None:
        for stream in self._streams.values():
            kind = "unavailable" if self._closed else "unreachable"
            stream.end(ProviderError(kind, self._end_reason()))
        self._streams.clear()

    def _end_reason(self) -> str:
        if self._closed:
            return "the embedded provider was closed"
        return f"the embedded engine crashed (exit {self._process.returncode})"

    def _send(self, message: Mapping[str, Any]) -> None:
        self._outbox.put(json.dumps(message).encode() + b"\n")

    def _write_lines(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        # Closing a pipe writes what is left in it, and its reader may be gone.
        with suppress(OSError), pipe:
            while line := self._outbox.get():
                pipe.write(line)
                pipe.flush()

    def _read_lines(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None
        # The loop may be closed before, with no one waiting; a killed engine leaves half a line.
        with suppress(RuntimeError, ValueError), pipe:
            for line in pipe:
                self._loop.call_soon_threadsafe(self._receive, json.loads(line))
        self._outbox.put(None)
        self._process.wait()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end)


class _Stream:
    """The part of one reply that has arrived. done: when it is complete. has_schema: a schema ends it."""

    def __init__(self, on_text: Callable[[str], None] | None, has_schema: bool) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_text = on_text
        self._has_schema = has_schema
        self._error: ProviderError | None = None
        self._text = self._reasoning = ""
        self._finish = ""
        self._usage: Usage | None = None

    def receive(self, message: Mapping[str, Any]) -> bool:
        """Add a message of the engine about this reply. Returns whether it is the last one."""
        if chunk := message.get("chunk"):
            self._add(chunk)
        elif reason := message.get("refused"):
            self._error = ProviderError("refused", f"the embedded engine refuses the request: {reason}")
        else:
            self.end()
        return "done" in message

    def end(self, error: ProviderError | None = None) -> None:
        self._error = self._error or error
        if not self.done.done():
            self.done.set_result(None)

    def completion(self, model: str) -> Completion:
        if self._error:
            raise self._error
        if not self._finish:
            raise ProviderError("truncated", "the embedded engine stopped before the end of the reply")
        finish: Literal["stop", "length"] = "length" if self._finish == "length" else "stop"
        return Completion(self._text, self._usage, finish, model=model, reasoning=self._reasoning)

    def _add(self, chunk: Mapping[str, Any]) -> None:
        if self.done.done():
            return
        if "error" in chunk:
            self._error = wire.read_error(chunk["error"])
        self._usage = wire.read_usage(chunk) or self._usage
        for choice in chunk.get("choices", ()):
            if thought := choice["delta"].get("reasoning_content"):
                self._reasoning += thought
                if end := wire.loop_start(self._reasoning):
                    self._reasoning, self._finish = self._reasoning[:end], "length"
                    self.end()
            if text := choice["delta"].get("content"):
                self._add_text(text)
            self._finish = self._finish or choice["finish_reason"] or ""

    def _add_text(self, text: str) -> None:
        self._text += text
        if self._on_text:
            self._on_text(text)
        if not self._has_schema and (end := wire.loop_start(self._text)):
            # A small model that repeats itself does so until its tokens are used up.
            self._text, self._finish = self._text[:end], "length"
            self.end()


def available_cores() -> int:
    """Cores that this process may use, by its affinity and the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(cores, round(int(quota) / int(period))))
    except (OSError, ValueError):
        return cores
