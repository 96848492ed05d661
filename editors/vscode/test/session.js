'use strict';
// A session with a real client: node test/session.js HEALC FOLDER, where FOLDER is empty.

const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const rpc = require('vscode-languageserver-protocol/node');
const { blocks, exactly, outcomes } = require('../src/tests');

const [healc, folder] = process.argv.slice(2);

const layers = `# Twice as much.
pub fn twice(x: f32[2]) -> f32[2] = x .* 2.0

test "a \\"sum\\" (of 2)" { assert(sum(twice([1.0, 2.0])) == 6.0) }

test "wrong" { assert(sum(twice([1.0, 2.0])) == 7.0) }
`;
const main = `import "./layers"

@io fn main() = {
    let v = layers.twise([1.0, 2.0]);
    print(v)
}
`;

async function session() {
  const server = spawn(healc, ['lsp'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.on('exit', resolve));
  const client = rpc.createProtocolConnection(
    new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  client.listen();

  const told = new Map(); // diagnostics by file and version, or who waits for them
  const key = (uri, version) => `${version} ${uri}`;
  client.onNotification(rpc.PublishDiagnosticsNotification.type, (p) => {
    const waits = told.get(key(p.uri, p.version));
    told.set(key(p.uri, p.version), p.diagnostics);
    if (typeof waits === 'function') { waits(p.diagnostics); }
  });
  const diagnostics = (uri, version) => new Promise((resolve) => {
    const known = told.get(key(uri, version));
    if (known) { resolve(known); } else { told.set(key(uri, version), resolve); }
  });

  const root = pathToFileURL(folder).href;
  const { capabilities } = await client.sendRequest(rpc.InitializeRequest.type, {
    processId: process.pid, rootUri: root, workspaceFolders: [{ uri: root, name: 'it' }],
    capabilities: { general: { positionEncodings: ['utf-16'] }, workspace: { textDocumentContent: {} } },
  });
  assert.equal(capabilities.positionEncoding, 'utf-16');
  await client.sendNotification(rpc.InitializedNotification.type, {});

  fs.writeFileSync(path.join(folder, 'layers.heal'), layers);
  const textDocument = { uri: pathToFileURL(path.join(folder, 'main.heal')).href };
  await client.sendNotification(rpc.DidOpenTextDocumentNotification.type,
    { textDocument: { ...textDocument, languageId: 'heal', version: 1, text: main } });

  const [mistake, ...more] = await diagnostics(textDocument.uri, 1);
  assert.equal(mistake.code, 'E0301');
  assert.deepEqual(mistake.range, { start: { line: 3, character: 19 }, end: { line: 3, character: 24 } });
  const page = await client.sendRequest(rpc.TextDocumentContentRequest.type, { uri: mistake.codeDescription.href });
  assert.match(page.text, /^# E0301/);
  assert.deepEqual(more, []);

  // The fix makes it right, and shapes show.
  const [fix] = await client.sendRequest(rpc.CodeActionRequest.type,
    { textDocument, range: mistake.range, context: { diagnostics: [mistake] } });
  const [edit] = fix.edit.changes[textDocument.uri];
  await client.sendNotification(rpc.DidChangeTextDocumentNotification.type,
    { textDocument: { ...textDocument, version: 2 }, contentChanges: [{ range: edit.range, text: edit.newText }] });
  assert.deepEqual(await diagnostics(textDocument.uri, 2), []);
  const hints = await client.sendRequest(rpc.InlayHintRequest.type,
    { textDocument, range: { start: { line: 0, character: 0 }, end: { line: 5, character: 1 } } });
  assert.deepEqual(hints.map((h) => h.label), [': f32[2]']);
  const position = { line: 3, character: 21 };
  const hover = await client.sendRequest(rpc.HoverRequest.type, { textDocument, position });
  assert.match(hover.contents.value, /pub fn layers\.twice\(x: f32\[2\]\) -> f32\[2\]/);

  // A name changes in a file that is only on disk, too.
  const renamed = await client.sendRequest(rpc.RenameRequest.type, { textDocument, position, newName: 'double' });
  assert.equal(Object.keys(renamed.changes).length, 2);
  const [item] = await client.sendRequest(rpc.CallHierarchyPrepareRequest.type, { textDocument, position });
  const calls = await client.sendRequest(rpc.CallHierarchyIncomingCallsRequest.type, { item });
  assert.deepEqual(calls.map((c) => c.from.name), ['test a "sum" (of 2)', 'test wrong', 'main']);

  // What a lens says can be run.
  fs.writeFileSync(path.join(folder, 'main.heal'), main.replace('twise', 'twice'));
  const lenses = await client.sendRequest(rpc.CodeLensRequest.type, { textDocument });
  assert.deepEqual(lenses.map((l) => l.command.command), ['heal.run', 'heal.bench', 'heal.explain']);
  assert.equal(execFileSync(healc, lenses[0].command.arguments).toString(), '[2. 4.]\n');

  await client.sendRequest(rpc.ShutdownRequest.type);
  await client.sendNotification(rpc.ExitNotification.type);
  assert.equal(await ended, 0);
  client.dispose();
}

// explorer is what the test explorer does with a file.
function explorer() {
  const file = path.join(folder, 'layers.heal');
  const found = blocks(layers);
  assert.deepEqual(found, [{ name: 'a "sum" (of 2)', line: 3 }, { name: 'wrong', line: 5 }]);
  let text;
  try {
    execFileSync(healc, ['test', '--json', '--run', exactly(found.map((b) => b.name)), '--backend', 'interp', file]);
  } catch (e) {
    text = e.stdout.toString(); // a test fails
  }
  const of = outcomes(text);
  assert.equal(of.get('a "sum" (of 2)').result, 'passed');
  assert.equal(of.get('wrong').result, 'failed');
  assert.deepEqual(of.get('wrong').messages[0].place, { path: file, line: 6, column: 16 });
}

let done = false;
process.on('exit', () => { // also where nothing is left to wait for
  if (!done) { process.exitCode = 1; }
});
session().then(explorer).then(() => { done = true; }).catch((e) => {
  console.error(e);
  process.exit(1);
});
