"use strict";
// The page of `healc explore`. Each column is a list of rows, of which only those in sight are elements, so that large
// programs stay quick. A row has the spans that its line comes from (t: text, s: spans, k: kernel; -1 for none).
(() => {
  const ROW = 18;
  const $ = (id) => document.getElementById(id);
  const element = (tag, props, ...children) => {
    const e = Object.assign(document.createElement(tag), props);
    e.append(...children);
    return e;
  };
  const escape = (s) => String(s).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const stored = (key, value) => { // what the reader has chosen, where the browser keeps it
    try {
      if (value === undefined) return JSON.parse(localStorage.getItem("healc-explore-" + key));
      localStorage.setItem("healc-explore-" + key, JSON.stringify(value));
    } catch { /* nothing is kept of a file, in some browsers */ }
    return null;
  };

  let data = null, entry = null;
  let ranges = [], rangeOf = []; // places without the calls that led there: of each span, its range
  let chains = []; // of each span: itself and the calls in whose place it stands, as ranges
  let owners = []; // of each file: the innermost range of each character
  let focus = nothing(), pinned = false, pinnedBy = "";

  function nothing() {
    return { lit: new Set(), near: new Set(), kernels: new Set(), exact: [], around: [], label: "" };
  }

  // ---- places

  function index() {
    ranges = []; rangeOf = []; chains = [];
    const known = new Map();
    data.spans.forEach((s, i) => {
      const key = s.f + ":" + s.b + ":" + s.e;
      if (!known.has(key)) {
        known.set(key, ranges.length);
        ranges.push({ f: s.f, b: s.b, e: s.e, l: s.l, hue: 0 });
      }
      rangeOf[i] = known.get(key);
    });
    data.spans.forEach((s, i) => {
      chains[i] = [];
      for (let at = i; at >= 0; at = data.spans[at].c) chains[i].push(rangeOf[at]);
    });
    // Neighbours in the source get colours that are far apart.
    ranges.map((r, i) => i).sort((i, j) => ranges[i].f - ranges[j].f || ranges[i].b - ranges[j].b || ranges[j].e - ranges[i].e)
      .forEach((r, n) => { ranges[r].hue = Math.round((n * 137.5 + 210) % 360); });
    owners = data.files.map((file) => new Int32Array(file.text.length).fill(-1));
    ranges.map((r, i) => i).sort((i, j) => (ranges[j].e - ranges[j].b) - (ranges[i].e - ranges[i].b))
      .forEach((r) => owners[ranges[r].f].fill(r, ranges[r].b, ranges[r].e));
  }

  // hueOf is the colour of a span: that of the expression in the program's own file that led to it.
  function hueOf(span) {
    const home = chains[span].find((r) => ranges[r].f === 0);
    return ranges[home === undefined ? rangeOf[span] : home].hue;
  }

  const inside = (r, o) => r.f === o.f && o.b <= r.b && r.e <= o.e;

  // chooseWhere lights what comes from ranges: those for which exactly holds, and those inside of them.
  function chooseWhere(exactly, label) {
    const f = nothing();
    f.label = label;
    f.exact = ranges.filter(exactly);
    const lit = ranges.map(exactly), near = ranges.map((r) => f.exact.some((o) => inside(r, o)));
    data.spans.forEach((_, i) => {
      if (chains[i].some((r) => lit[r])) f.lit.add(i);
      else if (chains[i].some((r) => near[r])) f.near.add(i);
    });
    holders(f, [f.lit, f.near]);
    return f;
  }

  // chooseRow lights what a line of a form comes from, and what else came from that.
  function chooseRow(row, label) {
    const f = nothing();
    f.label = label;
    const own = row.s || [];
    own.forEach((s) => f.lit.add(s));
    const same = new Set(own.map((s) => rangeOf[s]));
    rangeOf.forEach((r, i) => { if (same.has(r) && !f.lit.has(i)) f.near.add(i); });
    f.exact = [...same].map((r) => ranges[r]);
    f.around = own.flatMap((s) => chains[s].slice(1)).map((r) => ranges[r]);
    if (row.k >= 0) f.kernels.add(row.k);
    if (row.k >= 0 && !own.length) {
      f.around = entry.kernels[row.k].fused.flatMap((l) => l.s || []).map((s) => ranges[rangeOf[s]]);
    }
    holders(f, [f.lit]);
    return f;
  }

  // holders adds the kernels that operations of spans went into.
  function holders(f, some) {
    entry.holders ||= entry.kernels.reduce((map, k, n) => {
      for (const l of k.fused) for (const s of l.s || []) map.set(s, (map.get(s) || new Set()).add(n));
      return map;
    }, new Map());
    for (const spans of some) for (const s of spans) for (const n of entry.holders.get(s) || []) f.kernels.add(n);
  }

  function chooseKernel(n) {
    const k = entry.kernels[n];
    const f = chooseRow({ s: k.fused.flatMap((l) => l.s || []), k: n }, "kernel " + k.name);
    f.kernels = new Set([n]);
    f.near = new Set();
    return f;
  }

  // ---- columns

  class Column {
    constructor(id, title, make, wide) {
      Object.assign(this, { id, title, make, rows: [], folded: new Map(), cursor: 0, part: -1 });
      this.box = element("section", { className: "column" + (wide ? " wide" : "") });
      this.box.setAttribute("aria-label", title);
      this.bar = element("div", { className: "bar" }, element("h2", { textContent: title }));
      this.list = element("div", { className: "list", tabIndex: 0 });
      this.list.setAttribute("role", "listbox");
      this.list.setAttribute("aria-label", title);
      this.space = element("div", { className: "space" });
      this.space.setAttribute("role", "presentation");
      this.marks = element("div", { className: "marks" });
      this.marks.setAttribute("aria-hidden", "true");
      this.list.append(this.space);
      this.box.append(this.bar, element("div", { className: "body" }, this.list, this.marks));
      // The height and the place are kept, as asking for them lays the page out anew.
      this.high = 600;
      this.top = 0;
      this.list.addEventListener("scroll", () => { this.top = this.list.scrollTop; this.draw(); });
      this.list.addEventListener("mouseover", (e) => this.point(e, false));
      this.list.addEventListener("mouseleave", () => { if (!pinned) light(nothing()); });
      this.list.addEventListener("click", (e) => this.point(e, true));
      this.list.addEventListener("keydown", (e) => this.key(e));
      this.list.addEventListener("focus", () => this.draw());
      this.list.addEventListener("blur", () => this.draw());
      new ResizeObserver(() => { this.high = this.list.clientHeight; this.draw(); }).observe(this.list);
    }

    get hidden() { return this.box.hidden; }

    fill() {
      this.rows = entry || this.id === "source" ? this.make(this) : [];
      let widest = 0;
      this.bySpan = new Map();
      this.byKernel = new Map();
      const add = (map, key, i) => { if (map.has(key)) map.get(key).push(i); else map.set(key, [i]); };
      this.rows.forEach((r, i) => {
        widest = Math.max(widest, r.t.length);
        if (r.k >= 0) add(this.byKernel, r.k, i);
        for (const s of r.s || []) add(this.bySpan, s, i);
      });
      this.space.style.height = this.rows.length * ROW + "px";
      this.space.style.width = `calc(${Math.min(widest, 400) + 8}ch)`;
      this.cursor = Math.min(this.cursor, Math.max(this.rows.length - 1, 0));
      this.relight();
    }

    // section is a head that folds what stands under it.
    section(rows, key, title, folded, make, more) {
      if (!this.folded.has(key)) this.folded.set(key, folded);
      const shut = this.folded.get(key);
      rows.push({ t: (shut ? "▸ " : "▾ ") + title, k: -1, s: [], ...more, head: key });
      if (!shut) rows.push(...make());
    }

    // relight finds out which rows are lit: it looks at those alone that the spans and kernels of the focus have.
    relight() {
      const state = this.state = new Map(), own = new Set();
      const take = (spans, name) => {
        for (const s of spans) {
          for (const i of this.bySpan.get(s) || []) {
            if (state.has(i)) continue;
            const r = this.rows[i];
            state.set(i, name);
            r.hue = hueOf(s);
            if (!r.head) own.add(r.k);
          }
        }
      };
      take(focus.lit, "lit");
      take(focus.near, "near");
      const hue = focus.exact.length ? focus.exact[0].hue : 210;
      const mark = (i, name) => {
        if (state.has(i)) return;
        state.set(i, name);
        this.rows[i].hue = hue;
      };
      for (const k of focus.kernels) {
        for (const i of this.byKernel.get(k) || []) if (this.rows[i].head || !own.has(k)) mark(i, "kin");
      }
      if (this.id === "source" && focus.exact.length) {
        this.rows.forEach((r, i) => { if (r.no && focus.exact.some((o) => o.f === r.f && o.b < r.e && r.b < o.e)) mark(i, "mark"); });
      }
      this.order = [...state.keys()].sort((i, j) => i - j);
      this.draw();
      const marks = [], n = this.rows.length, buckets = Math.max(40, this.high / 3);
      let last = -1;
      for (const i of this.order) {
        const at = Math.floor(i / n * buckets);
        if (at === last || !this.shows(i)) continue;
        last = at;
        const m = element("i");
        m.style.top = (i / n * 100) + "%";
        m.style.height = Math.max(100 / n, .4) + "%";
        m.style.background = `hsl(${this.rows[i].hue} 75% 50%)`;
        marks.push(m);
      }
      this.marks.replaceChildren(...marks);
    }

    // shows reports a row that is worth going to: not each of those that only belong to a kernel.
    shows(i) {
      const s = this.state.get(i);
      return s && (s !== "kin" || this.rows[i].head);
    }

    draw() {
      if (this.hidden) return;
      const first = Math.max(0, Math.floor(this.top / ROW) - 8);
      const last = Math.min(this.rows.length, first + Math.ceil(this.high / ROW) + 16);
      const out = [];
      const focused = document.activeElement === this.list;
      for (let i = first; i < last; i++) {
        const r = this.rows[i], state = this.state.get(i);
        const e = element("div", { className: "row " + (r.c || ""), id: this.id + "-" + i });
        if (r.head) e.classList.add("head");
        if (state) e.classList.add(state);
        if (focused && i === this.cursor) e.classList.add("cursor");
        e.style.top = i * ROW + "px";
        e.dataset.i = i;
        e.setAttribute("role", "option");
        e.setAttribute("aria-posinset", i + 1);
        e.setAttribute("aria-setsize", this.rows.length);
        e.setAttribute("aria-selected", state === "lit" || state === "mark");
        if (r.head) e.setAttribute("aria-expanded", !this.folded.get(r.head));
        if (r.s && r.s.length) e.style.setProperty("--stripe", `hsl(${hueOf(r.s[0])} 60% 55%)`);
        if (state) e.style.setProperty("--hue", r.hue);
        if (r.no) e.append(element("span", { className: "no", textContent: r.no }), this.source(r));
        else e.append(element("span", { className: "text", textContent: r.t }));
        out.push(e);
      }
      this.space.replaceChildren(...out);
      if (focused) this.list.setAttribute("aria-activedescendant", this.id + "-" + this.cursor);
    }

    // source is a line of a file, each expression of which is an element.
    source(r) {
      const out = element("span", { className: "text" });
      const own = owners[r.f], all = r.f < 0 ? draft : data.files[r.f].text;
      const covers = (list, o) => list.find((x) => x.f === r.f && x.b <= o && o < x.e);
      for (let at = r.b; at < r.e;) {
        const range = own ? own[at] : -1;
        const lit = covers(focus.exact, at), near = lit ? null : covers(focus.around, at);
        const wrong = covers(mistakes, at);
        let end = at + 1;
        while (end < r.e && (own ? own[end] : -1) === range && covers(focus.exact, end) === lit && covers(mistakes, end) === wrong &&
          (lit || covers(focus.around, end) === near)) end++;
        const text = all.slice(at, end);
        if (range < 0 && !wrong) out.append(text);
        else {
          const bit = element("span", { className: "bit", textContent: text });
          if (range >= 0) {
            bit.dataset.r = range;
            bit.style.setProperty("--own", ranges[range].hue);
          }
          if (lit || near) {
            bit.classList.add(lit ? "lit" : "near");
            bit.style.setProperty("--hue", (lit || near).hue);
          }
          if (wrong) bit.classList.add("wrong");
          out.append(bit);
        }
        at = end;
      }
      return out;
    }

    choose(i, range) {
      const r = this.rows[i];
      if (r.no && range >= 0) {
        const o = ranges[range];
        return chooseWhere((x) => x === o, `line ${o.l}: ${data.files[o.f].text.slice(o.b, o.e).replace(/\s+/g, " ")}`);
      }
      if (r.no) return chooseWhere((x) => x.f === r.f && x.l === r.no, "line " + r.no);
      if (r.head && r.k >= 0) return chooseKernel(r.k);
      return chooseRow(r, r.t.trim());
    }

    point(e, click) {
      const row = e.target.closest(".row");
      if (!row || !entry && click) return;
      const i = +row.dataset.i, r = this.rows[i];
      const bit = e.target.closest(".bit");
      const range = bit && bit.dataset.r !== undefined ? +bit.dataset.r : -1;
      if (click) {
        this.cursor = i;
        if (r.head) return this.toggle(r.head);
        return this.pin(i, range);
      }
      if (!pinned && entry) light(this.choose(i, range));
    }

    pin(i, range) {
      const by = this.id + ":" + i + ":" + range;
      if (pinned && pinnedBy === by) return unpin();
      pinned = true;
      pinnedBy = by;
      light(this.choose(i, range));
      columns.forEach((c) => { if (c !== this) c.reveal(); });
    }

    // reveal scrolls to the first lit row, where none is in sight.
    reveal() {
      if (this.hidden) return;
      const top = this.top / ROW, end = top + this.high / ROW;
      const own = this.order.filter((i) => ["lit", "mark"].includes(this.state.get(i)));
      const worth = own.length ? own : this.order.filter((i) => this.shows(i));
      if (!worth.length || worth.some((i) => i >= top && i < end - 1)) return;
      const at = worth[0];
      this.scroll((at - 4) * ROW);
    }

    scroll(top) {
      this.list.scrollTop = top;
      this.top = this.list.scrollTop;
      this.draw();
    }

    toggle(key) {
      this.folded.set(key, !this.folded.get(key));
      this.fill();
    }

    move(i) {
      this.cursor = Math.max(0, Math.min(this.rows.length - 1, i));
      this.part = -1;
      this.follow();
    }

    follow() {
      const top = this.cursor * ROW;
      if (top < this.top) this.scroll(top);
      else if (top + ROW > this.top + this.high) this.scroll(top + ROW - this.high);
      if (!pinned && this.rows.length && entry) light(this.choose(this.cursor, this.partRange()));
      else this.draw();
    }

    // partRange is the expression of the line that the left and right keys have chosen.
    partRange() {
      const r = this.rows[this.cursor];
      if (this.part < 0 || !r.no) return -1;
      const here = this.partsOf(r);
      return here.length ? here[this.part % here.length] : -1;
    }

    partsOf(r) {
      return ranges.map((_, n) => n).filter((n) => ranges[n].f === r.f && ranges[n].l === r.no)
        .sort((m, n) => ranges[m].b - ranges[n].b || ranges[n].e - ranges[m].e);
    }

    key(e) {
      if (e.ctrlKey || e.metaKey || e.altKey || !this.rows.length) return;
      const page = Math.max(1, Math.floor(this.high / ROW) - 1), r = this.rows[this.cursor];
      const hop = (step) => {
        const there = this.order.filter((i) => this.shows(i) && (i - this.cursor) * step > 0);
        if (there.length) this.move(there[step > 0 ? 0 : there.length - 1]);
      };
      switch (e.key) {
        case "ArrowDown": this.move(this.cursor + 1); break;
        case "ArrowUp": this.move(this.cursor - 1); break;
        case "PageDown": this.move(this.cursor + page); break;
        case "PageUp": this.move(this.cursor - page); break;
        case "Home": this.move(0); break;
        case "End": this.move(this.rows.length - 1); break;
        case "ArrowRight": case "ArrowLeft":
          if (r.head) {
            if (this.folded.get(r.head) === (e.key === "ArrowRight")) this.toggle(r.head);
          } else if (r.no) {
            const n = this.partsOf(r).length;
            if (n) this.part = (this.part + (e.key === "ArrowRight" ? 1 : this.part < 0 ? 0 : n - 1) + n) % n;
            this.follow();
          } else return;
          break;
        case "Enter": case " ":
          if (r.head) this.toggle(r.head);
          else if (entry) this.pin(this.cursor, this.partRange());
          break;
        case "Escape": unpin(); break;
        case "n": hop(1); break;
        case "p": hop(-1); break;
        default: return;
      }
      e.preventDefault();
    }
  }

  function light(f) {
    focus = f;
    for (const c of columns) if (!c.hidden) c.relight();
    document.querySelectorAll("[data-kernel]").forEach((e) => {
      const on = f.kernels.has(+e.dataset.kernel);
      e.classList.toggle("lit", on);
      if (on && e.style) e.style.setProperty("--hue", f.exact.length ? f.exact[0].hue : 210);
    });
    say();
  }

  function unpin() {
    pinned = false;
    pinnedBy = "";
    light(nothing());
  }

  // say tells in words what is lit.
  function say() {
    if (!focus.label) {
      $("status").textContent = entry ? "Point at a line to see what became of it; click or Enter pins it, Escape lets go. " +
        "Arrows move, left and right choose an expression of a source line, n and p go to the next lit line." : "";
      return;
    }
    const names = [...focus.kernels].map((k) => entry.kernels[k].name);
    const instructions = entry.instructions ||= counted();
    let count = 0;
    for (const some of [focus.lit, focus.near]) for (const s of some) count += instructions.get(s) || 0;
    $("status").textContent = (pinned ? "pinned · " : "") + focus.label.slice(0, 120) + " · " +
      (names.length ? (names.length === 1 ? "kernel " : "kernels ") + names.slice(0, 6).join(", ") + (names.length > 6 ? ", ..." : "")
        : "no kernel") + ` · ${count} ${count === 1 ? "instruction" : "instructions"} of its own`;
  }

  // counted are the instructions of each span; one has at most one.
  function counted() {
    const out = new Map();
    for (const k of entry.kernels) for (const l of k.machine) for (const s of l.s || []) out.set(s, (out.get(s) || 0) + 1);
    return out;
  }

  // ---- what the columns show

  let mistakes = [];
  let draft = null; // the source that has mistakes, while the other columns have what the last good one became

  function sourceRows(column) {
    const rows = [];
    if (draft !== null) {
      let at = 0;
      return draft.split("\n").map((t, i) => {
        at += t.length + 1;
        return { t, no: i + 1, f: -1, b: at - t.length - 1, e: at - 1, k: -1 };
      });
    }
    const lines = (f) => {
      const out = [];
      let at = 0;
      data.files[f].text.split("\n").forEach((t, i) => {
        out.push({ t, no: i + 1, f, b: at, e: at + t.length, k: -1 });
        at += t.length + 1;
      });
      if (out.length && !out[out.length - 1].t) out.pop();
      return out;
    };
    data.files.forEach((file, f) => {
      if (!f) rows.push(...lines(0));
      else column.section(rows, "file:" + file.name, file.name, true, () => lines(f));
    });
    return rows;
  }

  const plain = (lines, k) => lines.map((l) => ({ t: l.t, s: l.s || [], k }));
  const passTitle = (p) => p.name ? "after " + p.name : "before the passes";

  function tensorRows(column) {
    const rows = [], passes = entry.passes;
    if (column.diff) return diffRows(passes[column.from], passes[column.to]);
    const last = passes.reduce((n, p, i) => p.changed ? i : n, 0);
    for (let i = 0; i < passes.length; i++) {
      const p = passes[i];
      if (p.changed) {
        column.section(rows, "pass:" + p.name, passTitle(p) + (p.doc ? ": " + p.doc : ""), i !== 0 && i !== last, () => plain(p.lines, -1));
        continue;
      }
      const names = [];
      for (; i < passes.length && !passes[i].changed; i++) names.push(passes[i]);
      i--;
      column.section(rows, "same:" + names[0].name, "no change: " + names.map((p) => p.name).join(", "), true,
        () => names.map((p) => ({ t: "  " + p.name + ": " + p.doc, s: [], k: -1, c: "quiet" })), { c: "quiet" });
    }
    return rows;
  }

  // linesAfter is the tensor IR after a pass, which is that of an earlier one where it changed nothing.
  function linesAfter(pass) {
    for (let i = entry.passes.indexOf(pass); i >= 0; i--) if (entry.passes[i].changed) return entry.passes[i].lines;
    return [];
  }

  // diffRows compares by lines, by the algorithm of Myers ("An O(ND) difference algorithm and its variations", 1986).
  // The numbers of values do not count, which every pass gives anew, nor how far lines stand to the right.
  function diffRows(from, to) {
    const a = plain(linesAfter(from), -1), b = plain(linesAfter(to), -1);
    const key = (r) => r.t.replace(/%\d+/g, "%").trim();
    const x = a.map(key), y = b.map(key), n = x.length, m = y.length, trace = [];
    // best[off + k] is how far the way on diagonal k has come; trace[d] is that before step d, for -d to d.
    const off = n + m + 1, best = new Int32Array(2 * off + 1);
    const down = (k, d, at) => k === -d || k !== d && at(k - 1) < at(k + 1);
    search: for (let d = 0; d <= n + m; d++) {
      trace.push(best.slice(off - d - 1, off + d + 2));
      for (let k = -d; k <= d; k += 2) {
        let i = down(k, d, (q) => best[off + q]) ? best[off + k + 1] : best[off + k - 1] + 1;
        let j = i - k;
        while (i < n && j < m && x[i] === y[j]) { i++; j++; }
        best[off + k] = i;
        if (i >= n && j >= m) break search;
      }
    }
    const rows = [];
    let i = n, j = m;
    for (let d = trace.length - 1; d >= 0; d--) {
      const at = (q) => trace[d][q + d + 1], k = i - j;
      const back = down(k, d, at) ? k + 1 : k - 1;
      const pi = d ? at(back) : 0, pj = d ? pi - back : 0;
      while (i > pi && j > pj) { i--; j--; rows.push({ ...b[j], t: "  " + b[j].t }); }
      if (d && i > pi) { i--; rows.push({ ...a[i], t: "- " + a[i].t, c: "del" }); }
      else if (d && j > pj) { j--; rows.push({ ...b[j], t: "+ " + b[j].t, c: "add" }); }
    }
    return rows.reverse();
  }

  const kernelTitle = (k) => `${k.name}, ${k.over}`;
  const eachKernel = (folded, make) => (column) => {
    const rows = [];
    const many = entry.kernels.length > 40;
    entry.kernels.forEach((k, n) => column.section(rows, "kernel:" + k.name, kernelTitle(k), folded || many, () => make(k, n, column), { k: n }));
    return rows;
  };

  function fusionRows(column) {
    const rows = eachKernel(false, (k, n) => k.fused.map((l) => {
      const s = (l.s || [])[0];
      let where = "";
      if (s !== undefined) {
        const r = ranges[rangeOf[s]], text = data.files[r.f].text.slice(r.b, r.e).replace(/\s+/g, " ");
        where = `  ${r.f ? data.files[r.f].name + ":" : ""}${r.l}: ${text}`;
      }
      return { t: "  " + l.t.padEnd(12) + where, s: l.s || [], k: n };
    }))(column);
    const kept = (entry.remarks || []).filter((l) => l.t.startsWith("kept")), rest = (entry.remarks || []).filter((l) => !l.t.startsWith("kept"));
    if (kept.length) column.section(rows, "kept", "kept in memory, and why", false, () => plain(kept, -1));
    if (rest.length) column.section(rows, "joined", "joined, and why", true, () => plain(rest, -1));
    return rows;
  }

  function scheduleRows(k, n) {
    const rows = plain(k.schedule, n);
    if (!k.schedule.length) rows.push({ t: "  one iteration after the other", s: [], k: n, c: "quiet" });
    return rows.concat(k.rejected.map((l) => ({ t: "  " + l.t, s: [], k: n, c: "quiet" })));
  }

  const failed = (k, n) => ({ t: "  no code: " + k.failure.replace(/\s+/g, " "), s: [], k: n, c: "quiet" });

  const columns = [
    new Column("source", "Source", sourceRows),
    new Column("tensor", "Tensor IR", tensorRows, true),
    new Column("fusion", "Fusion", fusionRows),
    new Column("kernels", "Kernels", eachKernel(false, (k, n) => plain(k.code, n)), true),
    new Column("schedule", "Schedule", eachKernel(false, scheduleRows)),
    new Column("llvm", "LLVM IR", eachKernel(false, (k, n, c) => k.failure ? [failed(k, n)] : plain(c.generated ? k.llvm : k.optimised, n)), true),
    new Column("machine", "Machine code", eachKernel(false, (k, n) => k.failure ? [failed(k, n)] : plain(k.machine, n))),
    new Column("plan", "Plan", () => entry.plan.map((l) => ({ t: l.t, s: l.s || [], k: l.k }))),
  ];

  // ---- the controls of columns

  function button(text, pressed, act) {
    const b = element("button", { type: "button", textContent: text });
    const set = (on) => b.setAttribute("aria-pressed", on);
    if (pressed !== null) set(pressed);
    b.addEventListener("click", () => {
      const on = b.getAttribute("aria-pressed") !== "true";
      if (pressed !== null) set(on);
      act(on);
    });
    return b;
  }

  function controls() {
    const hidden = new Set(stored("hidden") || ["schedule", "llvm", "plan"]);
    for (const c of columns) {
      c.box.hidden = hidden.has(c.id);
      $("main").append(c.box);
      $("columns").append(button(c.title, !c.hidden, (on) => {
        c.box.hidden = !on;
        if (on) { hidden.delete(c.id); c.relight(); } else hidden.add(c.id);
        stored("hidden", [...hidden]);
      }));
    }
    const by = Object.fromEntries(columns.map((c) => [c.id, c]));
    const t = by.tensor;
    t.fromBox = element("select", { ariaLabel: "difference from" });
    t.toBox = element("select", { ariaLabel: "difference to" });
    const changed = () => { t.from = +t.fromBox.value; t.to = +t.toBox.value; if (t.diff) t.fill(); };
    t.fromBox.addEventListener("change", changed);
    t.toBox.addEventListener("change", changed);
    const pair = element("span", { hidden: true }, t.fromBox, " to ", t.toBox);
    t.bar.append(button("difference", false, (on) => { t.diff = on; pair.hidden = !on; t.fill(); }), pair);
    by.llvm.bar.append(button("before LLVM's passes", false, (on) => { by.llvm.generated = on; by.llvm.fill(); }));
    for (const id of ["kernels", "llvm", "machine", "schedule", "fusion"]) {
      by[id].bar.append(button("fold", null, () => {
        const any = [...by[id].folded.values()].some((shut) => !shut);
        for (const key of by[id].folded.keys()) by[id].folded.set(key, any);
        by[id].fill();
      }));
    }
    const root = document.documentElement;
    const wanted = stored("theme");
    const dark = (on) => root.classList.toggle("dark", on);
    const system = matchMedia("(prefers-color-scheme: dark)");
    dark(wanted ? wanted === "dark" : system.matches);
    system.addEventListener("change", (e) => { if (!stored("theme")) dark(e.matches); });
    $("theme").addEventListener("click", () => {
      dark(!root.classList.contains("dark"));
      stored("theme", root.classList.contains("dark") ? "dark" : "light");
    });
    document.addEventListener("keydown", (e) => { if (e.key === "Escape") unpin(); });
    addEventListener("hashchange", linked);
    $("entry").addEventListener("change", () => show(+$("entry").value));
  }

  // ---- kernels and limits

  const units = (n, suffix) => {
    const names = ["n", "u", "m", "", "k", "M", "G", "T", "P"];
    let i = 3;
    while (Math.abs(n) >= 999.5 && i < names.length - 1) { n /= 1000; i++; }
    while (n && Math.abs(n) < .9995 && i && suffix === "s") { n *= 1000; i--; }
    return (n >= 100 || Number.isInteger(n) ? n.toFixed(0) : n.toPrecision(3)) + " " + names[i] + suffix;
  };

  function kernelTable() {
    const measured = entry.kernels.some((k) => k.times);
    const model = (k) => Math.max(k.bytes, k.operations / data.balance);
    const time = (k) => measured ? k.times ? k.times.total : 0 : model(k);
    const all = entry.kernels.reduce((sum, k) => sum + time(k), 0) || 1;
    const rate = (n, k, unit) => k.times && k.times.least ? units(n / k.times.least * 1e6, unit) : "";
    // A column has a name, what it is sorted by, and what it shows, which is that where there is no more.
    const heads = [["kernel", (k) => k.name], ["over", (k) => k.over], ["lines", linesOf],
      ["bytes", (k) => k.bytes, (k) => units(k.bytes, "B")], ["operations", (k) => k.operations, (k) => units(k.operations, "")],
      ["a byte", (k) => k.bytes ? k.operations / k.bytes : 0, (k) => k.bytes ? (k.operations / k.bytes).toPrecision(3) : ""],
      ["bound", (k) => k.limit, (k) => k.limit.replace(/ between.*/, "")],
      ["share", time, (k) => (time(k) / all * 100).toFixed(1) + " %"]];
    if (measured) {
      const of = (name) => (k) => k.times ? k.times[name] : 0;
      heads.push(["launches", of("launches"), (k) => String(of("launches")(k))], ["time", of("total"), (k) => k.times ? units(k.times.total / 1e6, "s") : ""],
        ["least", of("least"), (k) => k.times ? units(k.times.least / 1e6, "s") : ""],
        ["bytes/s", (k) => k.times ? k.bytes / k.times.least : 0, (k) => rate(k.bytes, k, "B/s")],
        ["operations/s", (k) => k.times ? k.operations / k.times.least : 0, (k) => rate(k.operations, k, "/s")]);
    }
    heads.push(["instructions", (k) => k.machine.length, (k) => String(k.machine.length)]);
    const known = entry.kernels.every((k) => k.known);
    const table = element("table");
    table.append(element("caption", { textContent: "One launch of each kernel" + (known ? "" : `; shape parameters without a value are ${data.sample}`) +
      (measured ? `. The share is of the time of all launches in ${data.options.trace}, the rates are those of the quickest one.`
        : ". The share is of the model's time, by bytes or operations, whichever takes longer.") }));
    const head = element("tr");
    const body = element("tbody");
    let order = -1, up = 1;
    const fill = () => {
      const list = entry.kernels.map((k, n) => [k, n]);
      if (order >= 0) {
        const by = heads[order][1];
        list.sort(([a], [b]) => up * (by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0));
      }
      body.replaceChildren(...list.slice(0, 1000).map(([k, n]) => {
        const row = element("tr");
        row.dataset.kernel = n;
        heads.forEach(([, by, shown], i) => row.append(element("td", { className: i > 2 && i !== 6 ? "n" : "" },
          i ? (shown || by)(k) : button(k.name, null, () => pinKernel(n)))));
        row.title = `reads ${k.reads}, writes ${k.writes}, ${k.work} operations`;
        row.addEventListener("mouseenter", () => { if (!pinned) light(chooseKernel(n)); });
        return row;
      }));
    };
    heads.forEach(([name], i) => {
      const th = element("th", { scope: "col" });
      th.append(button(name, null, () => { up = order === i ? -up : i > 2 ? -1 : 1; order = i; fill(); }));
      head.append(th);
    });
    fill();
    table.append(element("thead", {}, head), body);
    $("table").replaceChildren(table);
  }

  function linesOf(k) {
    const lines = new Set(k.fused.flatMap((l) => l.s || []).map((s) => chains[s].find((r) => ranges[r].f === 0))
      .filter((r) => r !== undefined).map((r) => ranges[r].l));
    return [...lines].sort((a, b) => a - b).join(", ");
  }

  function pinKernel(n) {
    pinned = true;
    pinnedBy = "kernel " + n;
    light(chooseKernel(n));
    columns.forEach((c) => c.reveal());
  }

  function roofline() {
    const dots = entry.kernels.map((k, n) => ({ k, n, x: k.bytes ? k.operations / k.bytes : 0 })).filter((d) => d.x > 0);
    if (!dots.length) return $("roofline").replaceChildren();
    const W = 340, H = 170, L = 24, B = 28, T = 8, R = 20;
    const low = Math.floor(Math.log10(Math.min(...dots.map((d) => d.x), .5))), high = Math.ceil(Math.log10(Math.max(...dots.map((d) => d.x), data.balance * 2)));
    const X = (v) => L + (Math.log10(v) - low) / (high - low) * (W - L - R);
    const top = Math.log10(data.balance) + .3, bottom = Math.min(low, 0);
    const Y = (v) => T + (top - Math.log10(v)) / (top - bottom) * (H - T - B);
    const roof = (x) => Math.min(x, data.balance);
    let svg = `<svg width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="Roofline: operations a byte of each kernel, and what the model allows">`;
    for (let e = low; e <= high; e++) svg += `<line class="grid" x1="${X(10 ** e)}" x2="${X(10 ** e)}" y1="${T}" y2="${H - B}"/><text x="${X(10 ** e)}" y="${H - B + 12}" text-anchor="middle">${10 ** e >= 1 ? 10 ** e : (10 ** e).toPrecision(1)}</text>`;
    svg += `<polyline class="roof" points="${X(10 ** low)},${Y(roof(10 ** low))} ${X(data.balance)},${Y(data.balance)} ${X(10 ** high)},${Y(data.balance)}"/>`;
    svg += `<text x="${(L + W) / 2}" y="${H - 3}" text-anchor="middle">operations a byte</text>`;
    svg += `<text x="${L - 4}" y="${T + 8}" text-anchor="end">${data.balance}</text><text x="${L - 4}" y="${Y(1) + 3}" text-anchor="end">1</text>`;
    svg += `<text x="${X(data.balance) - 6}" y="${Y(data.balance) + 26}" text-anchor="end">memory</text><text x="${X(data.balance) + 6}" y="${Y(data.balance) + 14}">arithmetic</text>`;
    for (const d of dots) svg += `<circle data-kernel="${d.n}" cx="${X(d.x)}" cy="${Y(roof(d.x))}" r="5" fill="hsl(${(d.n * 137.5 + 30) % 360} 60% 50%)"><title>${escape(d.k.name)}: ${d.x.toPrecision(3)} operations a byte, ${escape(d.k.limit)}</title></circle>`;
    $("roofline").innerHTML = svg + "</svg><figcaption>what the model allows each kernel, in operations for the time of a byte</figcaption>";
    $("roofline").querySelectorAll("circle").forEach((c) => {
      c.addEventListener("mouseenter", () => { if (!pinned) light(chooseKernel(+c.dataset.kernel)); });
      c.addEventListener("click", () => pinKernel(+c.dataset.kernel));
    });
  }

  function memoryPlot() {
    const m = entry.memory;
    if (!m || !m.live || !m.live.some((v) => v > 0)) return $("memory").replaceChildren();
    const W = 260, H = 170, L = 8, B = 28, T = 16, most = Math.max(...m.live), n = m.live.length;
    const X = (i) => L + i / n * (W - L - 8), Y = (v) => T + (1 - v / most) * (H - T - B);
    let points = `${X(0)},${Y(0)} `;
    m.live.forEach((v, i) => { points += `${X(i)},${Y(v)} ${X(i + 1)},${Y(v)} `; });
    points += `${X(n)},${Y(0)}`;
    const peak = m.live.indexOf(most);
    $("memory").innerHTML = `<svg width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="Memory of temporary buffers in each of ${n} steps, at most ${units(most, "B")} in step ${peak}">` +
      `<polygon class="area" points="${points}"/><text x="${Math.min(Math.max(X(peak + .5), 50), W - 60)}" y="${T - 5}" text-anchor="middle">${units(most, "B")}</text>` +
      `<text x="${L}" y="${H - B + 12}">step 0</text><text x="${W - 8}" y="${H - B + 12}" text-anchor="end">${n - 1}</text></svg>` +
      `<figcaption>temporary buffers that are alive in each step${m.known ? `; arena ${units(m.arena, "B")}, ${units(m.total, "B")} in all` : ""}</figcaption>`;
  }

  // ---- programs

  function show(n) {
    entry = data.entries[n] || null;
    pinned = false;
    focus = nothing();
    $("limits").hidden = !entry;
    const t = columns[1];
    if (entry) {
      const options = () => entry.passes.map((p, i) => element("option", { value: i, textContent: p.name || "start" }));
      t.fromBox.replaceChildren(...options());
      t.toBox.replaceChildren(...options());
      const last = entry.passes.length - 1;
      t.from = entry.passes.reduce((at, p, i) => p.changed && i < last ? i : at, 0);
      t.to = last;
      t.fromBox.value = t.from;
      t.toBox.value = t.to;
      kernelTable();
      roofline();
      memoryPlot();
    }
    columns[6].bar.querySelector("h2").textContent = data.options.target === "gpu" ? "PTX" : "Machine code";
    for (const c of columns) c.fill();
    say();
  }

  // accept takes new data.
  function accept(next) {
    const wrong = next.errors || [];
    $("errors").hidden = !wrong.length;
    $("errors").replaceChildren(...wrong.map((d) => {
      const p = element("pre");
      p.append(element("b", { textContent: d.severity + (d.code ? `[${d.code}]` : "") + ": " + d.message }));
      if (d.at) p.append(`\n  ${d.at.file}:${d.at.line}:${d.at.col}${d.at.text ? "  " + d.at.text : ""}`);
      for (const n of d.notes || []) p.append("\n  = " + n);
      if (d.help) p.append("\n  help: " + d.help);
      return p;
    }));
    const chosen = entry && entry.name, home = next.files[0];
    draft = next.entries.length ? null : home.text;
    document.body.classList.toggle("stale", draft !== null);
    mistakes = wrong.filter((d) => d.at && d.at.file === home.name).map((d) => place(d.at, home.text, draft === null ? 0 : -1));
    if (draft !== null && entry) {
      unpin();
      return columns[0].fill();
    }
    data = next;
    index();
    document.title = data.title + " - healc explore";
    $("title").textContent = data.title;
    const o = data.options;
    $("made").textContent = "for " + (o.cpu || (o.target === "gpu" ? "a device" : "this machine's processor")) +
      (Object.keys(o.shape || {}).length ? ", " + Object.entries(o.shape).map(([k, v]) => k + " = " + v).join(", ") : data.entries.some((e) => e.dims.length) ? ", any shape" : "");
    $("entry").replaceChildren(...data.entries.map((e, i) => element("option", { value: i, textContent: e.signature })));
    const at = Math.max(0, data.entries.findIndex((e) => e.name === chosen));
    if (data.entries.length) $("entry").value = at;
    show(at);
    linked();
  }

  // linked pins the line that the address names, as in page.html#L7.
  function linked() {
    const m = /^#L(\d+)$/.exec(location.hash);
    if (!m || !entry) return;
    const i = columns[0].rows.findIndex((r) => r.no === +m[1]);
    if (i < 0) return;
    unpin();
    columns[0].cursor = i;
    columns[0].pin(i, -1);
    columns[0].reveal();
  }

  // place is a mistake's range: lines and columns count characters from 1.
  function place(at, text, f) {
    const lines = text.split("\n");
    const offset = (line, col) => {
      let n = 0;
      for (let i = 0; i < line - 1; i++) n += lines[i].length + 1;
      return n + [...(lines[line - 1] || "")].slice(0, col - 1).join("").length;
    };
    const b = offset(at.line, at.col);
    return { f, b, e: Math.max(offset(at.endLine, at.endCol), b + 1) };
  }

  // live asks the healc that serves the page.
  function live() {
    const form = $("options");
    form.hidden = false;
    const load = async () => {
      const query = new URLSearchParams({ shape: $("shape").value, target: $("target").value, cpu: $("cpu").value });
      document.body.setAttribute("aria-busy", "true");
      try {
        const r = await fetch("data?" + query);
        if (!r.ok) throw new Error(await r.text());
        accept(await r.json());
      } catch (err) {
        $("errors").hidden = false;
        $("errors").replaceChildren(element("pre", {}, element("b", { textContent: "error: " + err.message })));
      }
      document.body.removeAttribute("aria-busy");
    };
    form.addEventListener("submit", (e) => { e.preventDefault(); load(); });
    $("target").addEventListener("change", load);
    const events = new EventSource("events");
    events.addEventListener("changed", load);
    events.addEventListener("error", () => { $("made").textContent = "healc has ended; what is shown is its last word"; });
    return load;
  }

  controls();
  const given = JSON.parse($("data").textContent);
  if (given.live) {
    $("shape").value = Object.entries(given.options.shape || {}).map(([k, v]) => k + "=" + v).join(",");
    $("target").value = given.options.target;
    $("cpu").value = given.options.cpu;
    data = { files: [{ name: given.title, text: "" }], spans: [], entries: [], errors: [], options: given.options, title: given.title };
    index();
    $("made").textContent = "compiling";
    $("limits").hidden = true;
    live()();
  } else accept(given);
})();
