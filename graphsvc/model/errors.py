"""The errors of graphsvc: each is permanent or transient, decided where it is raised.

The reasons are published in proto/graphsvc/v1/errors.proto, with their meaning; a test holds the two
lists against each other.
"""

from enum import StrEnum

from graphsvc.model.edges import ListRef


class Reason(StrEnum):
    """Published reasons, as they stand in google.rpc.ErrorInfo (errors.proto has their meanings)."""

    ID_OUT_OF_RANGE = "ID_OUT_OF_RANGE"
    ID_DORMANT_SHARD = "ID_DORMANT_SHARD"
    ID_WRONG_TYPE = "ID_WRONG_TYPE"
    SELF_FOLLOW = "SELF_FOLLOW"
    FIELD_MISSING = "FIELD_MISSING"
    LIST_EMPTY = "LIST_EMPTY"
    LIST_TOO_LONG = "LIST_TOO_LONG"
    LENGTHS_DIFFER = "LENGTHS_DIFFER"
    PAGE_SIZE_OUT_OF_RANGE = "PAGE_SIZE_OUT_OF_RANGE"
    PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID"  # noqa: S105 (a reason, not a secret)
    FRESHNESS_TOKEN_INVALID = "FRESHNESS_TOKEN_INVALID"  # noqa: S105
    TIME_OUT_OF_RANGE = "TIME_OUT_OF_RANGE"
    VALUE_UNKNOWN = "VALUE_UNKNOWN"
    FOLLOW_LIMIT = "FOLLOW_LIMIT"
    SHARD_UNAVAILABLE = "SHARD_UNAVAILABLE"
    OVERLOADED = "OVERLOADED"
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    SERVICE_STOPPING = "SERVICE_STOPPING"
    NOT_OFFERED = "NOT_OFFERED"
    INTERNAL = "INTERNAL"
    LIST_DAMAGED = "LIST_DAMAGED"


class GraphError(Exception):
    """What a call can fail with. The message is for the caller: it never names a host or a key."""

    reason: Reason = Reason.INTERNAL
    retry_after_ms = 0
    """Milliseconds after which a retry may help; 0: none does (the error is permanent)."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidArgument(GraphError):
    """The request is wrong and stays wrong. Names the field, and in its message the limit."""

    def __init__(self, field: str, reason: Reason, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.reason = reason
        self.problem = problem


class FollowLimit(GraphError):
    """The follower already follows as many users as one may."""

    reason = Reason.FOLLOW_LIMIT

    def __init__(self, limit: int) -> None:
        super().__init__(f"a user may follow at most {limit:,} users; unfollow some first")


class NotOffered(GraphError):
    """This server does not offer the call, or not with these arguments."""

    reason = Reason.NOT_OFFERED


class Internal(GraphError):
    """A fault of the service. Its log has the cause; the caller learns no more than that."""

    def __init__(self) -> None:
        super().__init__("internal error; the service's log has the rest")


class ListDamaged(GraphError):
    """What is stored of an edge list is damaged: it gives no answers and takes no writes."""

    reason = Reason.LIST_DAMAGED

    def __init__(self, list_ref: ListRef, damage: str) -> None:
        super().__init__(
            f"the {list_ref.kind} list of user {list_ref.user_id}, on shard {list_ref.shard}, is damaged: "
            f"{damage}. `graphsvc inspect {list_ref.user_id} --check` tells all that is wrong with it"
        )
        self.list = list_ref
        self.damage = damage


class TransientError(GraphError):
    """Something outside the request failed; the same request may succeed later."""

    retry_after_ms = 100


class ShardUnavailable(TransientError):
    """The instance that serves the shard does not answer, or has no primary."""

    reason = Reason.SHARD_UNAVAILABLE
    retry_after_ms = 500


class ConnectionLost(ShardUnavailable):
    """A connection to the instance broke before the answer: another attempt may get through at once."""


class Stopping(TransientError):
    """The service is about to end; another, or the next, will answer."""

    reason = Reason.SERVICE_STOPPING
    retry_after_ms = 1_000


class Overloaded(TransientError):
    """Too many calls already wait for the instance. Others are not affected."""

    reason = Reason.OVERLOADED


class DeadlineExceeded(TransientError):
    """Not answered in time. A write may or may not have happened; repeating it is safe."""

    reason = Reason.DEADLINE_EXCEEDED
