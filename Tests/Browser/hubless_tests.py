"""Pages that open while nobody serves them, because the browser has kept them."""

from __future__ import annotations

from playwright.sync_api import Error
from stand import PAGES, Failed, Stand, Tab, expect, same

KEPT = """async () => {
    const cache = await caches.open('bindbus-pages')
    return (await cache.keys()).map(({ url }) => new URL(url).pathname)
}"""


def form(stand: Stand) -> Tab:
    """A form that the browser has kept whole."""
    stand.serve(PAGES, "--store", f"{stand.folder}/hub.db")
    stand.describe("lamp", name={"type": "string", "maxLength": 20}, on={"type": "boolean"})
    stand.set("lamp.name=desk", "lamp.on=true")
    tab = stand.tab("/form/lamp").live()
    tab.shows("lamp", "name", "desk")
    tab.until("the kept files", f"""async () => {{
        const kept = await ({KEPT})(), parts = performance.getEntriesByType('resource')
        const paths = parts.filter((one) => one.initiatorType !== 'fetch').map((one) => new URL(one.name).pathname)
        return ['/form/lamp', ...paths].every((one) => kept.includes(one))
    }}""")
    tab.until("the kept values", """async () => {
        const opening = indexedDB.open('bindbus', 1)
        const db = await new Promise((done) => { opening.onsuccess = () => done(opening.result) })
        const all = db.transaction('unsent').objectStore('unsent').getAll()
        const found = await new Promise((done) => { all.onsuccess = () => done(all.result) })
        db.close()
        return found.some((one) => one.replica?.includes('desk'))
    }""")
    return tab


def stop(stand: Stand) -> None:
    assert stand.hub
    stand.hub.process.kill()
    stand.hub.process.wait()


def test_a_form_opens_without_the_hub_and_sends_what_was_typed_when_it_is_back(stand: Stand) -> None:
    tab = form(stand)
    stop(stand)
    for _ in range(2):
        tab.page.reload()
        tab.shows("lamp", "name", "desk")
        tab.lights("offline")
    tab.page.get_by_label("name").fill("typed without a hub")
    tab.page.get_by_role("switch").click()
    tab.page.reload()
    tab.shows("lamp", "name", "typed without a hub")
    tab.shows("lamp", "on", False)
    tab.until("the control", "() => document.querySelector('#fields input[type=text]')?.dataset.state === 'offline'")
    stand.serve(PAGES, "--web", stand.origin.removeprefix("http://"), "--store", f"{stand.folder}/hub.db")
    stand.committed("lamp", "name", "typed without a hub")
    stand.committed("lamp", "on", False)
    tab.lights("live")


def test_a_form_without_the_hub_shows_what_a_page_wrote_that_ended_after_it_began(stand: Stand) -> None:
    tab = form(stand)
    stop(stand)
    tab.lights("offline")
    tab.page.get_by_label("name").fill("typed without a hub")
    tab.until("the kept write", "() => bind.link().models.get('lamp').writes.length")
    former, tab.page = tab.page, tab.context.new_page()
    tab.page.goto(stand.origin + "/form/lamp")
    tab.shows("lamp", "name", "desk")
    former.close()
    tab.shows("lamp", "name", "typed without a hub")


def test_a_page_that_does_not_ask_for_it_does_not_open_without_the_hub(stand: Stand) -> None:
    tab = form(stand)
    tab.page.goto(stand.origin + "/pages/kept.html")
    tab.live()
    stop(stand)
    page = tab.context.new_page()
    try:
        page.goto(stand.origin + "/pages/kept.html")
        raise Failed("it opened")
    except Error as error:
        expect("ERR_" in str(error), error)
    finally:
        page.close()
    tab.page.goto(stand.origin + "/form/lamp")
    tab.shows("lamp", "name", "desk")


def test_what_the_hub_answers_counts_whatever_is_kept(stand: Stand) -> None:
    tab = form(stand)
    tab.context.clear_cookies()
    tab.page.reload()
    tab.page.get_by_text("bindhub web --open").wait_for()
    expect("/form/lamp" in tab.eval(KEPT), "the page is not kept any more")
    same(tab.eval("() => typeof bind"), "undefined")
