'use strict';
// The test explorer: `test` blocks of files, run by `healc test --json`.

const { execFile } = require('node:child_process');
const vscode = require('vscode');
const { blocks, exactly, outcomes } = require('./tests');

function registerTests(context, healc) {
  const controller = vscode.tests.createTestController('heal', 'Heal');
  context.subscriptions.push(controller);

  // read makes the items of a file those that its text has.
  function read(uri, text) {
    const found = blocks(text);
    if (uri.scheme !== 'file' || found.length === 0) {
      controller.items.delete(uri.toString());
      return;
    }
    const id = uri.toString();
    const file = controller.items.get(id) ?? controller.createTestItem(id, vscode.workspace.asRelativePath(uri), uri);
    file.children.replace(found.map(({ name, line }) => { // an item that stays keeps what became of it
      const own = `${id}#${name}`;
      const item = file.children.get(own) ?? controller.createTestItem(own, name, uri);
      item.range = new vscode.Range(line, 0, line, 0);
      return item;
    }));
    controller.items.add(file);
  }

  const readDocument = (d) => { if (d.languageId === 'heal') { read(d.uri, d.getText()); } };
  async function readFile(uri) {
    read(uri, Buffer.from(await vscode.workspace.fs.readFile(uri)).toString('utf8'));
  }
  controller.resolveHandler = async (item) => {
    if (!item) {
      for (const uri of await vscode.workspace.findFiles('**/*.heal', '**/node_modules/**')) {
        await readFile(uri);
      }
    }
  };
  const watcher = vscode.workspace.createFileSystemWatcher('**/*.heal');
  watcher.onDidCreate(readFile);
  watcher.onDidChange(readFile);
  watcher.onDidDelete((uri) => controller.items.delete(uri.toString()));
  context.subscriptions.push(watcher,
    vscode.workspace.onDidOpenTextDocument(readDocument),
    vscode.workspace.onDidChangeTextDocument((e) => readDocument(e.document)));
  vscode.workspace.textDocuments.forEach(readDocument);

  // wanted are the tests of a request, by file; a file's item has its path.
  function wanted(request) {
    const files = new Map();
    const add = (item) => {
      if (request.exclude?.includes(item)) {
        return;
      }
      if (!item.parent) {
        item.children.forEach(add);
        return;
      }
      const list = files.get(item.uri.fsPath) ?? [];
      if (!list.includes(item)) {
        list.push(item);
      }
      files.set(item.uri.fsPath, list);
    };
    if (request.include) {
      request.include.forEach(add);
    } else {
      controller.items.forEach(add);
    }
    return files;
  }

  async function run(request, token) {
    await vscode.workspace.saveAll(false);
    const turn = controller.createTestRun(request);
    for (const [path, items] of wanted(request)) {
      if (token.isCancellationRequested) {
        break;
      }
      items.forEach((item) => turn.started(item));
      const run = exactly(items.map((i) => i.label));
      const { text, problem } = await json(healc(), ['test', '--json', '--run', run, path], token);
      const results = problem ? new Map() : outcomes(text);
      for (const item of items) {
        const of = results.get(item.label) ?? results.get('');
        if (!of) {
          turn.errored(item, new vscode.TestMessage(problem ?? 'healc does not say what became of it'));
        } else if (of.result === 'passed') {
          turn.passed(item, of.milliseconds);
        } else if (of.result === 'skipped') {
          turn.skipped(item);
        } else {
          turn.failed(item, of.messages.map((m) => message(m, item)), of.milliseconds);
        }
      }
    }
    turn.end();
  }
  controller.createRunProfile('Run', vscode.TestRunProfileKind.Run, run, true);
}

function message({ text, place }, item) {
  const m = new vscode.TestMessage(text);
  const at = place ? new vscode.Position(place.line - 1, place.column - 1) : item.range.start;
  m.location = new vscode.Location(place ? vscode.Uri.file(place.path) : item.uri, at);
  return m;
}

// json is what healc prints; where tests fail, it ends with another code than 0.
function json(program, args, token) {
  return new Promise((resolve) => {
    const child = execFile(program, args, { maxBuffer: 1 << 28 }, (error, stdout, stderr) => {
      resolve(stdout.trimStart().startsWith('{') ? { text: stdout } : { problem: stderr || String(error) });
    });
    token.onCancellationRequested(() => child.kill());
  });
}

module.exports = { registerTests };
