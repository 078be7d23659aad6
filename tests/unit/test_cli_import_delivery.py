"""Batches: only what may still succeed is sent again, and every refusal finds its line."""

from threading import Event

import pytest

from graphsvc.cli.edge_files.rows import Reject, Rows
from graphsvc.cli.importing.delivery import EdgeColumns, deliver
from graphsvc.client import retry
from graphsvc.client.errors import CallError
from graphsvc.v1 import edges_pb2
from graphsvc.v1.admin_service_pb2 import BatchImportEdgesRequest as Request
from graphsvc.v1.admin_service_pb2 import BatchImportEdgesResponse as Response


class Script:
    """Answers one call after the other."""

    def __init__(self, *answers: Response | CallError) -> None:
        self.answers = list(answers)
        self.asked: list[list[tuple[int, int, int]]] = []

    def __call__(self, request: Request) -> Response:
        times = request.followed_at_us or [0] * len(request.follower_ids)
        self.asked.append(list(zip(request.follower_ids, request.target_ids, times, strict=True)))
        answer = self.answers.pop(0)
        if isinstance(answer, CallError):
            raise answer
        return answer


def refused(index: int, reason: str, retry_after_ms: int = 0, message: str = "") -> edges_pb2.ItemError:
    return edges_pb2.ItemError(
        index=index, code=3, reason=reason, retry_after_ms=retry_after_ms, message=message
    )


def columns(count: int, *, timed: bool = True, mutual: bool = False) -> EdgeColumns:
    numbers = list(range(1, count + 1))
    rows = Rows(
        range(101, 101 + count),
        numbers,
        [1000 + each for each in numbers],
        [10**15 + each for each in numbers] if timed else [],
    )
    return EdgeColumns.of(rows, mutual=mutual)


PATIENT = retry.patient(60, Event())


def test_what_is_acknowledged_is_counted() -> None:
    script = Script(Response(changed=2))
    delivery = deliver(columns(3), script, str, PATIENT)
    assert (delivery.edges, delivery.changed, delivery.inverse_pending, delivery.rejects) == (3, 2, 0, [])
    assert script.asked == [[(n, 1000 + n, 10**15 + n) for n in (1, 2, 3)]]


def test_without_times_none_are_sent() -> None:
    script = Script(Response(changed=1))
    deliver(columns(1, timed=False), script, str, PATIENT)
    assert script.asked == [[(1, 1001, 0)]]


def test_a_mutual_row_is_two_edges_of_one_line() -> None:
    both = columns(2, mutual=True)
    script = Script(Response(changed=2, errors=[refused(1, "ID_WRONG_TYPE"), refused(3, "ID_WRONG_TYPE")]))
    delivery = deliver(both, script, str, PATIENT)
    assert script.asked[0] == [
        (1, 1001, 10**15 + 1),
        (2, 1002, 10**15 + 2),
        (1001, 1, 10**15 + 1),
        (1002, 2, 10**15 + 2),
    ]
    assert delivery.edges == 2
    assert delivery.rejects == [
        Reject(102, "ID_WRONG_TYPE", "refused by the service: follower 2, followee 1002")
    ]


def test_only_what_a_retry_may_help_is_sent_again() -> None:
    script = Script(
        Response(
            changed=2,
            errors=[
                refused(1, "FOLLOW_LIMIT"),
                refused(2, "OVERLOADED", 1),
                refused(4, "SHARD_UNAVAILABLE", 1),
            ],
        ),
        Response(changed=1, errors=[refused(0, "OVERLOADED", 1)]),
        Response(changed=1),
    )
    delivery = deliver(columns(5), script, str, PATIENT)
    assert [[follower for follower, *_ in asked] for asked in script.asked] == [[1, 2, 3, 4, 5], [3, 5], [3]]
    assert (delivery.edges, delivery.changed) == (4, 4)
    assert [(reject.line, reject.reason) for reject in delivery.rejects] == [(102, "FOLLOW_LIMIT")]


def test_what_one_side_does_not_show_is_sent_again_until_it_does() -> None:
    script = Script(
        Response(
            changed=2, inverse_pending=1, errors=[refused(0, "FOLLOW_LIMIT"), refused(3, "OVERLOADED", 1)]
        ),
        Response(changed=1, inverse_pending=1),
        Response(changed=0),
    )
    delivery = deliver(columns(4), script, str, PATIENT)
    assert [[follower for follower, *_ in asked] for asked in script.asked] == [
        [1, 2, 3, 4],
        [2, 3, 4],
        [2, 3, 4],
    ]
    assert (delivery.edges, delivery.changed, delivery.inverse_pending) == (3, 3, 2)
    assert [reject.line for reject in delivery.rejects] == [101]


def test_a_call_that_fails_for_a_while_is_repeated_whole() -> None:
    script = Script(
        CallError("UNAVAILABLE", "gone"), CallError("DEADLINE_EXCEEDED", "late"), Response(changed=2)
    )
    assert deliver(columns(2), script, str, PATIENT).edges == 2
    assert script.asked[0] == script.asked[1] == script.asked[2]


def test_a_call_that_is_refused_for_good_is_not_repeated() -> None:
    script = Script(CallError("UNIMPLEMENTED", "not offered", "NOT_OFFERED"))
    with pytest.raises(CallError, match="not offered"):
        deliver(columns(2), script, str, PATIENT)
    assert len(script.asked) == 1


def test_patience_ends() -> None:
    script = Script(Response(errors=[refused(0, "OVERLOADED", 1)]))
    with pytest.raises(CallError, match="1 edges are not acknowledged") as failure:
        deliver(columns(2), script, str, retry.patient(0, Event()))
    assert failure.value.transient
    assert failure.value.reason == "OVERLOADED"


def test_nothing_is_repeated_once_the_run_is_stopped() -> None:
    stopped = Event()
    stopped.set()
    script = Script(CallError("UNAVAILABLE", "gone"))
    with pytest.raises(CallError):
        deliver(columns(2), script, str, retry.patient(60, stopped))
    assert len(script.asked) == 1


def test_no_call_has_more_edges_than_the_service_takes() -> None:
    script = Script(Response(changed=10_000), Response(changed=1, errors=[refused(0, "FOLLOW_LIMIT")]))
    delivery = deliver(columns(10_002), script, str, PATIENT)
    assert [len(asked) for asked in script.asked] == [10_000, 2]
    assert [reject.line for reject in delivery.rejects] == [10_101]
    assert delivery.edges == 10_001


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "follower_ids[1]: 2 names shard 9000; shards are 0 to 8191",
            "follower: B names shard 9000; shards are 0 to 8191",
        ),
        (
            "target_ids[1]: 1002 is of type 7; users are of type 3",
            "followee: Z is of type 7; users are of type 3",
        ),
        ("followed_at_us[1]: 10021002 is ahead of the clock", "time: 10021002 is ahead of the clock"),
        ("a user may follow at most 50,000 users", "a user may follow at most 50,000 users"),
    ],
)
def test_a_refusal_names_the_field_and_the_limit_in_the_words_of_the_file(message: str, told: str) -> None:
    names = {2: "B", 1002: "Z"}
    script = Script(Response(errors=[refused(1, "ID_WRONG_TYPE", message=message)]))
    [reject] = deliver(columns(3), script, lambda each: names[each], PATIENT).rejects
    assert reject == Reject(102, "ID_WRONG_TYPE", f"refused by the service: follower B, followee Z: {told}")


def test_of_a_mutual_row_it_is_told_which_way_is_refused_and_that_the_other_is_written() -> None:
    script = Script(Response(changed=3, errors=[refused(3, "FOLLOW_LIMIT", message="at most 3")]))
    delivery = deliver(columns(2, mutual=True), script, str, PATIENT)
    assert delivery.edges == 3
    assert delivery.rejects == [
        Reject(
            102,
            "FOLLOW_LIMIT",
            "refused by the service: follower 1002, followee 2: at most 3 (the other direction is written)",
        )
    ]
