"""What a server tells Prometheus, by HTTP on a port of its own. The one importer of prometheus-client.

Most figures are there already, in whoever counts them: they are read when somebody asks. What is measured here is how late the event loop
wakes up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final
from wsgiref.simple_server import WSGIServer

import trio
from prometheus_client import CollectorRegistry, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from server.runtime.figures import Figure

LOOK_S: Final = 0.1
"""Seconds between two looks at how late the event loop is."""

ENDING_S: Final = 5.0

LATENCIES: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    def __init__(self, figures: Sequence[Figure]) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Figures(figures))
        self._lag = Histogram("carpet_loop_lag_seconds", "How late the event loop wakes up.", buckets=LATENCIES, registry=self.registry)

    async def watch_loop(self) -> None:
        """Until cancelled."""
        while True:
            due = trio.current_time() + LOOK_S
            await trio.sleep_until(due)
            self._lag.observe(max(trio.current_time() - due, 0.0))

    def serve(self, host: str, port: int) -> AbstractContextManager[int]:
        """Answer at this address inside the context; gives the port, chosen where it is 0. Raises OSError at once where that cannot be."""
        server, thread = start_http_server(port, host, registry=self.registry)
        return _served(server, thread)


@contextmanager
def _served(server: WSGIServer, thread: threading.Thread) -> Iterator[int]:
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=ENDING_S)


class _Figures(Collector):
    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        for figure in self._figures:
            family = GaugeMetricFamily if figure.kind == "gauge" else CounterMetricFamily
            yield family(f"carpet_{figure.name}", figure.what, value=figure.read())
