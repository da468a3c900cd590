"use strict";
// What a review knows apart from how it looks: texts, edits, which sites go together, patches.

const kContext = 3; // lines around a change

// The lines of a text, each with its line end.
function linesOf(text) {
  return text.match(/[^\n]*\n|[^\n]+$/g) || [];
}

// A file's text by lines. Edits count lines and columns from 1, columns in characters, without a byte order mark.
class SourceText {
  constructor(text) {
    this.text = text;
    this.lines = linesOf(text);
    this.starts = [0];
    for (const line of this.lines) this.starts.push(this.starts.at(-1) + line.length);
  }
  offset(line, column) {
    let at = this.starts[Math.min(line - 1, this.lines.length)];
    if (line === 1 && this.text.startsWith("\ufeff")) at += 1;
    for (let i = 1; i < column; ++i) at += this.text.codePointAt(at) > 0xffff ? 2 : 1;
    return at;
  }
  lineAt(offset) {
    let low = 0, high = this.lines.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= offset) low = middle; else high = middle - 1;
    }
    return low;
  }
  spans(edits) {
    return edits.map((edit) => ({
      begin: this.offset(edit.line, edit.column),
      end: this.offset(edit.end_line, edit.end_column),
      text: edit.text,
    }));
  }
}

// Whether a line that is added, `import a`, is part of another that is added there, `import a.b`.
function implied(span, spans) {
  const line = span.text.trim();
  return span.begin === span.end && /^import [\w.]+$/.test(line) &&
    spans.some((other) => other.begin === span.begin && other.text.trim().startsWith(`${line}.`));
}

// Spans in order, equal ones once; null where two of them overlap.
function inOrder(spans) {
  const once = new Map(spans.map((span) => [`${span.begin}:${span.end}:${span.text}`, span]));
  const needed = [...once.values()].filter((span) => !implied(span, [...once.values()]));
  const sorted = needed.sort((a, b) => a.begin - b.begin || a.end - b.end || (a.text < b.text ? -1 : 1));
  for (let i = 1; i < sorted.length; ++i) {
    if (sorted[i - 1].end > sorted[i].begin) return null;
  }
  return sorted;
}

// A text's lines as pieces [text, whether it is marked].
function marked(text, marks) {
  const lines = [];
  let at = 0;
  for (const line of linesOf(text)) {
    const pieces = [];
    let from = 0;
    for (const [begin, end] of marks) {
      const low = Math.max(begin - at, from), high = Math.min(end - at, line.length);
      if (low >= high) continue;
      if (low > from) pieces.push([line.slice(from, low), false]);
      pieces.push([line.slice(low, high), true]);
      from = high;
    }
    if (from < line.length) pieces.push([line.slice(from), false]);
    lines.push({ text: line, pieces });
    at += line.length;
  }
  return lines;
}

// What ordered spans change, by stretches of whole lines: { line (from 0), before, after }.
function blocksOf(source, spans) {
  const blocks = [];
  for (let i = 0; i < spans.length;) {
    const first = source.lineAt(spans[i].begin);
    let last = source.lineAt(spans[i].end), next = i + 1;
    while (next < spans.length && source.lineAt(spans[next].begin) <= last) {
      last = Math.max(last, source.lineAt(spans[next++].end));
    }
    const base = source.starts[first], end = source.starts[Math.min(last + 1, source.lines.length)];
    const gone = [], made = [];
    let after = "", at = base;
    for (; i < next; ++i) {
      after += source.text.slice(at, spans[i].begin);
      made.push([after.length, after.length + spans[i].text.length]);
      after += spans[i].text;
      gone.push([spans[i].begin - base, spans[i].end - base]);
      at = spans[i].end;
    }
    after += source.text.slice(at, end);
    const block = { line: first, before: marked(source.text.slice(base, end), gone), after: marked(after, made) };
    const same = (a, b) => a !== undefined && b !== undefined && a.text === b.text;
    while (same(block.before.at(-1), block.after.at(-1))) block.before.pop(), block.after.pop();
    while (same(block.before[0], block.after[0])) block.before.shift(), block.after.shift(), ++block.line;
    if (block.before.length + block.after.length > 0) blocks.push(block);
  }
  return blocks;
}

// Blocks that share their context, as the hunks of a diff have them.
function hunksOf(source, blocks) {
  const hunks = [];
  for (const block of blocks) {
    const last = hunks.at(-1)?.at(-1);
    if (last && block.line - (last.line + last.before.length) <= 2 * kContext) hunks.at(-1).push(block);
    else hunks.push([block]);
  }
  return hunks.map((some) => {
    const end = some.at(-1).line + some.at(-1).before.length;
    return {
      blocks: some,
      begin: Math.max(0, some[0].line - kContext),
      end: Math.min(source.lines.length, end + kContext),
    };
  });
}

function patchLine(sign, line) {
  return line.endsWith("\n") ? sign + line : `${sign}${line}\n\\ No newline at end of file\n`;
}

// The unified diff below its header.
function diffText(source, blocks) {
  let text = "", grown = 0;
  for (const hunk of hunksOf(source, blocks)) {
    let body = "", at = hunk.begin, added = 0;
    for (const block of hunk.blocks) {
      for (; at < block.line; ++at) body += patchLine(" ", source.lines[at]);
      for (const line of block.before) body += patchLine("-", line.text);
      for (const line of block.after) body += patchLine("+", line.text);
      at += block.before.length;
      added += block.after.length - block.before.length;
    }
    for (; at < hunk.end; ++at) body += patchLine(" ", source.lines[at]);
    const size = hunk.end - hunk.begin;
    const range = (begin, count) => `${count === 0 ? begin : begin + 1},${count}`;
    text += `@@ -${range(hunk.begin, size)} +${range(hunk.begin + grown, size + added)} @@\n${body}`;
    grown += added;
  }
  return text;
}

class Review {
  constructor(report, files) {
    this.report = report;
    this.files = new Map();
    for (const [name, file] of Object.entries(files)) {
      this.files.set(name, { ...file, name, source: file.text === null ? null : new SourceText(file.text), sites: [] });
    }
    this.rejected = new Set(); // fingerprints
    this.sites = report.sites.map((site, number) => ({ ...site, number, kind: Review.kind(site) }));
    for (const site of this.sites) this.files.get(site.file)?.sites.push(site);
    this.join();
  }
  static kind(site) {
    if (site.outcome !== "rewritten") return "refused";
    if (site.through) return "through";
    return site.assumes.length > 0 ? "assuming" : "rewritten";
  }
  static decidable(site) {
    return site.kind === "rewritten" || site.kind === "assuming";
  }
  // Fingerprints that are decided together: sites that have the same edits are right only with each other.
  join() {
    this.together = new Map();
    const sets = new Map();
    for (const site of this.sites.filter(Review.decidable)) {
      let group = this.together.get(site.fingerprint) || new Set([site.fingerprint]);
      if (site.edits.length > 0) {
        const key = site.file + "\0" + JSON.stringify(site.edits);
        const other = sets.get(key);
        if (other) group = new Set([...group, ...this.together.get(other)]);
        sets.set(key, site.fingerprint);
      }
      for (const print of group) this.together.set(print, group);
    }
  }
  accepted(site) {
    return Review.decidable(site) && !this.rejected.has(site.fingerprint);
  }
  decide(sites, accept) {
    for (const site of sites) {
      for (const print of this.together.get(site.fingerprint) || []) {
        if (accept) this.rejected.delete(print); else this.rejected.add(print);
      }
    }
  }
  // The accepted sites as the text of a patch, and sentences on what it could not hold.
  patch() {
    let text = "";
    const notes = [];
    for (const file of this.files.values()) {
      const able = file.sites.filter(Review.decidable);
      const chosen = able.filter((site) => this.accepted(site));
      if (chosen.length === 0) continue;
      if (file.patch === null) {
        notes.push(`${file.name} is not in UTF-8 and not in the patch; its sites are in the choice.`);
      } else if (chosen.length === able.length) {
        text += file.patch;
      } else {
        text += this.partial(file, chosen, notes);
      }
    }
    return { text, notes };
  }
  partial(file, chosen, notes) {
    const later = chosen.filter((site) => site.edits.length === 0);
    const sites = chosen.filter((site) => site.edits.length > 0);
    const spans = inOrder(file.source.spans(sites.flatMap((site) => site.edits)));
    if (spans === null) {
      notes.push(`The sites of ${file.name} that were chosen change the same text and are not in the patch; they are in the choice.`);
      return "";
    }
    if (later.length > 0) {
      notes.push(`${later.length} of the sites of ${file.name} can be rewritten only after others and are not in the patch; they are in the choice.`);
    }
    const body = diffText(file.source, blocksOf(file.source, spans));
    const header = file.patch.slice(0, file.patch.indexOf("\n@@ ") + 1);
    return body === "" ? "" : header.replace(/^index .*\n/m, "") + body;
  }
  // The file that `refit migrate --choose` reads.
  choice() {
    const sites = this.sites.filter((site) => this.accepted(site));
    const named = sites.map(({ fingerprint, rule, file, line }) => ({ fingerprint, rule, file, line }));
    return JSON.stringify({ format: "refit-sites", version: 1, sites: named }, null, 1) + "\n";
  }
}
