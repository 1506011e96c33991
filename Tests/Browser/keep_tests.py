"""Unconfirmed writes and unfinished input survive a reload."""

from __future__ import annotations

from dashboard_tests import opened
from stand import PAGES, Stand, Tab, expect, same

SHEET = "/pages/kept.html"
# The page loses its link, so that it sends nothing; the address can still be loaded.
CUT = "() => bind.link().cut()"
KEPT = """async () => {
    const opening = indexedDB.open('bindbus', 1)
    const db = await new Promise((done) => { opening.onsuccess = () => done(opening.result) })
    const all = db.transaction('unsent').objectStore('unsent').getAll()
    const found = await new Promise((done) => { all.onsuccess = () => done(all.result) })
    db.close()
    return found.flatMap((one) => one.content ?? []).join()
}"""


def keeps(tab: Tab, words: str) -> None:
    tab.until(f"the stored draft {words}", f"async (words) => (await ({KEPT})()).includes(words)", words)


def reload(tab: Tab) -> Tab:
    tab.page.reload()
    return tab.live()


def test_offline_edits_are_sent_after_a_reload(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.name=old", "lamp.count=1")
    tab = stand.tab(SHEET).live()
    tab.shows("lamp", "name", "old")
    tab.eval(CUT)
    tab.page.locator("#name").fill("typed offline")
    tab.eval("() => { bind.model('lamp').propose([['add', 'count', 5]]) }")
    keeps(tab, "typed offline")
    keeps(tab, "add")
    reload(tab)
    stand.committed("lamp", "name", "typed offline")
    stand.committed("lamp", "count", 6)
    tab.until("an empty draft store", f"async () => (await ({KEPT})()) === ''")
    same(tab.complaints, [])


def test_a_write_decided_before_the_reload_is_not_applied_again(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=1", "lamp.name=old")
    tab = stand.tab(SHEET).live()
    tab.shows("lamp", "count", 1)
    tab.eval("() => { bind.link().socket.onmessage = null }")
    tab.eval("""() => { bind.model('lamp').propose([['add', 'count', 5]]); bind.model('lamp').set('name', 'new') }""")
    stand.committed("lamp", "count", 6)
    stand.committed("lamp", "name", "new")
    keeps(tab, "add")
    reload(tab)
    tab.until("the unknown outcome",
              "() => document.getElementById('why').textContent.includes('outcome')")
    tab.state("#name", None)
    same(stand.get("lamp")["values"]["count"], 6)
    same(stand.get("lamp")["meta"]["name"]["version"], 3, "the version of what was set once")


def test_drafts_and_their_reasons_are_restored_after_a_reload(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", note={"type": "string", "maxLength": 4})
    stand.set("lamp.settings:={\"a\":1}", "lamp.level=5", "lamp.note=old")
    tab = stand.tab(SHEET).live()
    tab.shows("lamp", "settings", {"a": 1})
    tab.shows("lamp", "level", 5)
    tab.page.fill("#settings", '{"a":1, "b":')
    tab.page.fill("#note", "too long")
    tab.page.fill("#level", "150")
    tab.state("#settings", "refused")
    title = tab.eval("() => document.getElementById('settings').title")
    keeps(tab, "150")
    reload(tab)
    tab.until("the typed text", """() => ['settings', 'note', 'level'].every((id, place) =>
        document.getElementById(id).value === ['{"a":1, "b":', 'too long', '150'][place])""")
    for name, words in {"settings": title, "note": "8 of 4 characters", "level": "not written yet"}.items():
        tab.state(f"#{name}", "refused")
        same(tab.eval("(id) => document.getElementById(id).title", name), words, name)
    same(stand.get("lamp")["version"], 2, "what is written by that")
    same(tab.dialogs, [], "questions of a page that keeps what is typed")
    # Writes of others do not change the drafts; each can be written or discarded as before.
    stand.set("lamp.note=new", "lamp.level=7")
    tab.shows("lamp", "level", 7)
    why = tab.page.locator("#whyLevel")
    why.get_by_role("button", name="Write mine").click()
    stand.committed("lamp", "level", 150)
    tab.page.locator("#whyNote").get_by_role("button", name="Take theirs").click()
    tab.until("the text of the other", "() => document.getElementById('note').value === 'new'")
    box = tab.page.locator("#settings")
    box.press("End")
    box.press_sequentially("2}")
    box.press("Tab")
    stand.committed("lamp", "settings", {"a": 1, "b": 2})
    tab.until("an empty draft store", f"async () => (await ({KEPT})()) === ''")
    same(tab.complaints, [])


def test_a_draft_is_restored_only_on_its_own_page(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=5")
    tab = stand.tab(SHEET).live()
    tab.page.fill("#level", "150")
    keeps(tab, "150")
    for path in ("/form/lamp", "/form/other"):
        tab.page.goto(stand.origin + path)
        tab.live()
        tab.page.wait_for_function("() => bind.isKept")
    keeps(tab, "150")
    tab.page.goto(stand.origin + SHEET)
    tab.live()
    tab.until("the typed text", "() => document.getElementById('level').value === '150'")
    same(stand.get("lamp")["version"], 1)


def test_without_locks_a_tab_restores_its_own_drafts_once(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=5", "lamp.count=1")
    tab = stand.tab(SHEET).live()
    # As over http from another machine, where locks are unavailable.
    tab.context.add_init_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    reload(tab)
    tab.shows("lamp", "level", 5)
    tab.eval(CUT)
    tab.page.fill("#level", "150")
    tab.eval("() => { bind.model('lamp').propose([['add', 'count', 5]]) }")
    keeps(tab, "150")
    keeps(tab, "add")
    tab.page.goto(stand.origin + "/form/other")
    tab.live()
    stand.committed("lamp", "count", 6)
    keeps(tab, "150")
    tab.page.goto(stand.origin + SHEET)
    tab.live()
    tab.until("the typed text", "() => document.getElementById('level').value === '150'")
    # No draft is restored twice, however long the page stays open.
    tab.link.hold_down()
    tab.eval("() => { bind.model('lamp').propose([['add', 'count', 7]]) }")
    keeps(tab, "add")
    tab.page.wait_for_function("() => performance.now() > 6000")
    tab.link.release()
    stand.committed("lamp", "count", 13)
    tab.until("its outcome", "() => bind.link().unconfirmed().count === 0")
    same(stand.get("lamp")["values"]["count"], 13)


def test_a_draft_of_a_merged_text_is_based_on_the_text_seen_before_the_reload(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", note={"type": "string", "maxLength": 24, "policy": "text"})
    stand.set("lamp.note=one two three")
    tab = stand.tab(SHEET).live()
    tab.shows("lamp", "note", "one two three")
    tab.page.fill("#note", "one two three and much more")
    tab.state("#note", "refused")
    keeps(tab, "much more")
    stand.set("lamp.note=ONE two three")
    tab.shows("lamp", "note", "ONE two three")
    reload(tab)
    tab.state("#note", "refused")
    tab.page.fill("#note", "one two three four")
    stand.committed("lamp", "note", "ONE two three four")


def test_a_draft_of_the_dashboard_is_restored_after_a_reload(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.level=5", "lamp.name=desk")
    stand.set("other.x=1")
    tab = opened(stand, "lamp")
    tab.page.get_by_label("Edit").first.click()
    box = tab.page.get_by_role("spinbutton", name="level")
    # Filled before it shows the value, it would get the new one beside the old.
    tab.until("the value", "() => document.querySelector('#rows input[type=number]')?.value === '5'")
    box.fill("150")
    keeps(tab, "150")
    reload(tab)
    tab.until("the draft", "() => document.querySelector('#rows input[type=number]')?.value === '150'")
    tab.page.get_by_text("not written yet").wait_for()
    tab.page.get_by_role("button", name="Write mine").click()
    stand.committed("lamp", "level", 150)
    same(tab.complaints, [])


def test_a_write_for_another_log_is_not_sent(stand: Stand) -> None:
    stand.serve(PAGES, "--store", f"{stand.folder}/one.db")
    stand.set("lamp.name=old")
    tab = stand.tab(SHEET).live()
    tab.shows("lamp", "name", "old")
    tab.eval(CUT)
    tab.page.locator("#name").fill("for the former hub")
    keeps(tab, "for the former hub")
    assert stand.hub
    stand.hub.process.kill()
    stand.hub.process.wait()
    stand.serve(PAGES, "--web", stand.origin.removeprefix("http://"), "--store", f"{stand.folder}/two.db")
    tab.context.request.get(stand.entry()["url"], max_redirects=0)
    reload(tab)
    stand.set("lamp.name=new")
    tab.shows("lamp", "name", "new")
    expect("former" in tab.eval(KEPT), "a draft for the other log was deleted")
    same(stand.get("lamp")["version"], 1)
