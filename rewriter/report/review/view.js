// The page: which sites are shown, how they look, and what keys and buttons do. Only items in view are in the document,
// and whatever comes from the sources goes there as text.

const kRow = 20, kHead = 28; // pixels, as in the style
const kSides = 12; // characters that line numbers take of a row

function element(tag, name, text) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Pieces of a line, cut into rows of so many characters; line ends are left out.
function wrapped(pieces, columns) {
  const rows = [[]];
  let room = columns;
  for (const [whole, mark] of pieces) {
    let text = whole.replace(/[\r\n]/g, "").replace(/\t/g, "    ");
    while (text.length > room) {
      rows.at(-1).push([text.slice(0, room), mark]);
      text = text.slice(room);
      rows.push([]);
      room = columns;
    }
    if (text !== "") rows.at(-1).push([text, mark]);
    room -= text.length;
  }
  return rows;
}

function wrappedWords(text, columns) {
  const rows = [];
  let row = "";
  for (const word of text.split(/\s+/)) {
    if (row !== "" && row.length + 1 + word.length > columns) { rows.push(row); row = ""; }
    row = row === "" ? word : `${row} ${word}`;
    while (row.length > columns) { rows.push(row.slice(0, columns)); row = row.slice(columns); }
  }
  return [...rows, row];
}

class View {
  constructor(review) {
    this.review = review;
    this.list = document.getElementById("list");
    this.rows = document.getElementById("rows");
    this.current = null; // a site
    this.built = new Map(); // by site: its rows, for a width
    for (const site of review.sites) {
      const texts = [site.rule, site.file, site.function, site.code, site.message, site.clause, site.before, site.after, site.verdict ? `verified ${site.verdict.replace("_", " ")}` : "", ...site.assumes];
      site.words = texts.join("\n").toLowerCase();
    }
    this.remember(true);
    this.fill();
    this.listen();
    this.measure();
    this.filter();
  }
  one(id) { return document.getElementById(id); }

  // What was rejected stays so when the page is opened again, where the browser keeps such things.
  remember(read) {
    const key = `refit-review:${this.review.report.root}`;
    try {
      if (!read) return localStorage.setItem(key, JSON.stringify([...this.review.rejected]));
      const known = new Set(JSON.parse(localStorage.getItem(key) || "[]"));
      this.review.decide(this.review.sites.filter((site) => known.has(site.fingerprint)), false);
      if (this.review.rejected.size > 0) this.say("What was rejected when this tree was last reviewed is rejected here, too.");
    } catch { /* no storage: nothing is kept */ }
  }
  say(text) { this.one("message").textContent = text; }

  fill() {
    const options = (id, all, values) => {
      const counts = new Map();
      for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
      const select = this.one(id);
      select.add(new Option(all, ""));
      for (const value of [...counts.keys()].sort()) select.add(new Option(`${value} (${counts.get(value)})`, value));
      select.addEventListener("change", () => this.filter());
    };
    const sites = this.review.sites;
    options("rule", "All rules", sites.map((site) => site.rule));
    options("file", "All files", sites.map((site) => site.file));
    options("outcome", "All outcomes", sites.map((site) => site.kind));
    options("assumption", "All assumptions", sites.flatMap((site) => site.assumes));
    const verdicts = sites.filter((site) => site.verdict).map((site) => site.verdict.replace("_", " "));
    this.one("verdict").hidden = verdicts.length === 0;
    options("verdict", "All verdicts", verdicts);
    const said = [...this.review.report.problems.map((problem) => `${problem.file}: ${problem.message}`), ...this.review.report.notes];
    for (const text of said) this.one("notes").append(element("p", "faint", text));
  }

  filter() {
    const value = (id) => this.one(id).value;
    const rule = value("rule"), file = value("file"), outcome = value("outcome"), assumption = value("assumption"), verdict = value("verdict");
    const words = value("search").toLowerCase().split(/\s+/).filter(Boolean);
    this.shown = this.review.sites.filter((site) =>
      (rule === "" || site.rule === rule) && (file === "" || site.file === file) && (outcome === "" || site.kind === outcome) &&
      (assumption === "" || site.assumes.includes(assumption)) && (verdict === "" || site.verdict?.replace("_", " ") === verdict) && words.every((word) => site.words.includes(word)));
    if (!this.shown.includes(this.current)) this.current = this.shown[0] || null;
    this.lay();
  }

  measure() {
    const probe = element("span", "code", "0".repeat(100));
    probe.style.position = "absolute";
    this.rows.append(probe);
    const width = probe.getBoundingClientRect().width / 100 || 8;
    probe.remove();
    const columns = Math.max(40, Math.floor((this.list.clientWidth - 24) / width));
    if (columns !== this.columns) this.built.clear();
    this.columns = columns;
  }

  // Where each shown site stands: the items of the list, with their offsets in pixels.
  lay() {
    this.items = [];
    let top = 0, file = null;
    for (const site of this.shown) {
      if (site.file !== file) {
        file = site.file;
        this.items.push({ top, height: kRow, file });
        top += kRow;
      }
      const height = kHead + kRow * (this.rowsOf(site).length + 1);
      this.items.push({ top, height, site });
      top += height;
    }
    this.rows.style.height = `${top}px`;
    this.draw();
  }

  // The rows below a site's head: what is said of it, and its code.
  rowsOf(site) {
    if (this.built.has(site)) return this.built.get(site);
    const rows = [];
    const says = (label, text) => {
      if (text) for (const row of wrappedWords(`${label}: ${text}`, this.columns - 6)) rows.push({ says: row });
    };
    for (const assumption of site.assumes) says("assumes", assumption);
    if (site.verdict) says("verified", `${site.verdict.replace("_", " ")}${site.verdict_reason ? `: ${site.verdict_reason}` : ""}`);
    says("why", site.message);
    says("near miss", site.clause);
    if (site.through) says("through", `${site.through}, whose definition is rewritten`);
    if (site.absorbed) says("layout", "the transposes around the call go");
    says("layout", site.layout_kept && `the transposes around the call stay: ${site.layout_kept}`);
    const source = this.review.files.get(site.file)?.source;
    const spans = source && inOrder(source.spans(site.edits));
    if (spans && spans.length > 0) this.addDiff(rows, source, spans);
    else if (source) this.addPlace(rows, source, site);
    else for (const line of linesOf(site.before)) rows.push({ line: "", site: true, pieces: [[line, false]] });
    this.built.set(site, rows);
    return rows;
  }
  addDiff(rows, source, spans) {
    const half = Math.floor((this.columns - kSides) / 2);
    const pair = (number, left, right, newNumber) => {
      const one = left ? wrapped(left, half) : [], other = right ? wrapped(right, half) : [];
      for (let i = 0; i < Math.max(one.length, other.length); ++i) {
        rows.push({ left: one[i], right: other[i], number: i ? "" : number, newNumber: i ? "" : newNumber, same: left === right });
      }
    };
    const blocks = blocksOf(source, spans);
    let grown = 0;
    for (const hunk of hunksOf(source, blocks)) {
      let at = hunk.begin;
      const context = (end) => {
        for (; at < end; ++at) {
          const pieces = [[source.lines[at], false]];
          pair(at + 1, pieces, pieces, at + 1 + grown);
        }
      };
      if (rows.some((row) => "number" in row)) rows.push({ says: "⋯" });
      for (const block of hunk.blocks) {
        context(block.line);
        for (let i = 0; i < Math.max(block.before.length, block.after.length); ++i) {
          const before = block.before[i], after = block.after[i];
          pair(before ? at + i + 1 : "", before?.pieces, after?.pieces, after ? at + i + 1 + grown : "");
        }
        at += block.before.length;
        grown += block.after.length - block.before.length;
      }
      context(hunk.end);
    }
  }
  addPlace(rows, source, site) {
    const end = Math.min(site.end_line, site.line + 20);
    for (let n = Math.max(1, site.line - 2); n <= Math.min(end + 2, source.lines.length); ++n) {
      const here = n >= site.line && n <= end;
      wrapped([[source.lines[n - 1], false]], this.columns - kSides).forEach((pieces, i) => rows.push({ line: i ? "" : n, site: here, pieces }));
    }
  }

  draw() {
    const top = this.list.scrollTop - 200, bottom = this.list.scrollTop + this.list.clientHeight + 200;
    let first = 0, past = this.items.length;
    while (first < past) {
      const middle = (first + past) >> 1;
      if (this.items[middle].top + this.items[middle].height < top) first = middle + 1; else past = middle;
    }
    const made = [];
    for (let i = first; i < this.items.length && this.items[i].top < bottom; ++i) made.push(this.item(this.items[i]));
    this.rows.replaceChildren(...made);
    const able = this.review.sites.filter(Review.decidable);
    const accepted = able.filter((site) => this.review.accepted(site)).length;
    this.one("count").textContent = `${this.shown.length} of ${this.review.sites.length} sites shown; ${accepted} of ${able.length} that can be rewritten are accepted`;
  }
  item(item) {
    const made = element("div", "item");
    made.style.top = `${item.top}px`;
    made.style.height = `${item.height}px`;
    if (item.file !== undefined) {
      made.append(element("div", "row file", item.file));
      return made;
    }
    const site = item.site;
    const accepted = this.review.accepted(site);
    if (site === this.current) made.classList.add("current");
    if (Review.decidable(site) && !accepted) made.classList.add("rejected");
    made.dataset.site = site.number;
    made.append(this.head(site, accepted));
    for (const row of this.rowsOf(site)) made.append(this.row(row));
    made.addEventListener("mousedown", () => {
      this.current = site;
      for (const other of this.rows.querySelectorAll(".current")) other.classList.remove("current");
      made.classList.add("current");
    });
    return made;
  }
  head(site, accepted) {
    const head = element("div", "row head");
    if (Review.decidable(site)) {
      for (const [text, accept] of [["Accept", true], ["Reject", false]]) {
        const button = element("button", accept === accepted ? "on" : "", text);
        button.type = "button";
        button.setAttribute("aria-pressed", String(accept === accepted));
        button.addEventListener("click", () => this.decide([site], accept));
        head.append(button);
      }
    }
    const kind = site.kind === "refused" ? `refused: ${site.code}` : site.kind;
    head.append(element("span", site.kind, kind), element("span", "name", site.rule));
    head.append(element("span", "faint", `line ${site.line}${site.function ? `, ${site.function}` : ""}`));
    return head;
  }
  row(row) {
    if (row.says !== undefined) return element("div", "row says", row.says);
    const made = element("div", "row code");
    const side = (number, pieces, name) => {
      const half = element("div", `side ${pieces ? name : ""}`);
      half.append(element("span", "number", String(number)));
      const text = element("span", "text");
      for (const [piece, mark] of pieces || []) text.append(mark ? element("mark", "", piece) : piece);
      half.append(text);
      made.append(half);
    };
    if ("line" in row) {
      side(row.line, row.pieces, row.site ? "site" : "");
    } else {
      side(row.number, row.left, row.same ? "" : "old");
      side(row.newNumber, row.right, row.same ? "" : "new");
    }
    return made;
  }

  decide(sites, accept) {
    this.say("");
    this.review.decide(sites, accept);
    this.remember(false);
    this.draw();
  }
  move(step) {
    if (this.shown.length === 0) return;
    const at = this.shown.indexOf(this.current) + step;
    this.current = this.shown[Math.min(Math.max(at, 0), this.shown.length - 1)];
    const item = this.items.find((other) => other.site === this.current);
    if (item.top < this.list.scrollTop) this.list.scrollTop = item.top - kRow;
    const over = item.top + Math.min(item.height, this.list.clientHeight) - this.list.scrollTop - this.list.clientHeight;
    if (over > 0) this.list.scrollTop += over;
    this.draw();
  }
  save(name, text, type) {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }
  exportPatch() {
    const { text, notes } = this.review.patch();
    this.say(notes.join("\n"));
    this.save("refit.patch", text, "text/x-patch");
  }
  exportChoice() {
    this.save("refit-sites.json", this.review.choice(), "application/json");
  }

  listen() {
    const keys = {
      j: () => this.move(1), k: () => this.move(-1),
      a: () => this.current && this.decide([this.current], true),
      r: () => this.current && this.decide([this.current], false),
      A: () => this.current && this.decide(this.ofRule(this.current.rule), true),
      R: () => this.current && this.decide(this.ofRule(this.current.rule), false),
      "/": () => this.one("search").focus(),
      "?": () => this.one("keys").showModal(),
      p: () => this.exportPatch(), c: () => this.exportChoice(),
    };
    document.addEventListener("keydown", (event) => {
      const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
      if (typing && event.key === "Escape") this.list.focus();
      if (typing || event.ctrlKey || event.metaKey || event.altKey || this.one("keys").open || !Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.one("search").addEventListener("input", () => this.filter());
    this.list.addEventListener("scroll", () => this.draw());
    window.addEventListener("resize", () => { this.measure(); this.lay(); });
    const clicks = {
      "accept-shown": () => this.decide(this.shown, true), "reject-shown": () => this.decide(this.shown, false),
      patch: keys.p, choice: keys.c, help: keys["?"],
    };
    for (const [id, act] of Object.entries(clicks)) this.one(id).addEventListener("click", act);
  }
  ofRule(rule) { return this.review.sites.filter((site) => site.rule === rule); }
}

if (typeof document !== "undefined") {
  const data = (id) => JSON.parse(document.getElementById(id).textContent);
  new View(new Review(data("report"), data("files")));
}
