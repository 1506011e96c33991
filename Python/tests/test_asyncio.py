"""Python peers in an event loop, with a real hub."""
from __future__ import annotations

import asyncio
from typing import Any, Coroutine, List

from bindbus import Model, Peer, RejectionError, model, ranged
from tests.support import DEADLINE, HubTestCase, eventually


@model
class Lamp(Model):
    level: float = ranged(0.3, 0, 1)


class AsyncioTests(HubTestCase):
    def run_async(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run(asyncio.wait_for(work, DEADLINE))

    def test_values_written_by_another_peer_arrive_in_an_async_iteration(self) -> None:
        async def work() -> None:
            async with Peer("one", hub=self.address) as one, Peer("other", hub=self.address) as other:
                lamp, same = await one.ashare(Lamp, "lamp", 10), await other.ashare(Lamp, "lamp", 10)
                values = lamp.values("level")
                self.assertEqual(await values.__anext__(), 0.3)
                outcome = await same.set(level=0.8)
                self.assertEqual((outcome.kind, await values.__anext__()), ("committed", 0.8))
                same.level = 0.9
                async for value in lamp.shared.values("level"):
                    if value == 0.9:
                        break

        self.run_async(work())

    def test_statuses_tell_of_a_lost_hub_and_of_the_next_one(self) -> None:
        async def work() -> None:
            async with Peer("one", hub=self.address) as peer:
                phases: List[str] = []
                model = peer.model("m")
                await model.current(10)

                async def watch() -> None:
                    async for status in peer.statuses:
                        phases.append(status.phase)

                watching = asyncio.ensure_future(watch())
                while "live" not in phases:
                    await asyncio.sleep(0.005)
                self.kill_hub()
                while phases[-1] == "live":
                    await asyncio.sleep(0.005)
                self.assertFalse(model.status.is_current)
                self.start_hub()
                async for status in model.statuses:
                    if status.is_current:
                        break
                watching.cancel()

        self.run_async(work())

    def test_a_cancelled_wait_leaves_the_write_and_a_conflict_is_an_outcome(self) -> None:
        async def work() -> None:
            async with Peer("one", hub=self.address) as peer:
                model = peer.model("m")
                await model.current(10)
                first = await model.set({"a": 1})
                write = model.set({"a": 2}, conditions={"a": first.version + 5})
                self.assertEqual((await write).code, "versionBeyondHead")
                write = model.set({"a": 3}, conditions={"a": 0})
                waiting = asyncio.ensure_future(self.wait_for(write))
                await asyncio.sleep(0)
                waiting.cancel()
                self.assertEqual((await write).kind, "conflict")
                with self.assertRaisesRegex(RejectionError, "m.a: conflict: a changed at version 1: set to 1 by 'one'"):
                    write.committed(0)

        self.run_async(work())

    async def wait_for(self, write: Any) -> None:
        await write

    def test_fifty_iterations_leave_no_observer(self) -> None:
        async def work() -> None:
            async with Peer("one", hub=self.address) as peer:
                model = peer.model("m")
                await model.set({"a": 1})
                for _ in range(50):
                    values = model.values("a")
                    await values.__anext__()
                    await values.aclose()  # type: ignore[attr-defined]
                eventually(lambda: not model._observers.all)

        self.run_async(work())
