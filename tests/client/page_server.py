"""A web server that answers what a test tells it to, on a port of its own: genuine pages and hostile ones."""

from __future__ import annotations

import contextlib
import io
import socketserver
import threading
from collections.abc import Callable, Iterator

Script = Callable[[str], bytes]
"""Maps the target of a request to all bytes of the answer."""


class PageServer:
    """script: the answer, as bytes or as a function of the requested target. asked: the targets so far."""

    def __init__(self, port: int) -> None:
        self.url = f"ws://127.0.0.1:{port}"
        self.asked: list[str] = []
        self.requests: list[str] = []
        self.script: Script = lambda target: page(b"{}")

    def says(self, answer: bytes) -> None:
        self.script = lambda target: answer


def page(body: bytes, *, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}Connection: close\r\n\r\n".encode() + body


def problem(status: str, sentence: str) -> bytes:
    import msgspec

    return page(msgspec.json.encode({"error": sentence}), status=status)


@contextlib.contextmanager
def serving_pages() -> Iterator[PageServer]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            assert isinstance(self.rfile, io.BufferedReader)
            if self.rfile.peek(1)[:1] == b"\x16":
                # The beginning of a TLS handshake, which a plain server cannot read.
                self.wfile.write(page(b"", status="400 Bad Request"))
                return
            head = b""
            while not head.endswith(b"\r\n\r\n") and (line := self.rfile.readline()):
                head += line
            target = head.split(b" ")[1].decode()
            told.requests.append(head.decode())
            told.asked.append(target)
            # The client may have gone before the end.
            with contextlib.suppress(OSError):
                self.wfile.write(told.script(target))

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        # A handler that keeps silent on purpose ends when its peer does.
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        told = PageServer(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
