"""The small client that the command line stands on: a connection, readable errors, retries in one place."""
