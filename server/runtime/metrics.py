"""A server's metrics for Prometheus, by HTTP on a port of their own. The one importer of prometheus-client.

Most figures are counted elsewhere, and read when Prometheus asks. Only the lag of the event loop is measured here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Final, assert_never

import trio
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from server.runtime.figures import BOUNDS, AnyFigure, DurationFigure, Durations, Figure, FigureBy

LAG_LOOK_S: Final = 0.1
"""Seconds between two measurements of the event loop's lag."""

ENDING_S: Final = 5.0


@contextmanager
def metrics_served(nursery: trio.Nursery, figures: Sequence[AnyFigure], host: str, port: int) -> Iterator[int]:
    """Serve at this address inside the context, which yields the port (a free one for 0). Raises OSError at once if it cannot.

    host: `*` for all of IPv4 and IPv6.
    """
    if host == "*" and socket.has_dualstack_ipv6():
        # Prometheus's own server takes * for all of IPv4 alone.
        host = "::"
    lag, registry = Durations(), CollectorRegistry()
    registry.register(_Figures([*figures, DurationFigure("loop_lag_seconds", "How late the event loop wakes up.", lag)]))
    server, thread = start_http_server(port, host, registry=registry)
    nursery.start_soon(_watch_loop, lag)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=ENDING_S)


async def _watch_loop(lag: Durations) -> None:
    while True:
        due = trio.current_time() + LAG_LOOK_S
        await trio.sleep_until(due)
        lag.add(max(trio.current_time() - due, 0.0))


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
            # Copied in one step, since the event loop may go on counting meanwhile.
            for label, value in dict(figure.read()).items():
                labelled.add_metric([label], value)
            return labelled
    assert_never(figure)
