"""A model behind OpenAI's Responses API that says what a test lets it say: Codex speaks no other API."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["ResponsesHost", "called", "responses_host", "said"]


@dataclass
class ResponsesHost:
    """replies: the items of the replies, in order; the last one is repeated. log: the bodies received."""

    replies: Sequence[dict[str, Any]]
    log: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def next(self, body: dict[str, Any]) -> dict[str, Any]:
        self.log.append(body)
        return self.replies[min(len(self.log), len(self.replies)) - 1]


def said(text: str) -> dict[str, Any]:
    """The item of a message."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}


def called(name: str, arguments: dict[str, object], number: int, **more: str) -> dict[str, Any]:
    """The item of a call of a tool."""
    named = {"name": name, "arguments": json.dumps(arguments), **more}
    return {
        "type": "function_call",
        "id": f"f{number}",
        "call_id": f"c{number}",
        "status": "completed",
        **named,
    }


@contextmanager
def responses_host(*replies: dict[str, Any]) -> Iterator[ResponsesHost]:
    """Serve the replies on a free port."""
    host = ResponsesHost(replies)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            item = host.next(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
            events: list[dict[str, Any]] = [
                {"type": "response.created", "response": {"id": "r"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {"id": "r", "usage": usage}},
            ]
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
