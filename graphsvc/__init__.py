"""A follower-graph service: the whole graph in Redis memory, answered over gRPC."""

__version__ = "0.1.0"
