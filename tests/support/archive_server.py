"""A stand-in for the part of a forge that serves source archives, on a port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class ArchiveServer:
    """`answers` maps a path to bytes, to a number (a status), or to a text (where it redirects to)."""

    answers: dict[str, bytes | int | str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    promise: int | None = None
    url: str = ""

    @contextmanager
    def running(self) -> Iterator[ArchiveServer]:
        """Serve; the address is `url`."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                answer = outer.answers.get(self.path, 404)
                if isinstance(answer, bytes):
                    self.send_response(200)
                    self.send_header("Content-Length", str(outer.promise or len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                    return
                self.send_response(302 if isinstance(answer, str) else answer)
                if isinstance(answer, str):
                    self.send_header("Location", answer)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
