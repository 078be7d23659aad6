"""Files of edges as columns of numbers: bytes, layout, rows. No service."""
