"""The adapters of Examples/pages/adapters, for React and Svelte, without these: they do what the frameworks ask for."""

from __future__ import annotations

from stand import ROOT, Stand, Tab, same

PAGES = ROOT / "Examples/pages"
# What React does with a store: it subscribes, and reads a snapshot at each change.
REACT = """
export const useMemo = (make) => make();
export const useSyncExternalStore = (subscribe, snapshot) => {
    globalThis.hook = { subscribe, snapshot };
    return snapshot();
};
"""


def opened(stand: Stand) -> Tab:
    stand.serve(PAGES)
    stand.describe("lamp", level={"type": "number", "max": 9}, note={"type": "string", "policy": "text"})
    stand.set("lamp.level=1", 'lamp.place:={"room":"hall"}', "lamp.note=desk")
    return stand.tab("/pages/index.html").live()


def test_the_svelte_stores_follow_and_write_a_field(stand: Stand) -> None:
    tab = opened(stand)
    tab.eval("""async () => {
        const { field, fieldInfo } = await import('/pages/adapters/svelte.js');
        Object.assign(window, { values: [], states: [], level: field('lamp', 'level'), note: field('lamp', 'note') });
        window.ends = [level.subscribe((value) => values.push(value)), note.subscribe(() => {}),
            fieldInfo('lamp', 'level').subscribe(({ state, reason }) => states.push(state ?? reason ?? 'settled'))];
    }""")
    same(tab.eval("() => values[0] ?? 'at once'"), "at once")
    tab.until("the value", "() => values.at(-1) === 1")
    tab.eval("() => level.set(2)")
    stand.committed("lamp", "level", 2)
    tab.until("all states", "() => states.at(-1) === 'settled' && states.includes('pending')")
    tab.eval("() => level.set(10)")
    tab.until("the refusal", "() => states.at(-1) === 'refused' && values.at(-1) === 2")
    tab.link.hold_down()
    stand.set("lamp.note=the desk")
    tab.eval("() => note.set('desk!')")
    tab.link.release()
    stand.committed("lamp", "note", "the desk!")
    tab.eval("() => ends.forEach((end) => end())")
    count = tab.eval("() => values.length")
    stand.set("lamp.level=3")
    tab.shows("lamp", "level", 3)
    same(tab.eval("() => values.length"), count)


def test_the_react_hook_gives_a_snapshot_that_stays_while_nothing_changes(stand: Stand) -> None:
    tab = opened(stand)
    hook = (PAGES / "adapters/react.js").read_text(encoding="utf-8")
    hook = hook.replace("from 'react'", "from '/pages/stand-in.js'")
    kind = {"content_type": "text/javascript"}
    tab.page.route("**/adapters/react.js", lambda route: route.fulfill(body=hook, **kind))
    tab.page.route("**/stand-in.js", lambda route: route.fulfill(body=REACT, **kind))
    tab.eval("""async () => {
        const { useField } = await import('/pages/adapters/react.js');
        [window.before, window.setPlace] = useField('lamp', 'place');
        window.shown = [];
        window.end = hook.subscribe(() => {
            if (shown.at(-1) !== hook.snapshot()) shown.push(hook.snapshot());
        });
    }""")
    tab.until("the value", "() => shown.at(-1)?.value?.room === 'hall'")
    same(tab.eval("() => hook.snapshot() === hook.snapshot()"), True)
    count = tab.eval("() => shown.length")
    stand.set("lamp.level=4")
    tab.shows("lamp", "level", 4)
    same(tab.eval("() => shown.length"), count, "another field")
    outcome = tab.eval("() => setPlace({ room: 'attic' })")
    same(outcome["kind"], "committed")
    tab.until("the states", "() => shown.some(({ info }) => info.state === 'pending') && !shown.at(-1).info.state")
    same(tab.eval("() => shown.at(-1).value"), {"room": "attic"})
    tab.eval("() => end()")
    count = tab.eval("() => shown.length")
    stand.set('lamp.place:={"room":"hall"}')
    tab.shows("lamp", "place", {"room": "hall"})
    same(tab.eval("() => shown.length"), count)
