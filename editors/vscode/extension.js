// Starts `cotan lsp` for files of the language. Everything else is the server's.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

function command() {
  return vscode.workspace.getConfiguration("cotan").get("command") || "cotan";
}

async function start() {
  const server = { command: command(), args: ["lsp"] };
  const options = { documentSelector: [{ language: "cotan" }] };
  client = new LanguageClient("cotan", "cotan", server, options);
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      `${command()} lsp does not start: ${error}. Is cotan installed, with its default features?`,
      "Settings",
    );
    if (choice === "Settings") {
      vscode.commands.executeCommand("workbench.action.openSettings", "cotan.command");
    }
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

function run() {
  const file = vscode.window.activeTextEditor?.document;
  if (file?.languageId !== "cotan") {
    return;
  }
  const task = new vscode.Task(
    { type: "cotan" },
    vscode.TaskScope.Workspace,
    "run",
    "cotan",
    new vscode.ProcessExecution(command(), ["run", file.fileName]),
  );
  vscode.tasks.executeTask(task);
}

exports.activate = async function (context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("cotan.restart", async () => {
      await stop();
      await start();
    }),
    vscode.commands.registerCommand("cotan.run", run),
  );
  await start();
};

exports.deactivate = stop;
