"""A page over https: its WebSocket is encrypted, and its cookie is for https only."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from stand import LIMIT_SECONDS, PAGES, ROOT, Stand, same

CERTIFICATES = ROOT / "Tests" / "BindingWebTests" / "Certificates"


def test_a_page_over_https_is_bound_by_an_encrypted_socket(stand: Stand) -> None:
    folder = Path(tempfile.mkdtemp(prefix="bindbus-tls-"))
    try:
        for name in ("hall.pem", "hall.key"):
            shutil.copy(CERTIFICATES / name, folder)
        os.chmod(folder / "hall.key", 0o600)
        stand.serve(PAGES, "--web-tls", str(folder / "hall.pem"), str(folder / "hall.key"))
    finally:
        shutil.rmtree(folder)
    stand.set("lamp.level=10")
    # The browser does not know the tests' issuer.
    context = stand.browser.new_context(ignore_https_errors=True)
    try:
        context.set_default_timeout(LIMIT_SECONDS * 1000)
        page = context.new_page()
        sockets: list[str] = []
        page.on("websocket", lambda socket: sockets.append(socket.url))
        page.goto(stand.entry()["url"].replace("/?", "/form/lamp?"))
        level = page.locator("[data-bind=level]").first
        level.wait_for()
        level.fill("42")
        level.press("Enter")
        page.wait_for_function("() => bind.model('lamp').get('level') === 42 && !bind.model('lamp').writes.length")
        stand.committed("lamp", "level", 42)
        same(page.url, stand.origin + "/form/lamp", "the address that stays")
        same(sockets, [stand.origin.replace("https://", "wss://") + "/bind"], "the sockets")
        cookie, = context.cookies()
        same([cookie["secure"], cookie["httpOnly"], cookie["sameSite"]], [True, True, "Lax"], "the cookie")
    finally:
        context.close()
