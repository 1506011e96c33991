"""The table of the models below a prefix: rows and columns, live values, editing, one value for all, sorting, CSV."""

from __future__ import annotations

from stand import Stand, Tab, expect, same

KIOSK = {
    "banner": {"type": "string", "order": 1, "default": "", "maxLength": 40},
    "brightness": {"type": "number", "min": 0, "max": 1, "order": 2, "unit": "%", "title": "Brightness"},
    "open": {"type": "boolean", "order": 3, "default": False},
    "mode": {"type": "string", "choices": ["sale", "night"], "order": 4, "default": "sale"},
}
# The cells as a person reads them: a head's own words, a control's value, `[x]` for what is on.
CELLS = """() => [...document.querySelectorAll('#table tr')].map((row) => [...row.cells].map((cell) => {
    const control = cell.querySelector('input, select, textarea');
    if (control) return control.type === 'checkbox' ? control.checked ? '[x]' : '[ ]' : control.value;
    return (cell.querySelector('.plain') ?? cell).textContent.trim();
}).join(' | '))"""


def opened(stand: Stand, path: str = "/table/shop") -> Tab:
    stand.serve()
    for number in (1, 2, 10):
        stand.describe(f"shop/kiosk-{number}", **KIOSK)
        stand.set(f"shop/kiosk-{number}.brightness=0.{number}")
    stand.set("shop/door.open=true", "shop/door.locks=2", "lamp.on=true")
    tab = stand.tab(path).live()
    tab.page.locator("#rows tr").nth(3).wait_for()
    return tab


def has_cells(tab: Tab, *wanted: str) -> None:
    tab.until(f"the cells {wanted}", f"(wanted) => JSON.stringify(({CELLS})()) === JSON.stringify(wanted)",
              list(wanted))


def test_models_are_rows_and_their_fields_columns(stand: Stand) -> None:
    tab = opened(stand)
    has_cells(tab, "Model | locks | banner | Brightness | open | mode", "door | 2 | · | · | true | ·",
              "kiosk-1 | · |  | 0.1 | false | sale", "kiosk-2 | · |  | 0.2 | false | sale",
              "kiosk-10 | · |  | 0.1 | false | sale")
    same(tab.page.locator("#count").text_content(), "4 models")
    same(tab.page.title(), "shop/ · Table")
    # What others write is seen, a new model too, and a field that only it has.
    stand.set("shop/kiosk-2.brightness=0.9", "shop/gate.speed=3")
    has_cells(tab, "Model | locks | banner | Brightness | open | mode | speed", "door | 2 | · | · | true | · | ·",
              "gate | · | · | · | · | · | 3", "kiosk-1 | · |  | 0.1 | false | sale | ·",
              "kiosk-2 | · |  | 0.9 | false | sale | ·", "kiosk-10 | · |  | 0.1 | false | sale | ·")
    tab.page.get_by_label("Find a model").fill("kiosk 1")
    has_cells(tab, "Model | banner | Brightness | open | mode", "kiosk-1 |  | 0.1 | false | sale",
              "kiosk-10 |  | 0.1 | false | sale")
    same(tab.page.locator("#count").text_content(), "2 of 5 models")
    tab.page.get_by_label("Find a model").fill("nowhere")
    tab.page.get_by_text("No model name contains this text.").wait_for()
    same(tab.complaints, [])


def test_all_models_and_none(stand: Stand) -> None:
    tab = opened(stand, "/table")
    tab.until("five rows", "() => document.querySelectorAll('#rows tr').length === 5")
    same(tab.page.locator("#rows th").first.inner_text(), "lamp")
    empty = stand.tab("/table/nothing/here/")
    empty.page.get_by_text("bindpeer set nothing/here/lamp.on=true").wait_for()
    same(tab.complaints + empty.complaints, [])


def test_rows_are_sorted_by_a_column_when_that_is_asked_for(stand: Stand) -> None:
    tab = opened(stand)
    names = lambda *wanted: tab.until(f"the rows {wanted}", """(wanted) => JSON.stringify(wanted) === JSON.stringify(
        [...document.querySelectorAll('#rows th > a')].map((one) => one.textContent))""", list(wanted))
    tab.page.get_by_role("button", name="Brightness", exact=True).click()
    names("kiosk-1", "kiosk-10", "kiosk-2", "door")
    tab.page.get_by_role("button", name="Brightness", exact=True).click()
    names("kiosk-2", "kiosk-1", "kiosk-10", "door")
    same(tab.page.locator("#heads [aria-sort]").get_attribute("aria-sort"), "descending")
    # A value that changes leaves the rows where they are; a new one is last.
    stand.set("shop/kiosk-10.brightness=1", "shop/arch.brightness=0.5")
    tab.shows("shop/kiosk-10", "brightness", 1)
    names("kiosk-2", "kiosk-1", "kiosk-10", "door", "arch")
    tab.page.get_by_role("button", name="Model", exact=True).click()
    names("arch", "door", "kiosk-1", "kiosk-2", "kiosk-10")
    tab.page.get_by_role("button", name="Model", exact=True).click()
    names("kiosk-10", "kiosk-2", "kiosk-1", "door", "arch")
    same(tab.complaints, [])


def test_cells_are_edited_with_the_keyboard(stand: Stand) -> None:
    tab = opened(stand)
    keyboard = tab.page.keyboard
    expect(tab.page.locator("#rows input").count() == 0, "there are controls before Edit is on")
    tab.page.get_by_label("Edit").check()
    tab.page.locator("#rows [data-bind=brightness]").nth(2).wait_for()
    tab.page.get_by_label("Find a model").press("ArrowDown")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "Enter"):
        keyboard.press(key)
    same(tab.eval("() => document.activeElement.getAttribute('aria-label')"), "Brightness of shop/kiosk-1")
    keyboard.type("0.7")
    keyboard.press("Enter")  # writes, and goes down
    stand.committed("shop/kiosk-1", "brightness", 0.7)
    same(tab.eval("() => document.activeElement.getAttribute('aria-label')"), "Brightness of shop/kiosk-2")
    keyboard.type("7")
    keyboard.press("Enter")
    tab.state("[data-model='shop/kiosk-2'] [data-bind=brightness]", "refused")
    same(stand.get("shop/kiosk-2")["values"]["brightness"], 0.2)
    keyboard.press("Escape")
    same(tab.eval("() => document.activeElement.tagName"), "TD")
    keyboard.press("Control+Home")
    same(tab.eval("() => document.activeElement.textContent"), "door")
    keyboard.press("End")
    keyboard.press("ArrowUp")  # there is nothing above
    same(tab.eval("() => document.activeElement.cellIndex"), 5)
    # Boxes and choices are live.
    tab.page.get_by_label("open of shop/kiosk-2").check()
    stand.committed("shop/kiosk-2", "open", True)
    tab.page.get_by_label("mode of shop/kiosk-2").select_option("night")
    stand.committed("shop/kiosk-2", "mode", "night")


def set_for_all(tab: Tab, column: str, value: str) -> None:
    tab.page.get_by_label("Edit").check()
    tab.page.get_by_role("button", name=f"Set {column} of all models").click()
    control = tab.page.locator("#for-all-control")
    control.wait_for()
    control.select_option(value) if control.evaluate("(one) => one.tagName") == "SELECT" else control.fill(value)
    tab.page.get_by_role("button", name="Write").click()


def test_one_value_is_written_in_all_models_and_taken_back(stand: Stand) -> None:
    tab = opened(stand)
    set_for_all(tab, "Brightness", "0.5")
    tab.page.get_by_text("brightness is 0.5 in 3 models").wait_for()
    for number in (1, 2, 10):
        stand.committed(f"shop/kiosk-{number}", "brightness", 0.5)
    expect("brightness" not in stand.get("shop/door")["values"], "a model without the field got it")
    tab.page.get_by_role("button", name="Undo").click()
    tab.page.get_by_text("Taken back in 3 models").wait_for()
    same([stand.get(f"shop/kiosk-{number}")["values"]["brightness"] for number in (1, 2, 10)], [0.1, 0.2, 0.1])
    # Only what is found; a choice; nothing after Cancel.
    tab.page.get_by_label("Find a model").fill("kiosk-1")
    tab.until("two rows", "() => document.querySelectorAll('#rows tr').length === 2")
    set_for_all(tab, "mode", "night")
    tab.page.get_by_text('mode is "night" in 2 models').wait_for()
    same(stand.get("shop/kiosk-2")["values"].get("mode"), None)
    tab.page.get_by_role("button", name="Set open of all models").click()
    tab.page.get_by_role("button", name="Cancel").click()
    same(len(tab.proposals("open")), 0)
    # After another write there is nothing that one button could take back.
    set_for_all(tab, "open", "true")
    tab.page.get_by_text("open is true in 2 models").wait_for()
    tab.page.get_by_role("button", name="Undo").wait_for()
    tab.page.get_by_label("open of shop/kiosk-1", exact=True).uncheck()
    tab.page.get_by_role("button", name="Undo").wait_for(state="hidden")
    same(tab.complaints, [])


def test_what_does_not_fit_some_models_is_said(stand: Stand) -> None:
    tab = opened(stand)
    stand.describe("shop/kiosk-2", **{**KIOSK, "brightness": {**KIOSK["brightness"], "max": 0.4}})
    tab.until("the narrower range", "() => bind.model('shop/kiosk-2').describe('brightness').max === 0.4")
    set_for_all(tab, "Brightness", "0.5")
    tab.page.get_by_text("brightness is 0.5 in 2 models; not in shop/kiosk-2: ").wait_for()
    same(stand.get("shop/kiosk-2")["values"]["brightness"], 0.2)
    tab.page.get_by_role("button", name="Undo").click()
    tab.page.get_by_text("Taken back in 2 models").wait_for()


def test_the_table_is_saved_as_a_file_that_can_be_imported(stand: Stand) -> None:
    tab = opened(stand)
    stand.set("shop/kiosk-1.banner==1+1", 'shop/kiosk-2.banner=say "hi", now', "shop/kiosk-10.banner:=\"true\"")
    stand.describe("shop/door", key={"type": "string", "secret": True, "default": "4711"})
    tab.shows("shop/kiosk-10", "banner", "true")
    tab.page.get_by_text("(secret)").wait_for()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Save as CSV").click()
    same(download.value.suggested_filename, "shop.csv")
    file = stand.folder / "shop.csv"
    download.value.save_as(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    same(lines, ["model,locks,banner,brightness,open,mode", "shop/door,2,,,true,",
                 'shop/kiosk-1,,"""=1+1""",0.1,false,sale', 'shop/kiosk-2,,"say ""hi"", now",0.2,false,sale',
                 'shop/kiosk-10,,"""true""",0.1,false,sale'])
    before = [stand.get(f"shop/kiosk-{number}")["values"] for number in (1, 2, 10)]
    stand.run("import", str(file))
    after = [stand.get(f"shop/kiosk-{number}")["values"] for number in (1, 2, 10)]
    same([each["banner"] for each in after], [each["banner"] for each in before])


def test_a_table_fits_a_small_screen_and_a_large_prefix(stand: Stand) -> None:
    tab = opened(stand)
    tab.page.set_viewport_size({"width": 320, "height": 600})
    expect(tab.eval("() => document.documentElement.scrollWidth") <= 320, "the page is wider than the screen")
    tab.page.get_by_label("Edit").check()
    box = tab.page.get_by_role("button", name="Save as CSV").bounding_box()
    expect(box is not None and box["x"] + box["width"] <= 320, f"a button is out of sight: {box}")
    # The name of a model stays in sight beside its last field.
    tab.page.get_by_label("mode of shop/kiosk-2").focus()
    expect(tab.page.locator("#rows th").first.bounding_box()["x"] < 5, "the names scroll away")
    # So many models are followed and shown; the others are found by their names.
    lines = [f'{{"model": "many/m-{number}", "values": {{"n": {number}}}}}' for number in range(203)]
    file = stand.folder / "many.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stand.run("import", str(file))
    large = stand.tab("/table/many")
    large.page.get_by_text("200 of 203 models: find fewer to see the others").wait_for()
    large.until("200 rows", "() => document.querySelectorAll('#rows tr').length === 200")
    large.page.get_by_label("Find a model").fill("m-202")
    large.until("the one", """() =>
        document.querySelector('#rows').innerText.trim().split(/\\s+/).join() === 'm-202,202'""")
    same(large.eval("() => [...bind.link().models.values()].filter((one) => one.state !== 'left').length"), 1)
    same(tab.complaints + large.complaints, [])
