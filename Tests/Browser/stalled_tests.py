"""A stalled tab costs the hub no memory, and does not affect other tabs."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from raw_page import RawPage
from stand import ROOT, Stand, expect, same

COMMITS, WARM_UP = 50_000, 5_000
FLAT = 32 * 1024 * 1024


def renderers(stand: Stand) -> set[int]:
    """The processes of the browser's tabs."""
    session = stand.browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {int(one["id"]) for one in found if one["type"] == "renderer"}


def flood(stand: Stand, first: int, count: int) -> None:
    """This number of commits of 1 kB, by a separate process; the last commit sets `last` to its number."""
    command = [os.environ.get("BINDBUS_PYTHON", "python3"), str(ROOT / "Tests/Browser/flood.py")]
    done = subprocess.run([*command, stand.address, "many", str(first), str(count)], capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 0, done.stderr)


def test_a_stalled_tab_leaves_hub_memory_flat_while_another_follows(stand: Stand) -> None:
    hub = stand.serve()
    following = stand.tab("/pages/many.html").live()
    before = renderers(stand)
    stopped = stand.tab("/pages/many.html").live()
    own = renderers(stand) - before
    raw = RawPage(stand.origin, stand.token, receive_buffer=4096)
    raw.join("many", "stalled")  # From here on it reads nothing.
    for process in own:
        os.kill(process, signal.SIGSTOP)
    try:
        flood(stand, 0, WARM_UP)
        following.until("the warm-up", "(last) => bind.model('many').get('last') === last", WARM_UP - 1)
        at_first, version = stand.hub_memory(), stand.get("many")["version"]
        began = time.monotonic()
        flood(stand, WARM_UP, COMMITS)
        spent = time.monotonic() - began
        following.until("the last commit", "(last) => bind.model('many').get('last') === last", WARM_UP + COMMITS - 1)
        at_last, commits = stand.hub_memory(), stand.get("many")["version"] - version
    finally:
        for process in own:
            os.kill(process, signal.SIGCONT)
    grown = at_last - at_first
    stand.log(f"{commits} commits of 1 kB in {spent:.0f} s: the hub had {at_first / 2**20:.1f} MiB before and "
              f"{at_last / 2**20:.1f} MiB after, with {len(own)} stopped renderer and one page that does not read")
    expect(commits >= COMMITS * 0.9, f"only {commits} commits")
    expect(grown <= FLAT, f"the hub's memory grew by {grown / 2**20:.1f} MiB")
    stopped.until("what it missed", "(last) => bind.model('many').get('last') === last", WARM_UP + COMMITS - 1)
    same(hub.process.poll(), None)
    raw.end()
