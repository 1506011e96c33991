"""Takes the pictures for Tests/Browser/screenshots: a hub with changing models, in a browser."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from playwright.sync_api import Error, sync_playwright  # noqa: E402

from png import smaller  # noqa: E402
from run import FLAGS  # noqa: E402
from stand import Actor, Failed, Stand, Tab  # noqa: E402

LARGEST = 200_000
KIOSK = {
    "open": {"type": "boolean", "default": False},
    "brightness": {"type": "number", "min": 0, "max": 1, "step": 0.01, "default": 0.4},
    "temperature": {"type": "number", "min": -20, "max": 60, "unit": "°C"},
    "visitors": {"type": "integer", "min": 0},
    "mode": {"type": "string", "choices": ["welcome", "sale", "closed"]},
    "banner": {"type": "string", "maxLength": 60},
}


def furnish(stand: Stand) -> Actor:
    """Writes realistic models, and starts a peer that changes some of them."""
    banners = {"kiosk-1": "Good morning", "kiosk-2": "Two for one until noon", "kiosk-3": "Back at five"}
    for name, banner in banners.items():
        stand.describe(f"shop/{name}", **KIOSK)
        stand.set(f"shop/{name}.open={'false' if name == 'kiosk-3' else 'true'}", f"shop/{name}.brightness=0.6",
                  f"shop/{name}.temperature=21.4", f"shop/{name}.visitors=118", f"shop/{name}.mode=sale",
                  f"shop/{name}.banner:={json.dumps(banner)}")
    stand.describe("lamp", on={"type": "boolean"}, level={"type": "number", "min": 0, "max": 1, "step": 0.05})
    stand.set("lamp.on=true", "lamp.level=0.8")
    stand.set("house/heating.target=20.5", "house/heating.on=true", "house/door.locked=true")
    stand.start("panel", "bindpeer", "watch", "shop/", "--json", "--name", "panel")
    return stand.start("sensor", "bindpeer", "pipe", "shop/kiosk-2", "--name", "sensor")


def move(sensor: Actor, tab: Tab, first: int, last: int) -> None:
    """Writes sensor readings, some per second: the plots need a history."""
    for step in range(first, last):
        warmth = 21 + 3 * math.sin(step / 9) + 0.4 * math.sin(step * 2.3)
        reading = {"temperature": round(warmth, 1), "visitors": 118 + step // 4}
        if step % 8 == 0:
            reading["brightness"] = round(0.6 + 0.3 * math.sin(step / 20), 2)
        sensor.write(reading)
        if step % 60 == 59:
            tab.eval("(count) => { bind.model('shop/kiosk-1').set('visitors', count) }", 118 + step // 10)
        tab.page.wait_for_timeout(70)


def dashboard(stand: Stand, into: Path) -> Path:
    stand.serve()
    sensor = furnish(stand)
    tab = stand.tab("/", viewport={"width": 1440, "height": 860}, color_scheme="light").live()
    tab.page.get_by_role("treeitem").filter(has_text="kiosk-2").first.click()
    move(sensor, tab, 0, 160)
    stand.set("shop/kiosk-2.mode=welcome")
    tab.page.get_by_label("Edit").first.check()
    move(sensor, tab, 160, 180)
    tab.page.wait_for_timeout(2500)  # Until all have said that they are up to date.
    path = into / "page-light.png"
    path.write_bytes(smaller(tab.page.screenshot()))
    return path


def demo(stand: Stand, into: Path) -> Path:
    tab = stand.tab("/demo", viewport={"width": 390, "height": 844}, color_scheme="dark").live()
    stand.set("demo.name=desk lamp", "demo.on=true", "demo.level=0.6")
    tab.shows("demo", "level", 0.6)
    tab.page.wait_for_timeout(500)
    path = into / "page-dark.png"
    path.write_bytes(smaller(tab.page.screenshot()))
    return path


def main() -> int:
    bin_path, browser_path, into = sys.argv[1:]
    with sync_playwright() as playwright:
        # Without subpixel rendering, text looks the same on every screen and pictures are smaller.
        browser = playwright.chromium.launch(executable_path=browser_path, args=[*FLAGS, "--disable-lcd-text"])
        for take in (dashboard, demo):
            stand = Stand(bin_path, browser)
            try:
                path = take(stand, Path(into))
            except (Error, Failed) as error:
                print(f"screenshots: {error}", file=sys.stderr)
                return 1
            finally:
                stand.end()
            size = path.stat().st_size
            print(f"{path}: {size // 1000} kB")
            if size >= LARGEST:
                print(f"screenshots: {path.name} is {size} bytes; {LARGEST} is too large for a page", file=sys.stderr)
                return 1
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
