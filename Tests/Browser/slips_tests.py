"""Meters and names beside controls; and typing errors of a page's author, which the console reports."""

from __future__ import annotations

from stand import Stand, expect, same

ADD = """(html) => {
    const place = document.createElement('section')
    place.dataset.model = 'lamp'
    place.innerHTML = html
    document.querySelector('main').after(place)
}"""


def test_meters_and_progress_bars_show_a_value_in_its_described_range(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number", "min": 0, "max": 80}, share={"type": "number"})
    stand.set("lamp.level=20", "lamp.share=0.5")
    tab = stand.tab().live()
    tab.eval(ADD, '<meter id="meter" data-bind="level"></meter> <progress id="bar" data-bind="level"></progress>'
                  '<progress id="own" max="2" data-bind="share"></progress>')
    tab.until("the values", "() => document.getElementById('meter').value === 20 "
              "&& document.getElementById('bar').position === 0.25 && document.getElementById('own').value === 0.5")
    same(tab.eval("() => [document.getElementById('meter').max, document.getElementById('own').max]"), [80, 2])
    stand.set("lamp.level=40")
    tab.until("the next value", "() => document.getElementById('bar').position === 0.5")
    same(tab.complaints, [])


def test_the_console_warns_of_mistyped_attributes_and_of_nothing_else(stand: Stand) -> None:
    stand.serve()
    stand.describe("lamp", level={"type": "number"}, name={"type": "string"}, place={"type": "object"})
    stand.set("lamp.level=1")
    tab = stand.tab().live()
    tab.shows("lamp", "level", 1)
    same(tab.complaints, [])
    tab.eval("() => { bind.formats.own = String }")
    tab.eval(ADD, """<b data-bind="lvel"></b> <b data-bind="level" data-format="percnt:1"></b>
        <b data-bind="level" data-format="own"></b> <input data-bind="name" data-bind-on="chnage" aria-label="a">
        <b data-bind="place.a.b"></b> <b data-bind="name" data-bind-attr="onclick"></b> <b data-bind="free"></b>""")
    tab.until("five complaints", "() => true")
    tab.page.wait_for_function("() => [...document.querySelectorAll('section b')][1].textContent === '1'")
    wanted = ["describes no field 'lvel'; did you mean 'level'?", 'data-format="percnt:1": the formats are',
              'data-bind-on="chnage": the events are', "place.a.b: only a direct member",
              'data-bind-attr="onclick" cannot']
    for words in wanted:
        expect(sum(words in one for one in tab.complaints) == 1, f"{words}: {tab.complaints}")
    same(len(tab.complaints), len(wanted), str(tab.complaints))


def test_pages_come_packed(stand: Stand) -> None:
    tab = stand.tab().live()
    packed = {url.rsplit("/", 1)[1]: headers for url, headers in tab.headers.items()
              if headers.get("content-encoding") == "gzip"}
    for name in ("bind.js", "values.js", "page.css"):
        expect(int(packed[name]["content-length"]) < 16_000, f"{name}: {packed.get(name)}")


def test_a_page_is_present_under_its_own_name_and_the_gateway_is_absent(stand: Stand) -> None:
    stand.serve()
    stand.set("lamp.on=true")
    tab = stand.tab("/pages/named.html").live()
    tab.eval("() => bind.model('lamp').set('on', false)")
    origin = stand.committed("lamp", "on", False)["meta"]["on"]["origin"]
    same(origin, tab.eval("() => `Ann-${bind.link().tag.slice(0, 4)}`"))
    board = stand.tab("/").live()
    board.page.locator("[data-id='lamp']").click()
    board.until("who is there", "() => document.getElementById('present').textContent.includes('Ann-')")
    words = board.eval("() => document.getElementById('present').textContent")
    expect(words in (f"Here: {origin} · this page", f"Here: this page · {origin}"), words)
