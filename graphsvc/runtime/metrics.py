"""Prometheus metrics: by method and instance, never by user."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from graphsvc import __version__

_POLL_S = 0.05
"""How soon a server that is told to stop notices."""

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """The metrics of one process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.calls = Counter("graphsvc_calls", "Calls answered.", ["method", "code"], registry=self.registry)
        self.call_seconds = Histogram(
            "graphsvc_call_seconds", "Time from request to answer.", ["method"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.redis_commands = Counter(
            "graphsvc_redis_commands", "Commands sent to an instance.", ["instance", "command"],
            registry=self.registry,
        )  # fmt: skip
        self.redis_seconds = Histogram(
            "graphsvc_redis_round_trip_seconds", "Time of one batch of commands, waiting included.",
            ["instance"], buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self.redis_failures = Counter(
            "graphsvc_redis_failures", "Batches that failed, by the reason callers get.",
            ["instance", "reason"], registry=self.registry,
        )  # fmt: skip
        self.inverse_pending = Counter(
            "graphsvc_inverse_pending", "Writes acknowledged before their other side showed them.",
            ["instance"], registry=self.registry,
        )  # fmt: skip
        self.imported_edges = Counter(
            "graphsvc_imported_edges", "Edges of BatchImportEdges.", ["result"], registry=self.registry
        )
        self.map_version = Gauge("graphsvc_map_version", "Version of the map in use.", registry=self.registry)
        Gauge("graphsvc_build_info", "Constant 1.", ["version"], registry=self.registry).labels(
            __version__
        ).set(1)

    @contextmanager
    def serve(self, host: str, port: int) -> Iterator[int]:
        """Serve /metrics on this address while the context is open; gives the port in use.

        Raises:
            OSError: the port is taken.
        """
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        server_class: type[ThreadingWSGIServer] = type(
            "MetricsServer", (ThreadingWSGIServer,), {"address_family": family}
        )
        server = make_server(host, port, make_wsgi_app(self.registry), server_class, _QuietHandler)
        thread = Thread(target=server.serve_forever, args=(_POLL_S,), name="metrics", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Scrapes are no news."""
