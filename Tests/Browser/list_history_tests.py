"""The dashboard's history of lists: by elements, and back to what a list was."""

from __future__ import annotations

from cues import committed, described
from history_tests import TEXTS, look, opened, shows
from stand import Stand, expect, same


def test_the_history_of_a_list_is_that_of_its_elements(stand: Stand) -> None:
    described(stand)
    stand.set("show.cues[id=7].name=Storm", "show.title=Tempest")
    tab = opened(stand, "show")
    look(tab)
    shows(tab, [5, 4, 3, 2, 1])
    texts = tab.eval(TEXTS)
    expect('cues[id=7] → {"id":7,"name":"Storm","seconds":5}' in texts[0], texts[0])
    expect(not any("$list" in one or '"at"' in one for one in texts), str(texts))
    tab.page.get_by_label("Field", exact=True).select_option("cues")
    shows(tab, [5, 4, 3, 2])
    expect("Tempest" not in tab.eval(TEXTS)[0], "another field shows")
    stand.set("show.title=later")
    stand.set("show.cues[id=9].name=Dusk")
    shows(tab, [7, 5, 4, 3, 2])
    same(tab.complaints, [])


def test_a_list_is_reverted_with_its_order_and_back(stand: Stand) -> None:
    described(stand)
    stand.set("show.cues[id=7].name=Storm")
    stand.run("rm", "show.cues[id=3]")
    stand.set('show.cues=[{"id":9,"name":"Dawn","seconds":6},{"id":7,"name":"Storm","seconds":5}]')
    tab = opened(stand, "show")
    look(tab)
    tab.page.get_by_label("Edit").first.click()
    tab.page.get_by_role("button", name="Revert show to version 4").click()
    question = tab.page.locator("#past .question").inner_text()
    expect("cues[id=7] back to" in question and '"at"' not in question, question)
    tab.page.get_by_role("button", name="Yes", exact=True).click()
    committed(stand, "Rain", "Wind", "Dawn")
    tab.page.locator("#past").get_by_role("button", name="Undo").click()
    committed(stand, "Dawn", "Storm")
    same(tab.complaints, [])
