"""Keeping large models: they are stored less often than they change, and nothing acknowledged is missing meanwhile."""

from __future__ import annotations

from replica_tests import STORED, keeps, open_sheet, reload
from stand import Stand, expect


def test_ten_thousand_kept_fields_show_soon(stand: Stand) -> None:
    stand.serve()
    writer = stand.start("writer", "bindpeer", "pipe", "lamp")
    for first in range(0, 10_000, 500):
        writer.write({f"f{number:05}": number for number in range(first, first + 500)})
    stand.committed("lamp", "f09999", 9999)
    tab = open_sheet(stand)
    tab.shows("lamp", "f09999", 9999)
    keeps(tab, "lamp", stand.get("lamp")["version"])
    tab.context.add_init_script("""addEventListener('DOMContentLoaded', () => {
        const began = performance.now()
        bind.model('lamp').on('f09999', (value) => { if (value === 9999) window.took ??= performance.now() - began })
    })""")
    took = reload(tab, without_hub=True).until("the last field", "() => window.took")
    stand.log(f"10,000 fields: {took:.0f} ms after the page was parsed")


# What a page that were opened now would show of `lamp.f00001`: the newest replica, and the stored writes over it.
SHOWN = f"""async () => {{
    const {{ placeOf }} = await import('/replicas.js')
    const {{ replicas: [replica], writes }} = await ({STORED})()
    const over = writes.filter((one) => placeOf(one, replica) === 'over').map((one) => one.operations[0][2])
    return Math.max(replica.fields.find(([name]) => name === 'f00001')[1], ...over)
}}"""


def test_an_acknowledged_write_is_kept_while_its_large_model_is_not_stored_again(stand: Stand) -> None:
    stand.serve()
    writer = stand.start("writer", "bindpeer", "pipe", "lamp")
    text = "x" * 300
    for first in range(0, 7_000, 200):
        writer.write({f"f{number:05}": text for number in range(first, first + 200)})
    stand.committed("lamp", "f06999", text)
    tab = open_sheet(stand)
    tab.shows("lamp", "f06999", text)
    stand.set("lamp.f00001:=0")
    tab.shows("lamp", "f00001", 0)
    keeps(tab, "lamp", stand.get("lamp")["version"])
    tab.eval("""() => {
        window.acknowledged = 0
        window.stored = 0
        const put = IDBObjectStore.prototype.put
        IDBObjectStore.prototype.put = function (value, key) {
            if (value.replica) window.stored++
            return put.call(this, value, key)
        }
        void (async () => {
            for (let value = 1; value <= 120; value++) {
                const { kind } = await bind.model('lamp').set('f00001', value)
                if (kind === 'committed') window.acknowledged = value
                await new Promise((done) => setTimeout(done, 25))
            }
        })()
    }""")
    checked = 0
    while tab.eval("() => window.acknowledged") < 120:
        # What was acknowledged a moment ago has been stored by now, in one way or the other.
        sure = tab.eval("""async () => {
            const sure = window.acknowledged
            await new Promise((done) => setTimeout(done, 100))
            return sure
        }""")
        shown = tab.eval(SHOWN)
        expect(shown >= sure, f"{shown} would show; {sure} was acknowledged")
        checked += 1
    stored = tab.eval("() => window.stored")
    expect(0 < stored < 60, f"the model was stored {stored} times")
    stand.log(f"{checked} looks; 120 writes, the model of 3 MB stored {stored} times")
    reload(tab, without_hub=True)
    tab.shows("lamp", "f00001", 120)
