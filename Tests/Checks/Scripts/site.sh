#!/usr/bin/env bash
# The site of the documentation: what it makes of Markdown and of a catalogue of DocC, which faults of its sources it
# names, and its search, its schemes and its list of pages in a browser, without a server.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh
# shellcheck source=scripts/support/prerequisites.sh
source scripts/support/prerequisites.sh

answers 0 scripts/docs --help
answers 64 scripts/docs --no-such-option
if ! python=$(python_with_markdown); then
  log 'site.sh: nothing is made: no python3 can import markdown_it and pygments; run scripts/setup --docs'
  exit 0
fi
build=("$python" -B scripts/site/build.py)
answers 0 "${build[@]}" --help
answers 64 "${build[@]}"
answers 64 "${build[@]}" --output /tmp/none --catalogue Lamps

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/checkout site=$folder/site
mkdir -p "$root/docs/guide" "$root/docs/design/decisions" "$root/Sources/BindingTerminal" \
  "$root/Sources/BindingWeb/Pages/pages"
cp Sources/BindingTerminal/ProgramVersion.swift "$root/Sources/BindingTerminal"
cp Sources/BindingWeb/Pages/pages/icon.svg "$root/Sources/BindingWeb/Pages/pages"
cat >"$root/README.md" <<'PAGE'
# Lamps & <b>bulbs</b>

See [the guide](docs/guide/lamps.md#dim--bright), [its source](Sources/lamp.swift), and `code <tags>`.
<!-- a remark for editors -->
PAGE
cat >"$root/docs/README.md" <<'PAGE'
# What is where

## Begin

| page | says |
|---|---|
| [the first page](../README.md) | what it is |
| about [lamps](guide/lamps.md), [shades](guide/shades.md) | how they are used |
PAGE
cat >"$root/docs/guide/lamps.md" <<'PAGE'
# Lamps

## Dim & bright

A word that stands nowhere else: quicksilver.

```console
shell$ bindpeer set lamp.level=0.8
lamp  0 → 1
```
```swift
let level = "1" // at most <1>
```

## Off

[Back](../../README.md), [down](#dim--bright), [decided](../design/decisions).
PAGE
printf '# Shades\n\nNothing.\n' >"$root/docs/guide/shades.md"
printf '# Lamps stay on\n' >"$root/docs/design/decisions/2026-01-02-on.md"

# faulty WORDS FILE TEXT: with this text the site is refused, and the reason contains the words.
faulty() {
  local kept
  kept=$(cat "$root/$2")
  printf '%s\n' "$3" >"$root/$2"
  answers 1 "${build[@]}" --root "$root" --output "$folder/faulty"
  if [[ $words != *"$1"* ]]; then
    log "site.sh: not refused for '$1': $words"
    exit 1
  fi
  printf '%s\n' "$kept" >"$root/$2"
}
faulty 'has no heading #brigth' README.md '# A

[guide](docs/guide/lamps.md#brigth)'
faulty 'has no heading #up' docs/guide/shades.md '# A

[up](#up)'
faulty 'no headings with tables' docs/README.md '# A'
faulty 'has no number' Sources/BindingTerminal/ProgramVersion.swift '// nothing'
answers 1 "${build[@]}" --root "$root" --output "$site" --catalogue "Lamps=$folder"
[[ $words == *'convert the catalogue of Lamps'* ]] || { log "site.sh: $words" && exit 1; }

# contains FILE WORDS: a page of the site has these words.
contains() {
  if ! grep -qF -- "$2" "$site/$1"; then
    log "site.sh: $1 has no: $2"
    exit 1
  fi
}
answers 0 "${build[@]}" --root "$root" --output "$site" --sources https://sources.example/main/
contains index.html 'href="https://sources.example/main/Sources/lamp.swift"'
answers 0 "${build[@]}" --root "$root" --output "$site"
contains index.html 'Lamps &amp; &lt;b&gt;bulbs&lt;/b&gt;</h1>'
contains index.html '<span class="source" title="in the sources: Sources/lamp.swift">its source</span>'
contains index.html '<code>code &lt;tags&gt;</code>'
contains index.html 'href="docs/guide/lamps.html#dim--bright"'
contains index.html 'rel="next" href="docs/guide/lamps.html"'
contains docs/guide/lamps.html '<h2 id="dim--bright">Dim &amp; bright</h2>'
contains docs/guide/lamps.html '<span class="p">shell$ </span><span class="typed">bindpeer set lamp.level=0.8</span>'
contains docs/guide/lamps.html '<span class="c">// at most &lt;1&gt;</span>'
contains docs/guide/lamps.html 'about shades</a>'
contains docs/design/decisions/index.html '<a href="2026-01-02-on.html">Lamps stay on</a> 2026-01-02'
if grep -q 'remark for editors' "$site/index.html"; then log 'site.sh: a comment is shown' && exit 1; fi

if ! browser=$(chromium_path) || ! driver=$(python_with_playwright); then
  log 'site.sh: not tried in a browser: scripts/setup --browser installs it'
  exit 0
fi
"$driver" -B - "$browser" "file://$site/index.html" <<'PYTHON'
import sys

from playwright.sync_api import expect, sync_playwright

with sync_playwright() as play:
    browser = play.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox"])
    page, complaints = browser.new_page(color_scheme="light"), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(sys.argv[2])
    # The search: `/` leads to it, the words of a section find it, Enter goes there.
    page.keyboard.press("/")
    page.keyboard.type("stands QUICK")
    found = page.get_by_role("option")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("Dim & bright")
    expect(found.locator("mark").first).to_have_text("stands")
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/guide/lamps.html#dim--bright")
    expect(page.locator(".all-pages [aria-current]")).to_have_text("about lamps")
    field = page.get_by_role("combobox")
    field.fill("lamps")
    expect(found.nth(0)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(found.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(found).to_have_count(0)
    field.fill("lamps <nowhere>")
    expect(page.locator(".found")).to_contain_text("Nothing has all of: lamps <nowhere>")
    field.press("Escape")
    # The scheme is the system's, then the reader's, also on the next page.
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    assert page.evaluate(ground) == "rgb(244, 243, 239)", page.evaluate(ground)
    for name in ("Light", "Dark"):
        page.locator(".scheme").click()
        expect(page.locator(".scheme")).to_have_text(name)
    page.get_by_role("link", name="about shades").first.click()
    expect(page.locator("h1")).to_have_text("Shades")
    assert page.evaluate(ground) == "rgb(15, 18, 20)", page.evaluate(ground)
    # On a small screen the list of pages opens by a button, and nothing is wider than the screen.
    page.set_viewport_size({"width": 320, "height": 600})
    expect(page.locator(".all-pages")).to_be_hidden()
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("link", name="the first page").first.click()
    expect(page.locator("h1")).to_contain_text("Lamps & <b>bulbs</b>")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert not complaints, complaints
    browser.close()
PYTHON
log 'site.sh: passed'
