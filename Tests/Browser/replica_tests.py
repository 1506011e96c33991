"""A page that is opened without a hub shows the last known values, and its own pending writes over them once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import guest_tests
from dashboard_tests import opened
from stand import PAGES, Stand, Tab, expect, same

SHEET = "/pages/kept.html"
# Without a hub a page opens its sockets in vain; its files can still be loaded.
HUBLESS = """if (localStorage.hubless) window.WebSocket = class {
    constructor() { setTimeout(() => this.onclose?.({ code: 1006, reason: '' })) }
    send() {} close() {}
}"""
STORED = """async () => {
    const opening = indexedDB.open('bindbus', 1)
    const db = await new Promise((done) => { opening.onsuccess = () => done(opening.result) })
    const all = db.transaction('unsent').objectStore('unsent').getAll()
    const found = await new Promise((done) => { all.onsuccess = () => done(all.result) })
    db.close()
    return { replicas: found.flatMap((one) => one.replica ? [JSON.parse(one.replica)] : []),
        writes: found.flatMap((one) => one.content ? JSON.parse(one.content)[0] : []) }
}"""


def open_sheet(stand: Stand) -> Tab:
    tab = stand.tab(SHEET)
    tab.context.add_init_script(HUBLESS)
    return tab.live()


def keeps(tab: Tab, model: str, version: int) -> None:
    """Waits until this version of the model is stored, and no write beside it."""
    tab.until(f"version {version} of {model} in the store", f"""async ([model, version]) => {{
        const {{ replicas, writes }} = await ({STORED})()
        return !writes.length && replicas.some((one) => one.model === model && one.version === version)
    }}""", [model, version])


def reload(tab: Tab, without_hub: bool) -> Tab:
    tab.eval("(flag) => { flag ? localStorage.hubless = 1 : delete localStorage.hubless }", without_hub)
    tab.page.reload()
    return tab if without_hub else tab.live()


def shows(tab: Tab, **values: Any) -> None:
    for field, value in values.items():
        tab.shows("lamp", field, value)


def joins(tab: Tab, model: str = "lamp") -> dict[str, Any]:
    """What the page said that it has of a model, when it joined it first."""
    return tab.eval("(model) => ear.sent.find((one) => one.kind === 'join' && one.model === model)", model)


def test_without_a_hub_the_last_known_values_show_as_stale(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", name={"type": "string", "maxLength": 20}, level={"type": "number", "default": 7})
    stand.set("lamp.name=desk", "lamp.count=3", "lamp.settings:={\"a\":[1,null]}", "lamp.note=gone")
    stand.python("set", "lamp", "note=\"later\"")
    tab = open_sheet(stand)
    shows(tab, name="desk", note="later")
    keeps(tab, "lamp", 3)
    reload(tab, without_hub=True)
    shows(tab, name="desk", count=3, settings={"a": [1, None]}, note="later", level=7)
    tab.until("the value in its control", "() => document.getElementById('name').value === 'desk'")
    tab.lights("offline")
    tab.eval("""() => {
        localStorage.bindbus = JSON.stringify({ ...JSON.parse(localStorage.bindbus), at: Date.now() - 3e5 })
    }""")
    tab.page.reload()
    tab.until("its age", "() => document.querySelector('[data-light]').textContent.startsWith('offline 5 min')")
    same(tab.eval("() => bind.model('lamp').describe('name').maxLength"), 20, "the description")
    same(tab.eval("() => bind.model('lamp').info('name').version"), stand.get("lamp")["meta"]["name"]["version"])
    # When the hub is there again, what is missing is asked from that version on.
    stand.set("lamp.count=4")
    other = stand.tab(SHEET).live()
    for _ in range(5):                       # on a busy machine the hub may come before what is kept is read
        reload(tab, without_hub=False)
        shows(tab, count=4, name="desk")
        if joins(tab)["version"]:
            break
    tab.lights("live")
    expect(joins(tab)["version"] >= 3, "the page joined without a version")
    same(tab.complaints + other.complaints, [])


def test_a_page_that_returns_gets_a_delta_while_the_gateway_follows_its_model(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.name=desk", "lamp.count=1")
    other = stand.tab(SHEET).live()                      # For which the gateway follows the model all the time.
    tab = open_sheet(stand)
    for count in range(1, 6):                # on a busy machine the hub may come before what is kept is read
        keeps(tab, "lamp", count)
        tab.page.goto("about:blank")
        stand.set(f"lamp.count={count + 1}")
        other.shows("lamp", "count", count + 1)
        tab.page.goto(stand.origin + SHEET)
        tab.live()
        shows(tab, name="desk", count=count + 1)
        if joins(tab)["version"]:
            break
    answers = tab.eval("() => ear.received.filter((one) => one.kind === 'catchup' && one.model === 'lamp')")
    same([(one["form"], [field[0] for field in one["fields"]]) for one in answers], [("delta", ["count"])])


def test_pending_writes_lie_over_the_kept_values_once(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", note={"type": "string", "policy": "text"}, sum={"type": "number", "policy": "add"})
    stand.set("lamp.name=desk", "lamp.count=1", "lamp.note=one two", "lamp.sum=10")
    tab = open_sheet(stand)
    shows(tab, name="desk")
    keeps(tab, "lamp", 2)
    reload(tab, without_hub=True)
    shows(tab, count=1, note="one two")
    tab.eval("() => { bind.model('lamp').propose([['add', 'count', 5]]) }")
    tab.page.fill("#name", "typed offline")
    tab.page.fill("#note", "one two three")
    tab.eval("() => { bind.model('lamp').set('sum', 12) }")
    expected = {"count": 6, "name": "typed offline", "note": "one two three", "sum": 12}
    shows(tab, **expected)
    tab.state("#name", "offline")
    for _ in range(3):
        tab.until("the writes in the store", f"async () => (await ({STORED})()).writes.length === 4")
        reload(tab, without_hub=True)
        shows(tab, **expected)
        tab.state("#name", "offline")
        tab.until("the number of writes",
                  "() => document.querySelector('[data-light]').textContent.includes('4 unconfirmed')")
    stand.set("lamp.note=ONE two", "lamp.sum=20", "lamp.level=1")
    reload(tab, without_hub=False)
    for field, value in {**expected, "note": "ONE two three", "sum": 22}.items():
        stand.committed("lamp", field, value)
    version = stand.get("lamp")["version"]
    keeps(tab, "lamp", version)
    keeps(reload(tab, without_hub=False), "lamp", version)
    same(stand.get("lamp")["version"], version, "the version after another start")
    same(tab.complaints, [])


def test_a_sum_that_was_sent_lies_over_the_kept_value_until_the_hub_tells(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=1")
    tab = open_sheet(stand)
    shows(tab, count=1)
    keeps(tab, "lamp", 1)
    tab.eval("() => { bind.link().socket.onmessage = null; bind.model('lamp').propose([['add', 'count', 5]]) }")
    stand.committed("lamp", "count", 6)
    tab.until("the write in the store", f"async () => (await ({STORED})()).writes.length === 1")
    for _ in range(2):
        reload(tab, without_hub=True)
        shows(tab, count=6)
    reload(tab, without_hub=False)
    tab.until("the unknown outcome", "() => document.getElementById('why').textContent.includes('outcome')")
    shows(tab, count=6)
    same(stand.get("lamp")["values"]["count"], 6)
    keeps(tab, "lamp", 2)


def test_a_kept_write_lies_over_a_replica_exactly_if_it_is_not_in_it(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=1")
    tab = open_sheet(stand)
    found = tab.eval("""async () => {
        const { placeOf, newer } = await import('/replicas.js')
        const field = (tag, number) => ['count', 1, true, { tag, number }]
        const own = { epoch: '9007199254740993', version: 5, own: { a: 7 }, fields: [field('b', 2)] }
        const other = { ...own, own: { b: 2 }, fields: [field('a', 7)] }
        const write = (number, verb, more) => ({ tag: 'a', number, wasSent: number > 0, epoch: own.epoch,
            operations: [[verb, 'count', 1]], ...more })
        return [
            placeOf(write(7, 'add'), own), placeOf(write(8, 'add'), own), placeOf(write(0, 'add'), own),
            placeOf(write(7, 'add'), other), placeOf(write(8, 'add'), other), placeOf(write(8, 'set'), other),
            placeOf(write(8, 'set', { isOver: true, version: 5 }), own),
            placeOf(write(8, 'set', { isOver: true, version: 6 }), own),
            placeOf(write(8, 'set', { isOver: true, version: 6, epoch: '2' }), own),
            newer(own, { ...own, epoch: '9007199254740992', version: 9 }) === own,
            newer(own, { ...own, version: 6 }).version, newer(undefined, own) === own,
        ]
    }""")
    same(found, ["in", "over", "over", "in", "unknown", "over", "in", "over", "in", True, 6, True])


def test_a_page_that_is_opened_again_and_again_shows_no_value_that_was_not_written(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=0")
    tab = open_sheet(stand)
    shows(tab, count=0)
    keeps(tab, "lamp", 1)
    written = 0
    for count in (3, 17, 40, 8, 25):
        # Sums, each sent when the one before has its outcome; the page goes while they are under way.
        tab.eval("""(count) => {
            window.acknowledged = 0
            void (async () => {
                for (let each = 0; each < count; each++) {
                    const { kind } = await bind.model('lamp').propose([['add', 'count', 1]])
                    window.acknowledged += kind === 'committed' ? 1 : 0
                }
            })()
        }""", count)
        tab.until("most of them", "(count) => window.acknowledged >= count / 2", count)
        sure = written + tab.eval("() => window.acknowledged")
        before = tab.eval("() => performance.now()")
        tab.until("a quarter of a second", "(before) => performance.now() > before + 300", before)
        reload(tab, without_hub=True)
        tab.until("the last known value", "() => bind.model('lamp').get('count') !== undefined")
        shown = tab.get("lamp", "count")
        expect(sure <= shown <= written + count, f"{shown} shows; {sure} to {written + count} were written")
        reload(tab, without_hub=False)
        tab.until("no write under way", "() => bind.link().unconfirmed().count === 0")
        written = stand.get("lamp")["values"]["count"]
        shows(tab, count=written)
        keeps(tab, "lamp", stand.get("lamp")["version"])


def test_a_page_that_keeps_only_after_the_hub_has_come_keeps_too(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.on=true")
    tab = stand.tab("/pages/named.html").live()
    tab.shows("lamp", "on", True)
    tab.eval("() => { import('/keep.js') }")
    tab.until("the store", "() => bind.isKept")
    keeps(tab, "lamp", 1)
    tab.eval("() => bind.link().cut()")
    tab.eval("() => { bind.model('lamp').set('on', false) }")
    tab.until("the write in the store", f"async () => (await ({STORED})()).writes.length === 1")
    same(tab.complaints, [])


def test_secret_values_are_not_kept_and_return_with_the_hub(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", name={"type": "string", "secret": True}, count={"type": "integer"},
                   keys={"policy": "list", "secret": True})
    stand.set("lamp.name=swordfish", "lamp.count=1", 'lamp.keys=[{"id":1,"key":"swordfish"}]')
    tab = open_sheet(stand)
    shows(tab, name="swordfish")
    keeps(tab, "lamp", 2)
    expect("swordfish" not in json.dumps(tab.eval(STORED)), "a secret value is stored")
    reload(tab, without_hub=True)
    shows(tab, count=1)
    same(tab.get("lamp", "name"), None)
    reload(tab, without_hub=False)
    shows(tab, count=1, name="swordfish")
    same(joins(tab)["version"], 0, "the version that the page joined with")


def test_values_of_another_log_are_replaced_and_its_writes_stay(stand: Stand) -> None:
    stand.serve(PAGES, "--store", f"{stand.folder}/one.db")
    stand.set("lamp.name=old", "lamp.count=1")
    tab = open_sheet(stand)
    shows(tab, name="old")
    keeps(tab, "lamp", 1)
    reload(tab, without_hub=True)
    shows(tab, name="old")
    tab.page.fill("#name", "for the former hub")
    tab.until("the write in the store", f"async () => (await ({STORED})()).writes.length === 1")
    assert stand.hub
    stand.hub.process.kill()
    stand.hub.process.wait()
    stand.serve(PAGES, "--web", stand.origin.removeprefix("http://"), "--store", f"{stand.folder}/two.db")
    tab.context.request.get(stand.entry()["url"], max_redirects=0)
    stand.set("lamp.count=2")
    reload(tab, without_hub=False)
    shows(tab, count=2)
    tab.until("both logs in the store", f"async () => (await ({STORED})()).replicas.length === 2")
    tab.until("the write for the former one", f"""async () => (await ({STORED})()).writes
        .some((one) => one.operations[0][2] === 'for the former hub')""")
    same(stand.get("lamp")["values"], {"count": 2})


def test_what_a_member_may_not_read_any_more_is_not_kept(stand: Stand) -> None:
    guest_tests.serve(stand)
    guest = guest_tests.enter(stand, "view")
    guest.page.get_by_role("treeitem").filter(has_text="lamp").first.click()
    guest.until("the replica", f"async () => (await ({STORED})()).replicas.some((one) => one.model === 'public/lamp')")
    access = json.loads(json.dumps(guest_tests.ACCESS))
    access["roles"]["view"]["read"] = ["other/*"]
    Path(f"{stand.folder}/keys/access.json").write_text(json.dumps(access), encoding="utf-8")
    guest_tests.hub(stand, "access", "apply")
    guest.until("no replica", f"async () => (await ({STORED})()).replicas.length === 0")


def test_without_a_hub_the_dashboard_lists_the_models_that_are_kept(stand: Stand) -> None:
    stand.serve()
    stand.set("shop/one.level=1")
    stand.set("shop/two.level=2")
    tab = opened(stand, "shop/two")
    tab.context.add_init_script(HUBLESS)
    tab.until("both replicas", f"async () => (await ({STORED})()).replicas.length === 2")
    reload(tab, without_hub=True)
    tab.until("both models", "() => document.querySelectorAll('[data-id]').length === 2")
    tab.until("the field", "() => document.querySelector('#rows [data-bind=level]')?.textContent === '2'")
    tab.page.get_by_role("button", name="History", exact=True).first.click()
    tab.page.get_by_text("Without the hub, nothing older can be read.").wait_for()
    same(tab.complaints, [])
