"""Outside systems, each behind a small Protocol in this folder; one sub-package a driver."""
