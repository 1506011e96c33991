// What somebody sees of the page, computed: the contrast of every text, and whether anything moves by itself.
(() => {
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  // Any CSS colour as red, green, blue (0 to 255) and opacity (0 to 1).
  function parsed(colour) {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = "#000";
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  }
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  function luminance([red, green, blue]) {
    const linear = (part) => (part <= 10.31475 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  }
  function ratio(one, other) {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  }

  // What lies behind an element's text: backgrounds from the outermost in, each over what is behind it.
  function behind(element) {
    const layers = [];
    for (let one = element; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.backgroundImage !== "none" && one === element) return null;
      layers.unshift(parsed(style.backgroundColor));
    }
    const scheme = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.reduce((under, layer) => over(layer, under), scheme);
  }
  const opacity = (element) => {
    let all = 1;
    for (let one = element; one; one = one.parentElement) all *= Number(getComputedStyle(one).opacity);
    return all;
  };
  function isSeen(element) {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = element.getBoundingClientRect();
    // One pixel or less, or cut off: for screen readers only.
    const { clip, clipPath } = getComputedStyle(element);
    return box.width > 1 && box.height > 1 && !/inset\(50%|rect\(0/.test(clip + clipPath);
  }
  const isOff = (element) => Boolean(element.closest(":disabled, [aria-disabled=true]"));

  function texts() {
    const all = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement;
      if (!node.data.trim() || !isSeen(element) || isOff(element)) continue;
      if (element.closest("option, script, style, noscript")) continue;
      all.push([element, node.data.trim(), getComputedStyle(element).color]);
    }
    for (const control of document.querySelectorAll("input, select, textarea")) {
      if (!isSeen(control) || isOff(control) || /^(range|color|checkbox|radio|hidden)$/.test(control.type)) continue;
      const style = getComputedStyle(control, control.value ? undefined : "::placeholder");
      const text = control.value || control.placeholder;
      if (text) all.push([control, text, style.color]);
    }
    return all;
  }

  const native = "a[href], button, input, select, textarea, summary";
  const called = (one) =>
    one.id || one.getAttribute("aria-label") || one.dataset.bind || one.textContent.trim().slice(0, 30);

  // Of what one reaches with the arrows, one is reached with Tab and stands for all.
  const grouping = ["tree", "listbox", "tablist", "radiogroup", "grid", "menu", "toolbar"];
  function groupOf(one) {
    if (one.type === "radio" && one.name) return `radio ${one.name}`;
    const group = one.closest(grouping.map((role) => `[role=${role}]`).join());
    return group && `${group.getAttribute("role")} ${group.id}`;
  }

  window.sight = {
    // Every text whose contrast is too low: what it says, the ratio, and both colours.
    faint() {
      const found = [];
      let lowest = 99;
      for (const [element, text, colour] of texts()) {
        const back = behind(element);
        if (!back) continue;
        const [r, g, b, a] = parsed(colour);
        const front = over([r, g, b, a * opacity(element)], back);
        const style = getComputedStyle(element);
        const size = parseFloat(style.fontSize);
        const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const value = ratio(front, back);
        lowest = Math.min(lowest, value);
        if (value < (isLarge ? 3 : 4.5)) {
          found.push(`${value.toFixed(2)} '${text.slice(0, 40)}' in ${element.localName}.${element.className}: ` +
            `${front.slice(0, 3).map(Math.round)} on ${back.slice(0, 3).map(Math.round)}`);
        }
      }
      return { found, lowest, count: texts().length };
    },
    moving: () => document.getAnimations()
      .filter((one) => one.playState === "running" && one.effect.getComputedTiming().activeDuration > 50)
      .map((one) => `${one.animationName ?? one.transitionProperty} of ${one.effect.target.outerHTML.slice(0, 80)}`),
    // What is wider than the window, and lets the page scroll sideways.
    wide() {
      const room = document.documentElement.clientWidth;
      if (document.scrollingElement.scrollWidth <= room) return [];
      return [...document.body.querySelectorAll("*")]
        .filter((one) => isSeen(one) && one.getBoundingClientRect().right > room + 1)
        .slice(0, 8)
        .map((one) => `${one.localName}.${one.className} ends at ${Math.round(one.getBoundingClientRect().right)}`)
        .concat(`the page is ${document.scrollingElement.scrollWidth} wide`);
    },
    // The controls that somebody could use now, numbered, so that a walk can tell which it has met.
    controls() {
      const all = `${native}, [tabindex], [role=button], [role=switch], [role=slider]`;
      const isOffered = (one) => isSeen(one) && !isOff(one) && one.type !== "hidden";
      const seen = [...document.querySelectorAll(all)].filter(isOffered);
      seen.forEach((one, number) => (one.dataset.walk = String(number)));
      return seen.map((one) => {
        const group = groupOf(one);
        return {
          number: Number(one.dataset.walk),
          words: `${one.localName} ${one.type ?? ""} ${called(one)}`,
          group: one.type === "radio" || one.tabIndex < 0 ? group : null,
          isPassive: one.tabIndex < 0 && !group && !one.matches(native),
        };
      });
    },
    // Where the focus is: which control, whether it is shown to be there, and of what kind it is.
    focus() {
      const one = document.activeElement;
      if (!one || one === document.body) return null;
      const style = getComputedStyle(one);
      const label = one.labels?.[0];
      const near = [style, ...(label ? [getComputedStyle(label)] : []), getComputedStyle(one.parentElement)];
      const isOutlined = (it) => it.outlineStyle !== "none" && parseFloat(it.outlineWidth) >= 1;
      const isMarked = near.some((it) => isOutlined(it) || it.boxShadow !== "none");
      return {
        number: one.dataset.walk === undefined ? null : Number(one.dataset.walk),
        group: groupOf(one),
        kind: one.localName === "input" ? one.type : one.localName,
        isMarked, isReadOnly: Boolean(one.readOnly), words: called(one),
        value: one.type === "checkbox" ? one.checked : one.value,
      };
    },
  };
})();
