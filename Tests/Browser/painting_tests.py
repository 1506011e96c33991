"""Rule 10 of the page: one repaint per frame, and none in a hidden tab."""

from __future__ import annotations

import json

from stand import Stand, expect, same

# Counts, for each frame, how often the text of an output was replaced.
WATCH = """() => {
    const frames = (window.frames_ = []);
    let now = 0;
    const frame = () => { frames.push(now); now = 0; requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
    new MutationObserver((list) => { now += list.length ? 1 : 0; })
      .observe(document.getElementById("shown"), { childList: true, characterData: true, subtree: true });
    window.count = ear.writesTo(document.getElementById("level"));
}"""

# Simulates a hidden tab: it reports that it is hidden, and has no animation frames.
HIDE = """(isHidden) => {
    if (!window.held) {
        window.held = [];
        const really = window.requestAnimationFrame.bind(window);
        window.requestAnimationFrame = (call) => (document.hidden ? window.held.push(call) : really(call));
    }
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    const state = isHidden ? "hidden" : "visible";
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
    if (!isHidden) for (const call of window.held.splice(0)) requestAnimationFrame(call);
}"""


def test_rule_10_many_commits_in_a_frame_are_painted_once(stand: Stand) -> None:
    tab = stand.tab().live()
    tab.eval(WATCH)
    writer = stand.start("writer", "bindpeer", "pipe", "lamp")
    for number in range(1, 301):
        writer.write({"level": number % 100, f"x{number % 7}": number})
    writer.write({"level": 77, "count": 300})
    tab.until("the last", "() => document.getElementById('shown').textContent === '77'")
    paints = tab.eval("() => window.frames_.reduce((sum, one) => sum + one, 0)")
    most = tab.eval("() => Math.max(...window.frames_)")
    commits = tab.eval("() => ear.received.reduce((sum, one) => sum + (one.commits?.length ?? 0), 0)")
    writes, frames = tab.eval("() => [window.count.writes, window.frames_.length]")
    stand.log(f"{commits} commits were painted {paints} times in {frames} frames")
    same(most, 1, "repaints of one element in one frame")
    expect(writes <= frames, f"{writes} writes to a control in {frames} frames")


def test_rule_10_a_hidden_tab_receives_commits_without_painting(stand: Stand) -> None:
    tab = stand.tab().live()
    stand.set("lamp.level=10")
    tab.until("the level", "() => document.getElementById('shown').textContent === '10'")
    tab.eval(HIDE, True)
    tab.eval(WATCH)
    for number in (20, 30, 40):
        stand.set(f"lamp.level={number}")
    tab.shows("lamp", "level", 40)
    same(tab.eval("() => document.getElementById('shown').textContent"), "10", "what a hidden tab has painted")
    same(tab.eval("() => window.count.writes"), 0, "writes to a control of a hidden tab")
    tab.eval(HIDE, False)
    tab.until("the level once it is seen again", "() => document.getElementById('shown').textContent === '40'")


def test_values_with_markup_or_control_characters_are_shown_as_text(stand: Stand) -> None:
    values = [
        "<img src=x onerror=\"window.pwned=1\">", "<script>window.pwned=1</script>",
        "</textarea><svg onload=window.pwned=1>",
        "&lt;b&gt; &amp; \"quoted\" 'so'", "{{7*7}} ${7*7} `x`", "javascript:window.pwned=1",
        "left \u202e right \u2066isolated\u2069 end", "nul \u0000 bell \u0007 escape \u001b[31m",
        "line\u2028separator\u2029",
        "a face \U0001f600", "a\tb", "\ufeffmark", "e\u0301 é", "ﷺ" * 20, "x" * 5000,
    ]
    tab = stand.tab().live()
    for number, value in enumerate(values):
        # Written as JSON, because no argument of a process can contain U+0000.
        stand.set(*(f"lamp.{field}:={json.dumps(value)}" for field in ("plain", "name", "note", "target")),
                  f"lamp.count={number + 1}")
        tab.until("the commit", "(text) => document.getElementById('count').value === text", str(number + 1))
        same(tab.eval("() => document.getElementById('plain').textContent"), value, "the text shown")
        same(tab.eval("() => document.getElementById('plain').childElementCount"), 0, "elements made of a value")
        wanted = value.replace("\n", "")
        same(tab.eval("() => document.getElementById('name').value"), wanted, "the text in an input")
        same(tab.eval("() => document.querySelector('h1 output').title"), value, "the text in an attribute")
        href = tab.eval("() => document.getElementById('link').getAttribute('href')")
        expect(not str(href).lstrip().lower().startswith("javascript"), f"a link leads to {href}")
    expect(not tab.eval("() => window.pwned"), "a value was executed")
    made = tab.eval("() => document.querySelectorAll('img, svg, main script, main b').length")
    same(made, 0, "elements made of values")
    same(tab.eval("() => ear.stopped"), [], "requests that the policy blocked")
