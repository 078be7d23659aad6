"""What every coordinator must do, run on every implementation; and what only a file can do wrong."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing
from pathlib import Path

import pytest

from graphsvc.backends.coordinator import Coordinator, CoordinatorDamaged, VersionConflict
from graphsvc.backends.local.coordinator import LocalFileCoordinator
from graphsvc.model.placement import PlacementName
from graphsvc.model.topology import ClusterSettings, Node, Topology
from tests.nodes import cluster_of, two_instance_topology

FIRST = two_instance_topology([Node(host="127.0.0.1", port=7001), Node(host="127.0.0.1", port=7002)])
SETTINGS = cluster_of("valkey")

IMPLEMENTATIONS: dict[str, Callable[[str], Coordinator]] = {
    "local file": lambda place: LocalFileCoordinator(Path(place) / "cluster.json", poll_interval_s=0.01),
}
"""Name -> makes a coordinator on a place, a text; all on one place share what they store."""


def next_of(topology: Topology, port: int | None = None) -> Topology:
    """The map of the next version; the first instance's epoch raised, its primary on `port`."""
    first, *others = topology.instances
    changes = {"epoch": first.epoch + 1, "primary": Node(host="127.0.0.1", port=port or 7001)}
    return Topology(version=topology.version + 1, instances=(first.model_copy(update=changes), *others))


@pytest.fixture(params=IMPLEMENTATIONS)
def implementation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(implementation: str, tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def coordinator(implementation: str, place: str) -> Coordinator:
    return IMPLEMENTATIONS[implementation](place)


@pytest.fixture
def another(implementation: str, place: str) -> Coordinator:
    """A second one on the same place."""
    return IMPLEMENTATIONS[implementation](place)


class TestEveryCoordinator:
    async def test_is_empty_before_create(self, coordinator: Coordinator) -> None:
        assert await coordinator.settings() is None
        assert await coordinator.topology() is None
        with pytest.raises(VersionConflict):
            await coordinator.replace(FIRST)
        assert await coordinator.topology() is None

    async def test_others_read_what_was_created(self, coordinator: Coordinator, another: Coordinator) -> None:
        await coordinator.create(SETTINGS, FIRST)
        assert await another.settings() == SETTINGS
        assert await another.topology() == FIRST

    async def test_is_created_once(self, coordinator: Coordinator, another: Coordinator) -> None:
        await coordinator.create(SETTINGS, FIRST)
        with pytest.raises(VersionConflict):
            await another.create(cluster_of("redis", PlacementName.HASH), next_of(FIRST))
        assert await coordinator.settings() == SETTINGS
        assert await coordinator.topology() == FIRST

    async def test_takes_the_next_version_and_no_other(
        self, coordinator: Coordinator, another: Coordinator
    ) -> None:
        await coordinator.create(SETTINGS, FIRST)
        second = next_of(FIRST, 7003)
        await coordinator.replace(second)
        assert await another.topology() == second
        for refused in (FIRST, next_of(FIRST, 7004), next_of(next_of(second))):
            with pytest.raises(VersionConflict):
                await another.replace(refused)
            assert await coordinator.topology() == second
        assert await coordinator.settings() == SETTINGS

    async def test_watch_begins_with_the_present_and_sees_changes(
        self, coordinator: Coordinator, another: Coordinator
    ) -> None:
        await coordinator.create(SETTINGS, FIRST)
        async with aclosing(another.watch()) as watching:  # type: ignore[type-var]
            assert await anext(watching) == FIRST
            second = next_of(FIRST, 7003)
            await coordinator.replace(second)
            assert await anext(watching) == second

    async def test_watch_may_begin_before_create(
        self, coordinator: Coordinator, another: Coordinator
    ) -> None:
        async with aclosing(another.watch()) as watching:  # type: ignore[type-var]
            coming = asyncio.ensure_future(anext(watching))
            await asyncio.sleep(0)
            await coordinator.create(SETTINGS, FIRST)
            assert await coming == FIRST

    async def test_watch_never_goes_back_and_ends_at_the_newest(
        self, coordinator: Coordinator, another: Coordinator
    ) -> None:
        await coordinator.create(SETTINGS, FIRST)
        seen: list[int] = []

        async def watch() -> None:
            async for topology in another.watch():
                seen.append(topology.version)
                if topology.version == 30:
                    return

        watching = asyncio.create_task(watch())
        topology = FIRST
        while topology.version < 30:
            topology = next_of(topology)
            await coordinator.replace(topology)
        await watching
        assert seen == sorted(set(seen))

    async def test_writers_in_many_processes_lose_nothing(
        self, coordinator: Coordinator, implementation: str, place: str
    ) -> None:
        await coordinator.create(SETTINGS, FIRST)
        writers, writes = 4, 10
        with ProcessPoolExecutor(writers, multiprocessing.get_context("spawn")) as pool:
            done = [pool.submit(write_versions, implementation, place, writes) for _ in range(writers)]
            versions = [version for each in done for version in each.result()]
        # Each version was written by one writer only, and every write counted.
        assert sorted(versions) == list(range(2, 2 + writers * writes))
        topology = await coordinator.topology()
        assert topology is not None
        assert topology.version == topology.instances[0].epoch == 1 + writers * writes


def write_versions(implementation: str, place: str, writes: int) -> list[int]:
    """Write so many versions, each against the others' interference; the versions written."""

    async def write() -> list[int]:
        coordinator = IMPLEMENTATIONS[implementation](place)
        written: list[int] = []
        while len(written) < writes:
            stored = await coordinator.topology()
            assert stored is not None
            following = next_of(stored)
            try:
                await coordinator.replace(following)
            except VersionConflict:
                continue
            written.append(following.version)
        return written

    return asyncio.run(write())


class TestLocalFile:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return tmp_path / "cluster.json"

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("", "Invalid JSON"),
            ('{"settings": {"clus', "Invalid JSON"),
            ("[]", "should be an object"),
            ('{"settings": {}}', "settings.cluster: Field required"),
        ],
    )
    async def test_damage_names_file_and_problem(self, path: Path, content: str, problem: str) -> None:
        path.write_text(content)  # noqa: ASYNC240
        coordinator = LocalFileCoordinator(path)
        for call in (coordinator.settings(), coordinator.topology(), coordinator.create(SETTINGS, FIRST)):
            with pytest.raises(CoordinatorDamaged) as caught:
                await call
            assert str(path) in str(caught.value)
            assert problem in str(caught.value)
        assert path.read_text() == content  # noqa: ASYNC240

    async def test_a_map_with_a_gap_is_damage(self, path: Path) -> None:
        coordinator = LocalFileCoordinator(path)
        await coordinator.create(SETTINGS, FIRST)
        path.write_text(path.read_text().replace("4096", "4097"))  # noqa: ASYNC240
        with pytest.raises(CoordinatorDamaged, match="instance-1 begins at shard 4097, not at 4096"):
            await coordinator.topology()

    @pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
    async def test_a_writer_killed_before_the_rename_leaves_the_old_map(self, path: Path, step: str) -> None:
        coordinator = LocalFileCoordinator(path)
        await coordinator.create(SETTINGS, FIRST)
        process = multiprocessing.get_context("spawn").Process(target=die_while_writing, args=(path, step))
        process.start()
        await asyncio.to_thread(process.join)
        assert process.exitcode == -signal.SIGKILL
        assert await coordinator.topology() == FIRST
        second = next_of(FIRST, 7004)
        await coordinator.replace(second)
        assert await coordinator.topology() == second
        assert {each.name for each in path.parent.iterdir()} == {"cluster.json", "cluster.json.lock"}


def die_while_writing(path: Path, step: str) -> None:
    """Write the next version, but be killed at a step of it."""

    def die(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step, die)
        asyncio.run(LocalFileCoordinator(path).replace(next_of(FIRST, 7003)))


def test_settings_survive_the_file(tmp_path: Path) -> None:
    chosen = ClusterSettings(cluster="ünï", id="1" * 32, placement=PlacementName.HASH, family="redis")
    asyncio.run(LocalFileCoordinator(tmp_path / "c").create(chosen, FIRST))
    assert asyncio.run(LocalFileCoordinator(tmp_path / "c").settings()) == chosen
