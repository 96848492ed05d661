// The search of the site, over the table that `healc doc` has (Note [Search] in cmd/healc/driver/manual/search.go), and
// the two buttons of the page.
"use strict";
(() => {
  const root = document.body.dataset.root;
  const query = document.getElementById("query");
  const found = document.getElementById("found");
  let index = null, asked = false, chosen = -1;

  window.healIndex = (table) => { index = table; index.idle = new Set(table.idle); show(); };

  // The table is read when somebody searches, by a script, which works for a page from a disk, too.
  function load() {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = root + "index.js";
    document.head.append(script);
  }

  const plain = (w) => (w.length > 3 && w.endsWith("s") && !w.endsWith("ss") ? w.slice(0, -1) : w);

  function alike(query, word) {
    let same = 0;
    while (same < query.length && same < word.length && query[same] === word[same]) same++;
    if (same === query.length && same === word.length) return 100;
    if (same === query.length && same >= 3) return 50;
    if (same >= 4 && 4 * same >= 3 * Math.max(query.length, word.length - 3)) return 30;
    return 0;
  }

  function find(text) {
    const words = [...new Set((text.toLowerCase().match(/[a-z0-9_]+/g) || []).map(plain))].filter((w) => !index.idle.has(w));
    const weight = new Map(), has = new Map();
    for (const q of words) {
      const best = new Map();
      for (const [word, entries] of Object.entries(index.words)) {
        const like = alike(q, word);
        if (like === 0) continue;
        for (const [i, w] of entries) best.set(i, Math.max(best.get(i) || 0, w * like));
      }
      for (const [i, w] of best) {
        weight.set(i, (weight.get(i) || 0) + w);
        has.set(i, (has.get(i) || 0) + 1);
      }
    }
    const n = words.length;
    const order = [...weight.keys()].map((i) => [i, Math.trunc((weight.get(i) * has.get(i) ** 3) / n ** 3)]);
    order.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    return spread(order.map(([i]) => index.entries[i]));
  }

  const here = new Set(["function", "library", "section", "error", "operation"]);

  function spread(entries) {
    const first = [], then = [], count = {};
    for (const e of entries) {
      const of = e.k === "section" ? e.u.split("#")[0] : e.k;
      if (!here.has(of)) count[of] = (count[of] || 0) + 1;
      (count[of] > 2 ? then : first).push(e);
    }
    return first.concat(then);
  }

  function element(tag, text) {
    const e = document.createElement(tag);
    e.textContent = text;
    return e;
  }

  function show() {
    chosen = -1;
    const text = query.value.trim();
    found.hidden = text === "" || !index;
    query.setAttribute("aria-expanded", String(!found.hidden));
    if (found.hidden) return;
    const entries = find(text).slice(0, 12);
    found.replaceChildren(...entries.map((e, i) => {
      const item = document.createElement("li"), a = document.createElement("a");
      a.href = root + e.u;
      a.id = "found" + i;
      a.setAttribute("role", "option");
      a.append(element("b", e.n), element("small", e.k), element("span", e.s));
      item.append(a);
      return item;
    }));
    if (entries.length === 0) {
      const item = element("li", "Nothing is found.");
      item.className = "none";
      found.append(item);
    }
  }

  function choose(step) {
    const links = found.querySelectorAll("a");
    if (links.length === 0) return;
    chosen = (chosen + step + links.length) % links.length;
    links.forEach((a, i) => a.setAttribute("aria-selected", String(i === chosen)));
    links[chosen].scrollIntoView({ block: "nearest" });
    query.setAttribute("aria-activedescendant", links[chosen].id);
  }

  query.addEventListener("focus", load);
  query.addEventListener("input", () => { load(); show(); });
  query.addEventListener("keydown", (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      choose(e.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1);
    } else if (e.key === "Enter") {
      const links = found.querySelectorAll("a");
      if (links.length) links[Math.max(chosen, 0)].click();
    } else if (e.key === "Escape") {
      found.hidden = true;
    }
  });
  document.addEventListener("click", (e) => { if (!e.target.closest(".search") || e.target.closest("#found a")) found.hidden = true; });
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { e.preventDefault(); query.focus(); }
  });

  const menu = document.getElementById("menu"), side = document.getElementById("side");
  menu.addEventListener("click", () => menu.setAttribute("aria-expanded", String(side.classList.toggle("open"))));

  document.getElementById("theme").addEventListener("click", () => {
    const html = document.documentElement;
    const dark = html.dataset.theme ? html.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    html.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("theme", html.dataset.theme); } catch {}
  });

  // A page can be opened with a question: index.html?q=einsum
  const q = new URLSearchParams(location.search).get("q");
  if (q) { query.value = q; load(); }
})();
