"""A browser signs in once with a code, then stays signed in by its cookie, also after a restart of the hub."""

from __future__ import annotations

import http.server
import re
import subprocess
import threading

from stand import PAGES, Stand, Tab, expect, same


def start_again(stand: Stand) -> None:
    assert stand.hub
    stand.hub.process.kill()
    stand.hub.process.wait()
    stand.serve(PAGES, "--web", stand.origin.removeprefix("http://"))


def test_a_page_stays_signed_in_after_a_restart_of_the_hub(stand: Stand) -> None:
    stand.serve()
    tab = stand.tab().live()
    stand.set("lamp.level=10")
    tab.shows("lamp", "level", 10)
    start_again(stand)
    stand.set("lamp.level=30")
    tab.shows("lamp", "level", 30)
    tab.page.reload()
    tab.live().shows("lamp", "level", 30)
    tab.page.goto(stand.origin + "/")
    tab.live()


def test_an_unknown_browser_shows_how_to_sign_in_and_accepts_a_code(stand: Stand) -> None:
    stand.serve()
    tab = Tab(stand, None)
    stand.tabs.append(tab)
    tab.page.goto(stand.origin + "/form/lamp")
    tab.page.get_by_text("bindhub web --open").wait_for()
    tab.complaints.clear()  # The console tells of the status 401.
    tab.page.get_by_label("Address or code").fill(stand.entry()["url"])
    tab.page.get_by_label("Address or code").press("Enter")
    tab.page.get_by_role("heading", name="lamp").wait_for()
    same(tab.page.url, stand.origin + "/form/lamp", "where the code leads")
    tab.live()
    same(tab.complaints, [])


def test_a_code_is_accepted_once_and_stored_nowhere(stand: Stand) -> None:
    stand.serve()
    url = stand.entry()["url"]
    first, second = Tab(stand, None), Tab(stand, None)
    stand.tabs += [first, second]
    first.page.goto(url)
    first.page.get_by_role("heading", name="Models").wait_for()
    same(first.page.url, stand.origin + "/", "the address that stays")
    expect(second.page.goto(url).status == 401, "a code was accepted twice")
    second.page.get_by_text("was already used").wait_for()
    token = stand.token
    cookies = first.context.cookies()
    same([one["httpOnly"] for one in cookies], [True])
    expect(all(token not in one["value"] for one in cookies), "the cookie is the token")
    expect(cookies[0]["expires"] > 0, "the cookie is a session cookie")


class Other(http.server.BaseHTTPRequestHandler):
    """The pages of another program on another port of this machine."""

    cookies: list[str | None] = []

    def do_GET(self) -> None:
        Other.cookies.append(self.headers["Cookie"])
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Other</title>")

    def log_message(self, *_: object) -> None:
        pass


def test_with_its_own_host_name_the_hub_shares_no_cookie_with_other_programs(stand: Stand) -> None:
    stand.serve()
    done = subprocess.run([stand.bin / "bindhub", "web", "--own-name"], env=stand.environment, capture_output=True,
                          text=True, timeout=20, check=True, stdin=subprocess.DEVNULL)
    url = done.stdout.strip()
    tab = Tab(stand, None)
    stand.tabs.append(tab)
    tab.page.goto(url)
    tab.live()
    expect(re.match(r"http://bindbus-[0-9a-f]{16}\.localhost:\d+/", tab.page.url), tab.page.url)
    tab.eval("() => bind.model('lamp').set('on', true)")
    stand.committed("lamp", "on", True)
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        Other.cookies.clear()
        for host in ("127.0.0.1", "localhost"):
            tab.page.goto(f"http://{host}:{other.server_port}/")
        same(set(Other.cookies), {None}, "cookies that another program was given")
        # Under the usual host name it receives the cookie, as every server of a host does.
        tab.page.goto(stand.entry()["url"])
        tab.page.goto(f"http://127.0.0.1:{other.server_port}/")
        expect(any(one and "bindbus-session-" in one for one in Other.cookies), Other.cookies)
    finally:
        other.shutdown()
        other.server_close()
