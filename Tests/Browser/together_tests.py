"""Several users type into one text at the same time: each typed letter appears once, and no caret moves wrongly.

BINDBUS_TYPING_SECONDS sets how long the four users type (10).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from typing import Any

from stand import Stand, Tab, eventually, expect, same

EVERY_MILLISECONDS = 30
SECONDS = int(os.environ.get("BINDBUS_TYPING_SECONDS", "10"))
COUNT = SECONDS * 1000 // EVERY_MILLISECONDS
VALUE = "() => document.getElementById('text').value"


def letters(first: int, count: int = COUNT) -> str:
    """This number of letters, all different."""
    return "".join(chr(first + number) for number in range(count))


def sheet(stand: Stand) -> Tab:
    tab = stand.tab("/pages/sheet.html").live()
    tab.page.add_script_tag(url="/pages/typist.js")
    tab.page.focus("#text")
    return tab


def begin(tab: Tab, text: str, moves: bool, seed: int) -> None:
    tab.eval("""([text, every, moves, seed]) => {
        window.isDone = false;
        window.typist.start([...text], every, moves, seed).then(() => { window.isDone = true; });
    }""", [text, EVERY_MILLISECONDS, moves, seed])


def once(text: str, typed: str, who: str) -> None:
    lost = [letter for letter in typed if letter not in text]
    twice = [letter for letter in typed if text.count(letter) > 1]
    expect(not lost and not twice, f"of what {who} typed {len(lost)} letters are lost, {len(twice)} are there twice: "
           f"{''.join(lost[:20])} {''.join(twice[:20])}")


def test_two_who_type_at_both_ends_keep_all_their_letters(stand: Stand) -> None:
    stand.serve()
    stand.describe("sheet", text={"type": "string", "policy": "text"})
    stand.set("sheet.text=one two three")
    tabs = [sheet(stand), sheet(stand)]
    for tab, at in zip(tabs, (0, 13)):
        tab.shows("sheet", "text", "one two three")
        tab.until("the text", "() => document.getElementById('text').value.length === 13")
        tab.eval("(at) => document.getElementById('text').setSelectionRange(at, at)", at)
    for tab, text in zip(tabs, ("A" * 25, "B" * 25)):
        begin(tab, text, False, 1)
    for tab in tabs:
        tab.until("all typed", "() => window.isDone")
    wanted = "A" * 25 + "one two three" + "B" * 25
    stand.committed("sheet", "text", wanted)
    for tab in tabs:
        tab.until("the whole text", "(wanted) => document.getElementById('text').value === wanted", wanted)
        same(tab.eval("() => typist.astray"), [], "carets that went astray")


def test_what_others_put_in_during_a_composition_stays(stand: Stand) -> None:
    stand.serve()
    stand.describe("sheet", text={"type": "string", "policy": "text"})
    stand.set("sheet.text=one two")
    tab = sheet(stand)
    tab.until("the text", "() => document.getElementById('text').value === 'one two'")
    tab.eval("() => document.getElementById('text').setSelectionRange(3, 3)")
    person = tab.context.new_cdp_session(tab.page)
    person.send("Input.imeSetComposition", {"text": "に", "selectionStart": 1, "selectionEnd": 1})
    stand.set("sheet.text=REMOTE\none two three")
    tab.shows("sheet", "text", "REMOTE\none two three")
    same(tab.eval(VALUE), "oneに two", "the text that is being composed")
    person.send("Input.insertText", {"text": "日"})
    stand.committed("sheet", "text", "REMOTE\none日 two three")
    tab.until("both", "() => document.getElementById('text').value === 'REMOTE\\none日 two three'")
    same(tab.eval("() => document.getElementById('text').selectionStart"), 11, "the caret")


class Terminal(threading.Thread):
    """Edits the text with `bindpeer get` and `bindpeer set`, as fast as possible."""

    def __init__(self, stand: Stand, text: str):
        super().__init__(daemon=True)
        self.stand, self.text, self.typed, self.wrong = stand, text, "", ""
        self.isOver = threading.Event()

    def command(self, *arguments: str) -> str:
        done = subprocess.run([self.stand.bin / "bindpeer", *arguments], env=self.stand.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
        if done.returncode:
            self.wrong = f"{arguments[0]} ended with {done.returncode}: {done.stderr}"
        return done.stdout

    def run(self) -> None:
        for number, letter in enumerate(self.text):
            if self.isOver.is_set() or self.wrong:
                return
            found = self.command("get", "sheet", "--json", "--timeout", "20s")
            text = json.loads(found or "{}").get("values", {}).get("text", "")
            place = number * 7919 % (len(text) + 1)
            self.command("set", f"sheet.text={text[:place]}{letter}{text[place:]}", "--text", "--was", text,
                         "--timeout", "20s")
            if not self.wrong:
                self.typed += letter


def compose(tab: Tab) -> str:
    """Composes two letters while the other users continue to type."""
    person = tab.context.new_cdp_session(tab.page)
    tab.eval("() => { typist.isResting = true; }")
    person.send("Input.imeSetComposition", {"text": "ゐ", "selectionStart": 1, "selectionEnd": 1})
    tab.eval("() => { window.before = bind.model('sheet').get('text').length; }")
    tab.until("five letters of the others", "() => bind.model('sheet').get('text').length > window.before + 5")
    person.send("Input.insertText", {"text": "ゐゑ"})
    tab.eval("() => { typist.isResting = false; }")
    return "ゐゑ"


def test_two_tabs_a_process_and_a_terminal_type_into_one_text_and_nothing_is_lost(stand: Stand) -> None:
    signal.alarm(SECONDS * 3 + 60)
    stand.serve()
    typist = stand.start("typist", "bindlab", "type", "sheet", "--count", str(COUNT))
    typist.expect("the ready line", lambda line: line.text == "ready")
    tabs = [sheet(stand), sheet(stand)]
    terminal = Terminal(stand, letters(0xA000))
    for tab, first, seed in zip(tabs, (0x4E00, 0x5E00), (3, 5)):
        begin(tab, letters(first), True, seed)
    write(typist, "go")
    terminal.start()
    composed = compose(tabs[0])
    for tab in tabs:
        wait_long(stand, "all of the tab's letters", lambda: tab.eval("() => window.isDone"))
    wait_long(stand, "all of the process's letters", lambda: any(line.text == "typed" for line in typist.lines))
    terminal.isOver.set()
    wait_long(stand, "the end of the terminal", lambda: not terminal.is_alive())
    same(terminal.wrong, "", "what the terminal said")
    for tab in tabs:
        # When three type ten times as fast as people, some of the text is still unsent at the end.
        isSent = "() => !document.querySelector('#text').dataset.state"
        wait_long(stand, "the tab's last commit", lambda: tab.eval(isSent))
    text = eventually("one text everywhere", lambda: agreed(stand, tabs, typist), stand.breathe)
    once(text, letters(0x4E00) + composed, "the first tab")
    once(text, letters(0x5E00), "the second tab")
    once(text, letters(0xAC00), "the process")
    once(text, terminal.typed, "the terminal")
    rest = len(text.replace(" ", "")) - len(composed) - 3 * COUNT - len(terminal.typed)
    same(rest, 0, "letters that nobody typed")
    for tab in tabs:
        same(tab.eval("() => typist.astray"), [], "carets that went astray")
        same(tab.complaints, [], "complaints")
    stand.log(f"{SECONDS} s, {len(text)} letters and spaces, {len(terminal.typed)} of them from the terminal, "
              f"{stand.get('sheet')['version']} commits")


def write(typist: Any, command: str) -> None:
    typist.process.stdin.write(command + "\n")
    typist.process.stdin.flush()


def wait_long(stand: Stand, what: str, look: Any) -> None:
    for _ in range(SECONDS // 5 + 1):
        try:
            eventually(what, look, stand.breathe)
            return
        except Exception as error:  # noqa: BLE001
            last = error
    raise last


def agreed(stand: Stand, tabs: list[Tab], typist: Any) -> str | None:
    """The text if all four show the same text, else None."""
    count = len(typist.lines)
    write(typist, "look")
    typed = typist.expect("its text", lambda line: "text" in line.json, count).json["text"]
    there = stand.get("sheet")["values"].get("text")
    return there if all(one == there for one in [typed, *[tab.eval(VALUE) for tab in tabs]]) else None
