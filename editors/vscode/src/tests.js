'use strict';
// What the test explorer knows of healc, without the editor.

// blocks are the names of the `test` blocks of a text, with their lines from 0.
function blocks(text) {
  const out = [];
  text.split('\n').forEach((line, i) => {
    const found = /^\s*test\s+("(?:[^"\\]|\\.)*")/.exec(line);
    if (found) {
      out.push({ name: unquoted(found[1]), line: i });
    }
  });
  return out;
}

// unquoted is what a string of the language says.
function unquoted(s) {
  const escapes = { n: '\n', t: '\t', r: '\r', 0: '\0' };
  return s.slice(1, -1).replace(/\\u\{([0-9a-fA-F]+)\}|\\(.)/g,
    (_, hex, c) => hex ? String.fromCodePoint(parseInt(hex, 16)) : escapes[c] ?? c);
}

// exactly is the value of `healc test --run` for some names.
function exactly(names) {
  return `^(${names.map((n) => n.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
}

// outcomes are what became of tests by their names, over all backends, from what `healc test --json` prints. A file that
// does not compile has one result, without a name.
function outcomes(text) {
  const out = new Map();
  for (const t of JSON.parse(text).tests) {
    const name = t.test ?? '';
    const of = out.get(name) ?? { result: 'passed', milliseconds: 0, messages: [] };
    of.milliseconds += 1000 * (t.seconds ?? 0);
    if (t.result !== 'passed' && of.result !== 'failed') {
      of.result = t.result;
    }
    if (t.result === 'failed') {
      const backend = t.backend ? `${t.backend}: ` : '';
      of.messages.push({ text: backend + (t.message ?? 'failed'), place: placeIn(t.message ?? '') });
    }
    out.set(name, of);
  }
  return out;
}

// placeIn is the first place that a message has.
function placeIn(message) {
  const found = /--> (.*):(\d+):(\d+)/.exec(message);
  return found ? { path: found[1], line: Number(found[2]), column: Number(found[3]) } : undefined;
}

module.exports = { blocks, exactly, outcomes };
