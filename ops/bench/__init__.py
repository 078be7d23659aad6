"""Benchmarks. `ops/bin/bench NAME` runs one: progress on standard error, one JSON object as the last line."""
