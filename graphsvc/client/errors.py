"""What a call to the service can fail with. Knows no gRPC, so that it costs nothing to import."""

TRANSIENT_CODES = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"})


class CallError(Exception):
    """A call failed.

    Attributes:
        code: the gRPC status, "INVALID_ARGUMENT" say.
        message: for people, one line.
        reason: a published reason (errors.proto); empty where the service did not answer itself.
        field: the field at fault; empty where none is.
        retry_after_s: seconds after which the service says a retry may help; None: it says nothing.
        target: the service that was called, HOST:PORT.
    """

    def __init__(
        self,
        code: str,
        message: str,
        reason: str = "",
        field: str = "",
        retry_after_s: float | None = None,
        target: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason
        self.field = field
        self.retry_after_s = retry_after_s
        self.target = target

    @property
    def transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code in TRANSIENT_CODES

    @property
    def unreachable(self) -> bool:
        """Whether no service answered at all."""
        return self.code == "UNAVAILABLE" and not self.reason
