"""Ids on the command line: every form, both ways."""

import pytest

from graphsvc.cli.id import describe_id
from graphsvc.cli.id_home import home_of
from graphsvc.cli.id_text import IdText
from graphsvc.cli.main import main
from graphsvc.model.errors import InvalidArgument
from graphsvc.model.ids import MAX_ID, MAX_LOCAL, pack, spread
from graphsvc.v1 import admin_service_pb2 as pb


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert isinstance(exit_info.value.code, int)
    return exit_info.value.code


@pytest.mark.parametrize("text", ["241294492511762325", "PIN0Hp88qxkBNN"])
def test_decimal_and_branded_forms_are_read(text: str) -> None:
    assert IdText().read(text, "id") == 241294492511762325


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1.5", "12x", "usr0KHTOWnGLuC", "USR", str(MAX_ID + 1), "٣", "1_0"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        IdText().read(text, "id")


def test_mapped_integers_come_back_as_they_went() -> None:
    ids = IdText(map_code=3)
    for number in (0, 1, 8191, 8192, MAX_LOCAL):
        assert ids.read(str(number), "user") == spread(number, 3)
        assert ids.write(spread(number, 3)) == str(number)


def test_what_is_too_large_or_was_not_mapped_is_taken_and_shown_as_an_id() -> None:
    ids = IdText(map_code=3)
    assert ids.read("241294492511762325", "user") == 241294492511762325
    assert ids.write(pack(5, 3, 7)) == str(pack(5, 3, 7))


def test_an_id_is_described_by_arithmetic_alone() -> None:
    assert describe_id(241294492511762325) == {
        "id": "241294492511762325",
        "branded": "PIN0Hp88qxkBNN",
        "shard": 3429,
        "dormant": False,
        "type": 1,
        "type_name": "pin",
        "local": 7075733,
        "hash_shard": describe_id(241294492511762325)["hash_shard"],
    }
    assert describe_id(274557032793636864)["branded"] == "USR0KHTOWnGLuC"
    assert describe_id(274557032793636864)["hash_shard"] == 234878118 % 8192


@pytest.mark.parametrize("placement", ["id", "hash"])
def test_the_home_of_an_id_is_told_by_the_placement_of_the_cluster(placement: str) -> None:
    cluster = pb.GetClusterInfoResponse(
        cluster="c",
        placement=placement,
        object_types=[pb.ObjectType(name="user", code=3)],
        instances=[
            pb.Instance(name="low", first_shard=0, last_shard=4095),
            pb.Instance(name="high", first_shard=4096, last_shard=8191),
        ],
    )
    user = pack(4096, 3, 1)
    shard = 4096 if placement == "id" else describe_id(user)["hash_shard"]
    assert isinstance(shard, int)
    assert home_of(user, cluster)["instance"] == ("high" if shard > 4095 else "low")
    pin = home_of(241294492511762325, cluster)
    if placement == "id":
        assert pin["instance"] is None
        assert "type 1" in str(pin["problem"])
    else:
        assert pin["instance"] in {"low", "high"}


def test_encode_and_decode(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("id", "encode", "--shard", "3429", "--type", "pin", "--local", "7075733") == 0
    assert capsys.readouterr().out == "241294492511762325\n"
    assert run("id", "encode", "--shard", "3429", "--type", "1", "--local", "7075733") == 0
    assert capsys.readouterr().out == "241294492511762325\n"
    assert run("id", "decode", "241294492511762325") == 0
    out = capsys.readouterr().out
    assert "shard      3429 under id placement" in out
    assert "type       1 (pin)" in out


def test_a_dormant_shard_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("id", "decode", str(pack(8192, 3, 1))) == 0
    assert "8192 under id placement (dormant" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("encode", "--shard", "65536", "--local", "1"), "shard: 65536 is not between 0 and 65535"),
        (("encode", "--shard", "1", "--local", "-1"), "local: -1 is not between"),
        (
            ("encode", "--shard", "1", "--local", "1", "--type", "1024"),
            "type: 1024 is not between 0 and 1023",
        ),
        (
            ("encode", "--shard", "1", "--local", "1", "--type", "cat"),
            "--type: 'cat' is not user, board, pin",
        ),
        (("decode", "cat"), "id: 'cat' is not three letters"),
        (("decode", "0"), "id: 0 is not an id"),
    ],
)
def test_bad_ids_are_wrong_usage_in_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("id", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"graphsvc: {message}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("text", ["²", "9" * 5_000])
def test_digits_that_are_no_number_of_ours_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        IdText().read(text, "id")
    assert run("id", "encode", "--shard", "1", "--local", "1", "--type", text) == 2
    assert run("counts", "1", "--target", f"localhost:{text}") == 2


def test_a_brand_of_another_type_is_no_user() -> None:
    assert IdText(brand="USR").read("USR0KHTOWnGLuC", "user") == 274557032793636864
    with pytest.raises(InvalidArgument, match="user: BRD0KHTOWnGLuC is branded BRD"):
        IdText(brand="USR").read("BRD0KHTOWnGLuC", "user")


def test_the_brand_given_is_the_brand_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("id", "decode", "ABC0KHTOWnGLuC") == 0
    assert "branded    ABC0KHTOWnGLuC" in capsys.readouterr().out
