"""A server's metrics for Prometheus, by HTTP on a port of their own. The one importer of prometheus-client.

Most figures are counted elsewhere, and read when Prometheus asks. Only the lag of the event loop is measured here.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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

    host: `*` for all of IPv4, and of IPv6 too unless the system keeps sockets of IPv6 to it alone.
    """
    if host == "*" and _both_by_ipv6():
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


def _both_by_ipv6() -> bool:
    """Whether a socket of IPv6 takes connections by IPv4 without being told to: Prometheus's own server does not tell it."""
    with suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        return probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 0
    return False


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
