"""Generated from proto/graphsvc/v1 by ops/bin/proto; nothing here is written by hand."""
