"""What a page has left that is no more is taken over by another one, which keeps it beside what is its own."""

from __future__ import annotations

from replica_tests import STORED, keeps, open_sheet, reload, shows
from stand import Stand

# A page takes over what one that is no more has left, while it writes itself and keeps that.
MEANWHILE = """async () => {
    const bare = IDBObjectStore.prototype.get
    IDBObjectStore.prototype.get = function (key) {
        if (key[1] === 'gone' && !window.hasMet) {
            window.hasMet = true
            bind.model('lamp').set('name', 'own')
            dispatchEvent(new Event('pagehide'))
        }
        return bare.call(this, key)
    }
    const opening = indexedDB.open('bindbus', 1)
    const db = await new Promise((done) => { opening.onsuccess = () => done(opening.result) })
    const left = { model: 'lamp', operations: [['add', 'count', 5]], conditions: [], rules: {}, seen: [], tag: 'a',
        number: 1, wasSent: true, at: Date.now() }
    // After it looked for the last time but one.
    while (performance.now() < 2500) await new Promise((done) => setTimeout(done, 20))
    const { log } = JSON.parse(localStorage.bindbus)
    db.transaction('unsent', 'readwrite').objectStore('unsent')
        .put({ at: Date.now(), content: JSON.stringify([[left], []]) }, [log, 'gone'])
    db.close()
    while (performance.now() < 6000 && !window.hasMet) await new Promise((done) => setTimeout(done, 20))
    return !!window.hasMet
}"""


def test_what_is_taken_over_stays_kept_though_the_page_keeps_a_write_meanwhile(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.count=1")
    tab = open_sheet(stand)
    shows(tab, count=1)
    keeps(tab, "lamp", 1)
    for _ in range(5):                       # on a busy machine it may have looked for the last time
        reload(tab, without_hub=True)
        shows(tab, count=1)
        if tab.eval(MEANWHILE):
            break
    shows(tab, name="own")
    for _ in range(2):
        tab.until("both writes in the store", f"async () => (await ({STORED})()).writes.length === 2")
        reload(tab, without_hub=True)
        shows(tab, name="own")
    # Whether the sum was added nobody knows, which is said.
    reload(tab, without_hub=False)
    tab.until("the unknown outcome", "() => document.getElementById('why').textContent.includes('outcome')")
    stand.committed("lamp", "name", "own")
