"""What a server tells Prometheus, by HTTP on a port of its own. The one importer of prometheus-client.

Most figures are there already, in whoever counts them: they are read when somebody asks. What is measured here is how late the event loop
wakes up.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate
from typing import Final, assert_never
from wsgiref.simple_server import WSGIServer

import trio
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from server.runtime.figures import BOUNDS, AnyFigure, DurationFigure, Durations, Figure, FigureBy

LOOK_S: Final = 0.1
"""Seconds between two looks at how late the event loop is."""

ENDING_S: Final = 5.0


class Metrics:
    def __init__(self, figures: Sequence[AnyFigure]) -> None:
        self.registry = CollectorRegistry()
        self._lag = Durations()
        self.registry.register(_Figures([*figures, DurationFigure("loop_lag_seconds", "How late the event loop wakes up.", self._lag)]))

    async def watch_loop(self) -> None:
        """Until cancelled."""
        while True:
            due = trio.current_time() + LOOK_S
            await trio.sleep_until(due)
            self._lag.add(max(trio.current_time() - due, 0.0))

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
    def __init__(self, figures: Sequence[AnyFigure]) -> None:
        self._figures = figures

    def collect(self) -> Iterable[Metric]:
        return map(_family, self._figures)


def _family(figure: AnyFigure) -> Metric:
    name = f"carpet_{figure.name}"
    match figure:
        case DurationFigure():
            *counts, last = figure.durations.counts
            below = list(accumulate(counts))
            buckets = [(str(bound), count) for bound, count in zip(BOUNDS, below, strict=True)]
            return HistogramMetricFamily(name, figure.what, [*buckets, ("+Inf", below[-1] + last)], figure.durations.sum_s)
        case Figure():
            family = GaugeMetricFamily if figure.kind == "gauge" else CounterMetricFamily
            return family(name, figure.what, value=figure.read())
        case FigureBy():
            labelled = (GaugeMetricFamily if figure.kind == "gauge" else CounterMetricFamily)(name, figure.what, labels=[figure.by])
            # A copy in one step: meanwhile the event loop may count on.
            for label, value in dict(figure.read()).items():
                labelled.add_metric([label], value)
            return labelled
    assert_never(figure)
