//! The protocol: requests and notifications of an editor, and what is sent back.

use std::collections::HashMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use cotan_ir::{FileId, SourceMap};
use cotan_syntax::ast::Item;
use cotan_syntax::{Diagnostic, Severity};
use crossbeam_channel::select;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{self, Notification as _};
use lsp_types::request::{self, Request as _};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionProviderCapability, Command,
    CompletionOptions, CompletionResponse, DiagnosticRelatedInformation, DiagnosticSeverity,
    DocumentSymbolResponse, ExecuteCommandOptions, GotoDefinitionResponse, Hover, HoverContents,
    HoverProviderCapability, InitializeParams, Location, MarkupContent, MarkupKind, NumberOrString,
    OneOf, Position, PrepareRenameResponse, PublishDiagnosticsParams, Range, RenameOptions,
    SemanticTokens, SemanticTokensFullOptions, SemanticTokensOptions, SemanticTokensRangeResult,
    SemanticTokensResult, ServerCapabilities, ShowDocumentParams, TextDocumentPositionParams,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use serde_json::{Value, json};

use crate::analysis::{Checked, Loaded, Snapshot, Worker};
use crate::complete::complete;
use crate::document::{Document, Texts, path_of, uri_of};
use crate::edits::{Fix, Places, fixes, formatting, references, rename};
use crate::explain::explained;
use crate::gradient::gradient;
use crate::hints::hints;
use crate::hover::{elsewhere, hover};
use crate::names::{Target, item_at};
use crate::places::Lines;
use crate::symbols::{legend, outline, words};

/// The command that shows a gradient.
const GRADIENT: &str = "cotan.gradient";
/// The command that explains a line.
const EXPLAIN: &str = "cotan.explain";
/// How long the hints of a window may take.
const HINTS: Duration = Duration::from_millis(40);

type Failed = Box<dyn Error + Send + Sync>;

/// Serves the editor at the other end of standard input and output until it goes away.
///
/// # Errors
/// If what comes in is not the protocol.
pub fn serve() -> Result<(), Failed> {
    let (connection, threads) = Connection::stdio();
    serve_on(connection)?;
    threads.join()?;
    Ok(())
}

/// Serves the editor at the other end of a connection.
///
/// # Errors
/// If what comes in is not the protocol.
pub fn serve_on(connection: Connection) -> Result<(), Failed> {
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = serde_json::from_value(params).unwrap_or_default();
    let answer = json!({
        "capabilities": capabilities(),
        "serverInfo": {"name": "cotan", "version": env!("CARGO_PKG_VERSION")},
    });
    connection.initialize_finish(id, answer)?;
    let mut server = Server {
        connection,
        open: HashMap::new(),
        texts: Texts::default(),
        worker: Worker::new(),
        requests: 0,
        shows_documents: params
            .capabilities
            .window
            .and_then(|window| window.show_document)
            .is_some_and(|show| show.support),
        refreshes_hints: params
            .capabilities
            .workspace
            .and_then(|workspace| workspace.inlay_hint)
            .and_then(|hints| hints.refresh_support)
            .unwrap_or(false),
    };
    server.run()
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec![".".to_owned()]),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: Default::default(),
        })),
        document_symbol_provider: Some(OneOf::Left(true)),
        document_formatting_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        inlay_hint_provider: Some(OneOf::Left(true)),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![GRADIENT.to_owned(), EXPLAIN.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        semantic_tokens_provider: Some(
            SemanticTokensOptions {
                legend: legend(),
                range: Some(true),
                full: Some(SemanticTokensFullOptions::Bool(true)),
                ..SemanticTokensOptions::default()
            }
            .into(),
        ),
        ..ServerCapabilities::default()
    }
}

/// An open file, and what is known about it.
struct Opened {
    document: Document,
    /// The program that it is, if it was needed and could be loaded.
    loaded: Option<Option<Loaded>>,
    /// What the messages that were sent last say can be done, of this version.
    fixes: Vec<(lsp_types::Diagnostic, Fix)>,
}

struct Server {
    connection: Connection,
    open: HashMap<PathBuf, Opened>,
    /// The texts of the open files, for other threads.
    texts: Texts,
    worker: Worker,
    /// How many requests were sent to the editor.
    requests: i32,
    shows_documents: bool,
    refreshes_hints: bool,
}

/// An answer, or what to tell the editor instead.
type Answer = Result<Value, (ErrorCode, String)>;

impl Server {
    fn run(&mut self) -> Result<(), Failed> {
        let messages = self.connection.receiver.clone();
        let results = self.worker.results.clone();
        loop {
            select! {
                recv(messages) -> message => {
                    let Ok(message) = message else { return Ok(()) };
                    match message {
                        Message::Request(request) => {
                            if self.connection.handle_shutdown(&request)? {
                                return Ok(());
                            }
                            self.request(request)?;
                        }
                        Message::Notification(notification) => self.notification(notification)?,
                        Message::Response(_) => {}
                    }
                }
                recv(results) -> checked => {
                    if let Ok(checked) = checked {
                        self.publish(&checked)?;
                    }
                }
            }
        }
    }

    fn send(&self, message: impl Into<Message>) -> Result<(), Failed> {
        Ok(self.connection.sender.send(message.into())?)
    }

    fn ask(&mut self, method: &str, params: impl Into<Value>) -> Result<(), Failed> {
        self.requests += 1;
        let id = RequestId::from(self.requests);
        self.send(Request { id, method: method.to_owned(), params: params.into() })
    }

    fn request(&mut self, request: Request) -> Result<(), Failed> {
        let Request { id, method, params } = request;
        // A fault of ours must not end the editor's session.
        let answer = catch_unwind(AssertUnwindSafe(|| self.answer(&method, params)));
        let answer = answer.unwrap_or_else(|_| {
            Err((ErrorCode::InternalError, "a fault of cotan: please report it".to_owned()))
        });
        self.send(match answer {
            Ok(value) => Response::new_ok(id, value),
            Err((code, message)) => Response::new_err(id, code as i32, message),
        })
    }

    fn notification(&mut self, notification: Notification) -> Result<(), Failed> {
        let Notification { method, params } = notification;
        match method.as_str() {
            notification::DidOpenTextDocument::METHOD => {
                if let Ok(params) =
                    serde_json::from_value::<lsp_types::DidOpenTextDocumentParams>(params)
                {
                    let opened = params.text_document;
                    self.take(Document::new(opened.uri, opened.version, opened.text));
                }
            }
            notification::DidChangeTextDocument::METHOD => {
                if let Ok(params) =
                    serde_json::from_value::<lsp_types::DidChangeTextDocumentParams>(params)
                {
                    let path = path_of(&params.text_document.uri);
                    let changed = self.open.get(&path).map(|opened| {
                        opened
                            .document
                            .changed(params.text_document.version, params.content_changes)
                    });
                    if let Some(changed) = changed {
                        self.take(changed);
                    }
                }
            }
            notification::DidCloseTextDocument::METHOD => {
                if let Ok(params) =
                    serde_json::from_value::<lsp_types::DidCloseTextDocumentParams>(params)
                {
                    let uri = params.text_document.uri;
                    let path = path_of(&uri);
                    self.open.remove(&path);
                    Arc::make_mut(&mut self.texts).remove(&path);
                    self.publish_all(uri, None, Vec::new())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes the new text of a file, and has it checked, as are the open files that may import it.
    fn take(&mut self, document: Document) {
        let path = document.path.clone();
        Arc::make_mut(&mut self.texts).insert(path.clone(), document.text.clone());
        self.open.insert(path.clone(), Opened { document, loaded: None, fixes: Vec::new() });
        let others: Vec<PathBuf> =
            self.open.keys().filter(|other| **other != path).cloned().collect();
        for other in others {
            if let Some(opened) = self.open.get_mut(&other) {
                let imports = |item: &Item| matches!(item, Item::Import(_));
                if opened.document.parsed.module.items.iter().any(imports) {
                    opened.loaded = None;
                    self.worker.check(Snapshot::of(&opened.document, &self.texts));
                }
            }
        }
        if let Some(opened) = self.open.get(&path) {
            self.worker.check(Snapshot::of(&opened.document, &self.texts));
        }
    }

    // ---- messages about programs --------------------------------------------------------------

    /// Sends what was found out about a file, unless the file has changed since.
    fn publish(&mut self, checked: &Checked) -> Result<(), Failed> {
        let Some(opened) = self.open.get_mut(&checked.path) else { return Ok(()) };
        let document = &opened.document;
        if document.version != checked.version {
            return Ok(());
        }
        let (mut sent, mut found) = (Vec::new(), Vec::new());
        for diagnostic in &checked.diagnostics {
            let shown = shown(diagnostic, document, &checked.sources);
            for fix in fixes(diagnostic, &document.text, &document.lines) {
                found.push((shown.clone(), fix));
            }
            sent.push(shown);
        }
        let (uri, version) = (document.uri.clone(), document.version);
        opened.fixes = found;
        self.publish_all(uri, Some(version), sent)?;
        if self.refreshes_hints {
            self.ask(request::InlayHintRefreshRequest::METHOD, Value::Null)?;
        }
        Ok(())
    }

    fn publish_all(
        &self,
        uri: Uri,
        version: Option<i32>,
        diagnostics: Vec<lsp_types::Diagnostic>,
    ) -> Result<(), Failed> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let method = notification::PublishDiagnostics::METHOD.to_owned();
        self.send(Notification::new(method, params))
    }

    // ---- answers ------------------------------------------------------------------------------

    fn answer(&mut self, method: &str, params: Value) -> Answer {
        match method {
            request::HoverRequest::METHOD => {
                let params: lsp_types::HoverParams = read(params)?;
                self.hover(&params.text_document_position_params)
            }
            request::Completion::METHOD => {
                let params: lsp_types::CompletionParams = read(params)?;
                let (opened, offset) = self.place(&params.text_document_position)?;
                let items = complete(&opened.document, offset, &self.texts);
                write(CompletionResponse::Array(items))
            }
            request::GotoDefinition::METHOD => {
                let params: lsp_types::GotoDefinitionParams = read(params)?;
                self.definition(&params.text_document_position_params)
            }
            request::References::METHOD => {
                let params: lsp_types::ReferenceParams = read(params)?;
                let (opened, offset) = self.place(&params.text_document_position)?;
                let with_definition = params.context.include_declaration;
                let found = references(&opened.document, offset, &self.texts, with_definition);
                let located = |Places { uri, ranges }: Places| -> Vec<Location> {
                    ranges.into_iter().map(|range| Location { uri: uri.clone(), range }).collect()
                };
                write(found.map(|found| found.into_iter().flat_map(located).collect::<Vec<_>>()))
            }
            request::PrepareRenameRequest::METHOD => {
                let params: TextDocumentPositionParams = read(params)?;
                let (opened, offset) = self.place(&params)?;
                let Document { text, lines, .. } = &opened.document;
                let name = opened.document.name_at(offset);
                write(name.map(|name| PrepareRenameResponse::Range(lines.range(text, name.span))))
            }
            request::Rename::METHOD => {
                let params: lsp_types::RenameParams = read(params)?;
                let (opened, offset) = self.place(&params.text_document_position)?;
                let changed = rename(&opened.document, offset, &params.new_name, &self.texts)
                    .map_err(|why| (ErrorCode::InvalidParams, why))?;
                #[allow(clippy::mutable_key_type, reason = "the protocol's type for it")]
                let changes = changed.into_iter().collect();
                write(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() })
            }
            request::DocumentSymbolRequest::METHOD => {
                let params: lsp_types::DocumentSymbolParams = read(params)?;
                let opened = self.opened(&params.text_document.uri)?;
                write(DocumentSymbolResponse::Nested(outline(&opened.document)))
            }
            request::Formatting::METHOD => {
                let params: lsp_types::DocumentFormattingParams = read(params)?;
                write(formatting(&self.opened(&params.text_document.uri)?.document))
            }
            request::SemanticTokensFullRequest::METHOD => {
                let params: lsp_types::SemanticTokensParams = read(params)?;
                let opened = self.opened(&params.text_document.uri)?;
                let data = words(&opened.document, 0, opened.document.text.len());
                write(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data }))
            }
            request::SemanticTokensRangeRequest::METHOD => {
                let params: lsp_types::SemanticTokensRangeParams = read(params)?;
                let opened = self.opened(&params.text_document.uri)?;
                let (from, to) = bytes(&opened.document, params.range);
                let data = words(&opened.document, from, to);
                write(SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data }))
            }
            request::InlayHintRequest::METHOD => {
                let params: lsp_types::InlayHintParams = read(params)?;
                self.load(&params.text_document.uri);
                let opened = self.opened(&params.text_document.uri)?;
                let (from, to) = bytes(&opened.document, params.range);
                let end = Instant::now() + HINTS;
                let types = match opened.loaded.as_ref().and_then(Option::as_ref) {
                    Some(loaded) => self.worker.types_within(loaded, from, to, end),
                    None => Vec::new(),
                };
                write(hints(&opened.document, from, to, &types))
            }
            request::CodeActionRequest::METHOD => {
                let params: lsp_types::CodeActionParams = read(params)?;
                self.actions(&params)
            }
            request::ExecuteCommand::METHOD => {
                let params: lsp_types::ExecuteCommandParams = read(params)?;
                self.execute(&params)
            }
            _ => Err((ErrorCode::MethodNotFound, format!("there is no method {method}"))),
        }
    }

    fn opened(&self, uri: &Uri) -> Result<&Opened, (ErrorCode, String)> {
        let opened = self.open.get(&path_of(uri));
        opened.ok_or_else(|| (ErrorCode::InvalidParams, format!("{} is not open", uri.as_str())))
    }

    /// The file and the byte that a request is about.
    fn place(
        &self,
        params: &TextDocumentPositionParams,
    ) -> Result<(&Opened, usize), (ErrorCode, String)> {
        let opened = self.opened(&params.text_document.uri)?;
        let offset = opened.document.lines.offset(&opened.document.text, params.position);
        Ok((opened, offset))
    }

    /// Loads the program that a file is, if that has not been tried since it changed.
    fn load(&mut self, uri: &Uri) {
        if let Some(opened) = self.open.get_mut(&path_of(uri))
            && opened.loaded.is_none()
        {
            let snapshot = Snapshot::of(&opened.document, &self.texts);
            opened.loaded = Some(Loaded::new(&snapshot).ok());
        }
    }

    fn hover(&mut self, params: &TextDocumentPositionParams) -> Answer {
        self.load(&params.text_document.uri);
        let (opened, offset) = self.place(params)?;
        let types = match opened.loaded.as_ref().and_then(Option::as_ref) {
            Some(loaded) => self.worker.types(loaded, offset),
            None => Vec::new(),
        };
        let document = &opened.document;
        let shown = hover(document, offset, &self.texts, &types).map(|(value, span)| Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
            range: Some(document.lines.range(&document.text, span)),
        });
        write(shown)
    }

    fn definition(&self, params: &TextDocumentPositionParams) -> Answer {
        let (opened, offset) = self.place(params)?;
        let document = &opened.document;
        let Some(name) = document.name_at(offset) else { return Ok(Value::Null) };
        let location = match &name.target {
            Target::Here(span) => {
                let range = document.lines.range(&document.text, *span);
                Some(Location { uri: document.uri.clone(), range })
            }
            target => elsewhere(target, document, &self.texts).and_then(|found| {
                let range = Lines::new(&found.text).range(&found.text, found.place()?);
                Some(Location { uri: uri_of(Path::new(&found.file))?, range })
            }),
        };
        write(location.map(GotoDefinitionResponse::Scalar))
    }

    fn actions(&self, params: &lsp_types::CodeActionParams) -> Answer {
        let uri = &params.text_document.uri;
        let opened = self.opened(uri)?;
        let document = &opened.document;
        let touches =
            |range: Range| range.start <= params.range.end && params.range.start <= range.end;
        let mut actions: Vec<CodeActionOrCommand> = Vec::new();
        for (diagnostic, fix) in opened.fixes.iter().filter(|(_, fix)| touches(fix.range)) {
            let edit = lsp_types::TextEdit { range: fix.range, new_text: fix.new.clone() };
            #[allow(clippy::mutable_key_type, reason = "the protocol's type for it")]
            let changes = HashMap::from([(uri.clone(), vec![edit])]);
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic.clone()]),
                edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
                is_preferred: Some(true),
                ..CodeAction::default()
            }));
        }
        let offset = document.lines.offset(&document.text, params.range.start);
        if let Some(Item::Def(def)) = item_at(&document.parsed.module, offset) {
            let title = format!("Show the gradient of `{}`", def.name.name);
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: title.clone(),
                command: Some(Command {
                    title,
                    command: GRADIENT.to_owned(),
                    arguments: Some(vec![json!(uri.as_str()), json!(&*def.name.name)]),
                }),
                ..CodeAction::default()
            }));
            let line = params.range.start.line + 1;
            let title = format!("Explain line {line} of `{}`", def.name.name);
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: title.clone(),
                command: Some(Command {
                    title,
                    command: EXPLAIN.to_owned(),
                    arguments: Some(vec![json!(uri.as_str()), json!(&*def.name.name), json!(line)]),
                }),
                ..CodeAction::default()
            }));
        }
        write(actions)
    }

    /// Carries out a command: the answer is a text, and shown by editors that show files.
    fn execute(&mut self, params: &lsp_types::ExecuteCommandParams) -> Answer {
        let text = |at: usize| params.arguments.get(at).and_then(Value::as_str);
        let command = params.command.as_str();
        let (GRADIENT | EXPLAIN, Some(uri), Some(function)) = (command, text(0), text(1)) else {
            return Err((
                ErrorCode::InvalidParams,
                format!("there is no command {}", params.command),
            ));
        };
        let uri: Uri = uri
            .parse()
            .map_err(|_| (ErrorCode::InvalidParams, "not the name of a file".to_owned()))?;
        let snapshot = Snapshot::of(&self.opened(&uri)?.document, &self.texts);
        let made = match command {
            EXPLAIN => {
                let line = params.arguments.get(2).and_then(Value::as_u64).unwrap_or(0);
                explained(&snapshot, function, u32::try_from(line).unwrap_or(u32::MAX))
            }
            _ => gradient(&snapshot, function),
        };
        let made = made.map_err(|why| (ErrorCode::RequestFailed, why))?;
        if self.shows_documents {
            let name: String =
                function.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let file = std::env::temp_dir()
                .join(format!("{name}.{}", if command == EXPLAIN { "txt" } else { "gradient.ct" }));
            let written = std::fs::write(&file, &made);
            if let (Ok(()), Some(uri)) = (written, uri_of(&file)) {
                let params = ShowDocumentParams {
                    uri,
                    external: None,
                    take_focus: Some(true),
                    selection: None,
                };
                let params = serde_json::to_value(params).unwrap_or_default();
                self.ask(request::ShowDocument::METHOD, params)
                    .map_err(|e| (ErrorCode::InternalError, e.to_string()))?;
            }
        }
        Ok(Value::String(made))
    }
}

/// A message as editors show it.
fn shown(
    diagnostic: &Diagnostic,
    document: &Document,
    sources: &SourceMap,
) -> lsp_types::Diagnostic {
    let own = FileId(0);
    let (text, lines) = (&*document.text, &document.lines);
    let span = diagnostic.primary.span;
    let elsewhere = span.is_none() || span.file != own;
    // What is wrong in an import is shown at the beginning, with the place.
    let range = match elsewhere {
        true => Range::new(Position::new(0, 0), Position::new(0, 1)),
        false => lines.range(text, span),
    };
    let located = |label: &cotan_syntax::Label| -> Option<DiagnosticRelatedInformation> {
        if label.span.is_none() {
            return None;
        }
        let location = if label.span.file == own {
            Location { uri: document.uri.clone(), range: lines.range(text, label.span) }
        } else {
            let other = sources.text(label.span.file);
            let uri = uri_of(Path::new(sources.name(label.span.file)))?;
            Location { uri, range: Lines::new(other).range(other, label.span) }
        };
        let message = if label.text.is_empty() { "here".to_owned() } else { label.text.clone() };
        Some(DiagnosticRelatedInformation { location, message })
    };
    let mut message = diagnostic.message.clone();
    if !diagnostic.primary.text.is_empty() {
        message += &format!(" ({})", diagnostic.primary.text);
    }
    for note in &diagnostic.notes {
        message += &format!("\nnote: {note}");
    }
    for hint in &diagnostic.hints {
        message += &format!("\nhint: {hint}");
    }
    let mut related: Vec<DiagnosticRelatedInformation> =
        diagnostic.secondary.iter().filter_map(located).collect();
    if elsewhere {
        related.extend(located(&diagnostic.primary));
    }
    lsp_types::Diagnostic {
        range,
        severity: Some(match diagnostic.severity() {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_string())),
        source: Some("cotan".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

/// The bytes of a range.
fn bytes(document: &Document, range: Range) -> (usize, usize) {
    let offset = |position| document.lines.offset(&document.text, position);
    (offset(range.start), offset(range.end))
}

fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, (ErrorCode, String)> {
    serde_json::from_value(params).map_err(|e| (ErrorCode::InvalidParams, e.to_string()))
}

fn write(value: impl serde::Serialize) -> Answer {
    serde_json::to_value(value).map_err(|e| (ErrorCode::InternalError, e.to_string()))
}
