"""A tab that stops costs the hub nothing, and nobody else notices."""

from __future__ import annotations

import os
import signal

from raw_page import RawPage
from stand import Actor, Stand, expect, same

COMMITS, WARM_UP, RING, AT_ONCE = 50_000, 6_000, 4_000, 2_000
FLAT = 32 * 1024 * 1024
TEXT = "0123456789abcdef" * 64


def renderers(stand: Stand) -> set[int]:
    """The processes in which the browser's tabs live."""
    session = stand.browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {int(one["id"]) for one in found if one["type"] == "renderer"}


def write(writer: Actor, first: int, count: int) -> None:
    """So many commits of 1 kB. The peer sends them as they come; fields in turn, so that none takes another's place."""
    for start in range(first, first + count, AT_ONCE):
        mark = len(writer.lines)
        last = start + AT_ONCE - 1
        for number in range(start, last + 1):
            fields = {f"f{number % RING}": f"{number} {TEXT}"[:1024]}
            writer.write(fields if number < last else fields | {"last": last})
        writer.expect(f"commit {last}", lambda line, last=last: line.changes.get("last") == last, mark)


def test_a_stalled_tab_leaves_hub_memory_flat_while_another_follows(stand: Stand) -> None:
    hub = stand.serve()
    following = stand.tab("/pages/many.html").live()
    before = renderers(stand)
    stopped = stand.tab("/pages/many.html").live()
    own = renderers(stand) - before
    raw = RawPage(stand.origin, stand.token, receive_buffer=4096)
    raw.join("many", "stalled")  # From here on it reads nothing.
    writer = stand.start("writer", "bindpeer", "pipe", "many")
    for process in own:
        os.kill(process, signal.SIGSTOP)
    try:
        write(writer, 0, WARM_UP)
        following.until("the warm-up", "(last) => bind.model('many').get('last') === last", WARM_UP - 1)
        at_first, version = stand.hub_memory(), stand.get("many")["version"]
        write(writer, WARM_UP, COMMITS)
        following.until("the last commit", "(last) => bind.model('many').get('last') === last", WARM_UP + COMMITS - 1)
        at_last, commits = stand.hub_memory(), stand.get("many")["version"] - version
    finally:
        for process in own:
            os.kill(process, signal.SIGCONT)
    grown = at_last - at_first
    stand.say(f"{commits} commits of 1 kB: the hub had {at_first / 2**20:.1f} MiB before and {at_last / 2**20:.1f} MiB "
              f"after, with {len(own)} stopped renderer and one page that does not read")
    expect(commits >= COMMITS * 0.9, f"only {commits} commits")
    expect(grown <= FLAT, f"the hub's memory grew by {grown / 2**20:.1f} MiB")
    stopped.until("what it missed", "(last) => bind.model('many').get('last') === last", WARM_UP + COMMITS - 1)
    same(hub.process.poll(), None)
    raw.end()
