"""How long a first visit takes on a slow line: `python -m tests.bench.first_visit [--round-trip MS] [--visits N]` from the top of the tree.

A Chromium with an empty cache opens a page through a proxy, which delays everything by half a round trip each way, and the first piece of
each connection by a whole one more, like a handshake. `/` lists a running race and an open one; `/watch/CODE` is the running one,
`/play/CODE` the open one. For each page it prints the time from the address to the first bars (`/play/CODE`: to the rules of the race), as
the median in milliseconds and in round trips; and requests, connections and bytes from the server.
"""

from __future__ import annotations

import argparse
import socket
import statistics
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.e2e.browser import Browser, open_browser
from tests.e2e.commands import serving
from tests.e2e.peer import sitting

WATCHED = """
    const look = () => {
        const found = document.querySelector(SELECTOR);
        if (found && found.getBoundingClientRect().height > 0) window.firstAt ??= performance.now();
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
"""


class SlowLine:
    """A proxy for one server. round_trip_s: the round trip that it adds."""

    def __init__(self, port: int, round_trip_s: float) -> None:
        self._target = port
        self._half_s = round_trip_s / 2
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.connections = self.requests = self.received = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listening.accept()
            self.connections += 1
            far = socket.create_connection(("127.0.0.1", self._target))
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened = time.monotonic() + 2 * self._half_s
            self._forward(near, far, opened, upwards=True)
            self._forward(far, near, opened, upwards=False)

    def _forward(self, source: socket.socket, target: socket.socket, opened: float, *, upwards: bool) -> None:
        pieces: deque[tuple[float, bytes]] = deque()
        some = threading.Semaphore(0)

        def read() -> None:
            data = b"-"
            while data:
                data = b""
                with suppress(OSError):
                    data = source.recv(65_536)
                if upwards:
                    self.requests += data.count(b" HTTP/1.1\r\n")
                else:
                    self.received += len(data)
                pieces.append((max(time.monotonic(), opened) + self._half_s, data))
                some.release()

        def write() -> None:
            while some.acquire():
                due, data = pieces.popleft()
                time.sleep(max(due - time.monotonic(), 0))
                with suppress(OSError):
                    if data:
                        target.sendall(data)
                        continue
                    target.shutdown(socket.SHUT_WR)
                return

        for work in (read, write):
            threading.Thread(target=work, daemon=True).start()


@contextmanager
def watching_for(browser: Browser, selector: str) -> Iterator[None]:
    """Make every new document note when this element is visible."""
    script = WATCHED.replace("SELECTOR", repr(selector))
    made = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    try:
        yield
    finally:
        browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", made)


def visit(port: int, path: str, selector: str, round_trip_s: float) -> tuple[float, SlowLine]:
    """The milliseconds until the element is visible, and the proxy."""
    line = SlowLine(port, round_trip_s)
    with open_browser() as browser:
        browser.open("about:blank")
        with watching_for(browser, selector):
            browser.open(f"http://127.0.0.1:{line.port}{path}")
            browser.wait(lambda now: now.run("return window.firstAt"), f"{selector} at {path}")
            # Requests after that moment count as well.
            time.sleep(1)
            return float(browser.driver.execute_script("return window.firstAt")), line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--round-trip", type=float, default=150, metavar="MS")
    parser.add_argument("--visits", type=int, default=3)
    options = parser.parse_args()
    with (
        serving(rate=1000, burst=1000) as url,
        sitting(url, "Ada", countdown_s=1) as ada,
        sitting(url, "Zoë", code=ada.code) as zoe,
        sitting(url, "Grace") as grace,
    ):
        for player in (ada, zoe):
            player.ready()
        for player in (ada, zoe):
            player.start()
        port = int(url.rpartition(":")[2])
        print(f"{'page':14}{'ms':>7}{'round trips':>13}{'requests':>10}{'connections':>13}{'bytes':>9}")
        for name, path, selector in (
            ("/", "/", ".races .bar"),
            ("/watch/CODE", f"/watch/{ada.code}", ".bars .bar"),
            ("/play/CODE", f"/play/{grace.code}", ".explained"),
        ):
            visits = [visit(port, path, selector, options.round_trip / 1000) for _ in range(options.visits)]
            ms = statistics.median(each[0] for each in visits)
            _, line = visits[-1]
            print(f"{name:14}{ms:7.0f}{ms / options.round_trip:13.1f}{line.requests:10}{line.connections:13}{line.received:9}", flush=True)


if __name__ == "__main__":
    main()
