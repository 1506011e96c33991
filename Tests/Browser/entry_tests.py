"""How a browser comes in: once by a code, then by what it keeps; also after the hub was started again."""

from __future__ import annotations

from stand import PAGES, Stand, Tab, expect, same


def start_again(stand: Stand) -> None:
    assert stand.hub
    stand.hub.process.kill()
    stand.hub.process.wait()
    stand.serve(PAGES, "--web", stand.origin.removeprefix("http://"))


def test_a_restart_of_the_hub_locks_no_page_out(stand: Stand) -> None:
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


def test_a_browser_that_is_not_known_is_told_what_to_do_and_takes_a_code(stand: Stand) -> None:
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


def test_a_code_is_good_once_and_is_kept_nowhere(stand: Stand) -> None:
    stand.serve()
    url = stand.entry()["url"]
    first, second = Tab(stand, None), Tab(stand, None)
    stand.tabs += [first, second]
    first.page.goto(url)
    first.page.get_by_role("heading", name="Models").wait_for()
    same(first.page.url, stand.origin + "/", "the address that stays")
    expect(second.page.goto(url).status == 401, "a code was good twice")
    second.page.get_by_text("was used before").wait_for()
    token = stand.token
    cookies = first.context.cookies()
    same([one["httpOnly"] for one in cookies], [True])
    expect(all(token not in one["value"] for one in cookies), "the cookie is the token")
    expect(cookies[0]["expires"] > 0, "the cookie ends with the browser")
