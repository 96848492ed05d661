'use strict';
// The extension: a client of `healc lsp`, its commands, tasks and tests.

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');
const { registerTests } = require('./explorer');

let client;

const healc = () => vscode.workspace.getConfiguration('heal').get('path') || 'healc';

// start begins a session with the server.
async function start() {
  const settings = vscode.workspace.getConfiguration('heal');
  client = new LanguageClient(
    'heal',
    'Heal',
    { command: healc(), args: ['lsp'] },
    {
      documentSelector: [
        { language: 'heal', scheme: 'file' },
        { language: 'heal', scheme: 'untitled' },
        { language: 'heal', scheme: 'heal' }, // modules of the library
      ],
      initializationOptions: Object.fromEntries(['hints', 'lenses', 'fusion'].map((k) => [k, settings.get(k)])),
      synchronize: { configurationSection: 'heal' },
    },
  );
  try {
    await client.start();
  } catch (e) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `Heal: \`${healc()} lsp\` does not start: ${e.message}. Set heal.path to the compiler.`, 'Settings');
    if (choice) {
      vscode.commands.executeCommand('workbench.action.openSettings', 'heal.path');
    }
  }
}

async function stop() {
  const old = client;
  client = undefined;
  if (old) {
    await old.stop();
  }
}

// task runs healc with some words.
function task(name, args, scope) {
  const t = new vscode.Task({ type: 'heal', args }, scope ?? vscode.TaskScope.Workspace, name, 'heal',
    new vscode.ProcessExecution(healc(), args), '$healc');
  t.presentationOptions = { reveal: vscode.TaskRevealKind.Always, panel: vscode.TaskPanelKind.Shared, clear: true };
  return t;
}

// command is what a lens does: healc reads files, and so what is in the editor is saved first.
function command(name) {
  return async (...args) => {
    await vscode.workspace.saveAll(false);
    return vscode.tasks.executeTask(task(name, args));
  };
}

const tasks = {
  provideTasks() {
    const editor = vscode.window.activeTextEditor;
    const out = [task('test all', ['test'])];
    if (editor?.document.languageId === 'heal' && editor.document.uri.scheme === 'file') {
      const path = editor.document.fileName;
      for (const verb of ['check', 'run', 'test', 'explain']) {
        out.push(task(`${verb} ${vscode.workspace.asRelativePath(path)}`, [verb, path]));
      }
    }
    return out;
  },
  resolveTask(t) {
    return task(t.name, t.definition.args, t.scope);
  },
};

async function activate(context) {
  for (const name of ['run', 'test', 'bench', 'explain']) { // the commands of lenses
    context.subscriptions.push(vscode.commands.registerCommand(`heal.${name}`, command(name)));
  }
  context.subscriptions.push(
    vscode.commands.registerCommand('heal.restart', async () => { await stop(); await start(); }),
    vscode.commands.registerCommand('heal.showKernels', () => {
      const document = vscode.window.activeTextEditor?.document;
      if (document?.languageId === 'heal') {
        return command('explain')('explain', document.fileName);
      }
    }),
    vscode.tasks.registerTaskProvider('heal', tasks),
    vscode.workspace.onDidChangeConfiguration(async (e) => {
      if (e.affectsConfiguration('heal.path')) {
        await stop();
        await start();
      }
    }),
  );
  registerTests(context, healc);
  await start();
}

module.exports = { activate, deactivate: stop };
