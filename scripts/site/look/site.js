// The documentation's few lines: the scheme, the list of pages on small screens, copying of code, and the search, which
// needs no server: its index is a script that is loaded when the search is used first.
"use strict";

// The scheme is set before the page is painted: this script stands in the head.
const schemes = ["system", "light", "dark"], schemeNames = { system: "Auto", light: "Light", dark: "Dark" };
const keptScheme = () => {
  try { return localStorage.getItem("scheme") ?? "system"; } catch { return "system"; }
};
function setScheme(scheme) {
  if (scheme === "system") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}
setScheme(keptScheme());

document.addEventListener("DOMContentLoaded", () => {
  beginSchemes(document.querySelector(".scheme"));
  beginPages(document.querySelector(".open-pages"), document.querySelector(".all-pages"));
  for (const block of document.querySelectorAll("main .code")) addCopying(block);
  followHeadings([...document.querySelectorAll(".headings a")]);
  beginSearch(document.querySelector(".bar form"));
});

function beginSchemes(button) {
  const show = () => {
    button.textContent = schemeNames[keptScheme()];
    button.title = `Scheme: ${keptScheme()}`;
  };
  button.addEventListener("click", () => {
    const next = schemes[(schemes.indexOf(keptScheme()) + 1) % schemes.length];
    try { localStorage.setItem("scheme", next); } catch { /* It lasts as long as this page. */ }
    setScheme(next);
    show();
  });
  button.hidden = false;
  show();
}

function beginPages(button, list) {
  button.addEventListener("click", () => {
    const isOpen = list.classList.toggle("open");
    button.setAttribute("aria-expanded", String(isOpen));
  });
  list.querySelector("[aria-current]")?.scrollIntoView({ block: "center" });
  scrollTo(0, scrollY);
}

// What is typed is copied, without what is shown; of other code, all.
function addCopying(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const typed = [...block.querySelectorAll(".typed")].map((each) => each.textContent);
    const text = typed.length > 0 ? typed.join("\n") : block.querySelector("code").textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed here";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.append(button);
}

// The heading that is read stands out among the headings beside the page.
function followHeadings(links) {
  const places = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1)))).filter(Boolean);
  if (places.length === 0) return;
  const look = () => {
    const passed = places.filter((place) => place.getBoundingClientRect().top < 120);
    const current = (passed.at(-1) ?? places[0]).id;
    for (const link of links) {
      if (decodeURIComponent(link.hash.slice(1)) === current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  addEventListener("scroll", look, { passive: true });
  look();
}

// The search. Each section of each page is an entry; all words have to occur in it, in its heading or in its page's
// title, from their beginning. Words in headings count more than words in the text.

const shownResults = 20;
let entries;

function loadIndex(root) {
  entries ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}search-index.js`;
    script.addEventListener("load", () => resolve(globalThis.searchIndex.map(prepared)));
    script.addEventListener("error", () => reject(new Error("the index of the search is missing")));
    document.head.append(script);
  });
  return entries;
}

const plain = (text) => text.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
const prepared = ([address, title, heading, text]) => {
  const places = [[plain(title), heading ? 4 : 15], [plain(heading), 12], [plain(text), 1]];
  return { address, title, heading, text, places };
};

// Where a word begins in a text; -1: nowhere. A word may begin inside a name such as `setIfAbsent` or `--config`.
function placeOf(word, text) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
  }
  return word.length >= 4 ? text.indexOf(word) : -1;
}

function score(entry, words) {
  let sum = 0;
  for (const word of words) {
    let best = 0;
    for (const [text, weight] of entry.places) {
      const at = placeOf(word, text);
      if (at >= 0) best = Math.max(best, weight * (text.length === word.length ? 3 : at === 0 ? 1.5 : 1));
    }
    if (best === 0) return 0;
    sum += best;
  }
  return sum;
}

function search(all, query) {
  const words = plain(query).split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return all.map((entry) => ({ entry, value: score(entry, words) })).filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value).slice(0, shownResults).map(({ entry }) => ({ entry, words }));
}

function excerpt(text, words) {
  const lower = plain(text);
  const at = Math.min(...words.map((word) => lower.indexOf(word)).filter((place) => place >= 0), text.length);
  const from = at === text.length ? 0 : Math.max(0, at - 50);
  return `${from > 0 ? "…" : ""}${text.slice(from, from + 150)}${from + 150 < text.length ? "…" : ""}`;
}

function marked(text, words) {
  const parts = document.createDocumentFragment();
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu");
  text.split(pattern).forEach((part, index) => {
    if (index % 2 === 0) return parts.append(part);
    const mark = document.createElement("mark");
    mark.textContent = part;
    return parts.append(mark);
  });
  return parts;
}

function beginSearch(form) {
  const { root } = form.dataset, field = form.querySelector("input"), list = form.querySelector(".found");
  let chosen = 0;

  const choose = (index) => {
    const items = [...list.querySelectorAll("[role=option]")];
    chosen = items.length === 0 ? 0 : (index + items.length) % items.length;
    items.forEach((item, place) => item.setAttribute("aria-selected", String(place === chosen)));
    if (items[chosen]) {
      field.setAttribute("aria-activedescendant", items[chosen].id);
      items[chosen].scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  };

  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
  };

  const item = ({ entry, words }, place) => {
    const [line, link, name, text] = ["li", "a", "b", "small"].map((tag) => document.createElement(tag));
    line.role = "option";
    line.id = `found-${place}`;
    link.href = root + entry.address;
    link.tabIndex = -1;
    name.append(marked(entry.heading || entry.title, words));
    if (entry.heading) text.append(`${entry.title} · `);
    text.append(marked(excerpt(entry.text, words), words));
    link.append(name, text);
    line.append(link);
    return line;
  };

  const show = async () => {
    const query = field.value;
    if (query.trim() === "") return close();
    let results;
    try {
      results = search(await loadIndex(root), query);
    } catch (error) {
      results = [];
      console.error(error);
    }
    if (query !== field.value) return undefined;  // More has been typed since.
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = `Nothing has all of: ${query.trim()}`;
    list.replaceChildren(...(results.length > 0 ? results.map(item) : [none]));
    list.hidden = false;
    field.setAttribute("aria-expanded", "true");
    choose(0);
    return undefined;
  };

  field.addEventListener("input", show);
  field.addEventListener("focus", () => { loadIndex(root).catch(() => {}); show(); });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen - 1);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await show();
    list.querySelector("[aria-selected=true] a")?.click();
  });
  list.addEventListener("click", close);
  document.addEventListener("click", (event) => { if (!form.contains(event.target)) close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}
