"""The gRPC service: handlers of a few lines, one place each for wire types, error codes and the boundary."""
