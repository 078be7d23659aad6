"""The data plane: routing, follow rules, queries. Knows the Protocols of the backends, never a driver."""
