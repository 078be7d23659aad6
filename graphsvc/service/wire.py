"""Wire types: between the messages of graphsvc.v1 and the values of the model."""

from collections.abc import Mapping

from graphsvc.graph.queries import ListedPage
from graphsvc.model.edges import Order
from graphsvc.model.errors import GraphError, InvalidArgument, NotOffered, Reason
from graphsvc.model.list_inspection import ListInspection
from graphsvc.service.status import code_number, code_of
from graphsvc.v1 import admin_service_pb2 as admin_pb
from graphsvc.v1 import edges_pb2
from graphsvc.v1 import follower_graph_service_pb2 as pb

_ORDERS: Mapping[int, Order] = {
    edges_pb2.ORDER_UNSPECIFIED: Order.NEWEST_FIRST,
    edges_pb2.ORDER_NEWEST_FIRST: Order.NEWEST_FIRST,
    edges_pb2.ORDER_OLDEST_FIRST: Order.OLDEST_FIRST,
}


def order_of(value: int) -> Order:
    """The order a page is asked in.

    Raises:
        InvalidArgument: a value that this API does not have.
    """
    if value not in _ORDERS:
        raise InvalidArgument(
            "order", Reason.VALUE_UNKNOWN, f"{value} is not an Order; use 0 (newest first), 1 or 2"
        )
    return _ORDERS[value]


def page_to_wire(page: ListedPage) -> pb.ListEdgesResponse:
    """A page as columns."""
    return pb.ListEdgesResponse(
        ids=page.ids, followed_at_us=page.times_us, next_page_token=page.next_page_token, total_size=page.size
    )


def reason_to_wire(followed_at_us: int) -> edges_pb2.FollowReason.ValueType:
    """Why a user does or does not follow a user."""
    return edges_pb2.FOLLOW_REASON_EXPLICIT if followed_at_us else edges_pb2.FOLLOW_REASON_UNSPECIFIED


def inspection_to_wire(inspection: ListInspection) -> admin_pb.ListInspection:
    """How a list is stored."""
    return admin_pb.ListInspection(
        list=inspection.list.kind,
        form=inspection.form,
        size=inspection.size,
        blocks=inspection.blocks,
        bytes=inspection.bytes,
        first_us=inspection.first_us,
        last_us=inspection.last_us,
        keys=[admin_pb.StoredKey(**key._asdict()) for key in inspection.keys],
        checked=inspection.checked,
        problems=inspection.problems,
        unchecked=inspection.unchecked,
    )


def errors_to_wire(errors: Mapping[int, GraphError]) -> list[edges_pb2.ItemError]:
    """Errors of items, by position."""
    return [
        edges_pb2.ItemError(
            index=index,
            code=code_number(code_of(error)),
            reason=error.reason,
            retry_after_ms=error.retry_after_ms,
            message=error.message,
        )
        for index, error in sorted(errors.items())
    ]


def refuse_boards(*, named: bool) -> None:
    """Boards are not offered yet.

    Raises:
        NotOffered: a request names some.
    """
    if named:
        raise NotOffered("boards are not offered yet; ask about users")
