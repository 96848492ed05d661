package lsp

import (
	"context"
	"log"
	"maps"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// quiet is how long a document has to stay as it is before it is checked for its diagnostics: nobody reads those of a
// word that is being written.
const quiet = 60 * time.Millisecond

// server answers the requests of one client.
type server struct {
	protocol.UnimplementedServer
	version string
	client  protocol.Client

	mu     sync.Mutex
	state  state
	editor editor
	down   bool // shutdown was asked for
	// refreshes is what the client asks for anew when it is told to.
	refreshes struct{ hints, lenses bool }
	changed   map[string]*time.Timer
	told      map[uri.URI]bool // what has diagnostics
	sending   sync.Mutex       // diagnostics are sent one document after the other
}

// Initialize implements protocol.Server.
func (s *server) Initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.mu.Lock()
	if g := p.Capabilities.General; g != nil {
		s.editor.utf8 = slices.Contains(g.PositionEncodings, protocol.PositionEncodingKindUTF8)
	}
	if w := p.Capabilities.Workspace; w != nil {
		s.editor.pages = w.TextDocumentContent != nil
		s.refreshes.hints = w.InlayHint != nil && w.InlayHint.RefreshSupport != nil && *w.InlayHint.RefreshSupport
		s.refreshes.lenses = w.CodeLens != nil && w.CodeLens.RefreshSupport != nil && *w.CodeLens.RefreshSupport
	}
	s.state.roots = rootsOf(p)
	set, err := settingsOf(p.InitializationOptions)
	if err == nil { // else the editor has options for other servers only
		s.state.settings = set
	}
	encoding := protocol.PositionEncodingKindUTF16
	if s.editor.utf8 {
		encoding = protocol.PositionEncodingKindUTF8
	}
	s.mu.Unlock()
	yes := protocol.Boolean(true)
	all, incremental := true, protocol.TextDocumentSyncKindIncremental
	return &protocol.InitializeResult{
		ServerInfo: protocol.ServerInfo{Name: "healc", Version: protocol.NewOptional(s.version)},
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding: encoding,
			TextDocumentSync: &protocol.TextDocumentSyncOptions{OpenClose: &all,
				Change: &incremental},
			HoverProvider: yes, DefinitionProvider: yes, ReferencesProvider: yes, DocumentHighlightProvider: yes,
			DocumentSymbolProvider: yes, FoldingRangeProvider: yes, DocumentFormattingProvider: yes,
			DocumentRangeFormattingProvider: yes,
			DocumentOnTypeFormattingProvider: protocol.DocumentOnTypeFormattingOptions{FirstTriggerCharacter: "}",
				MoreTriggerCharacter: []string{";", "\n"}},
			InlayHintProvider: yes, SelectionRangeProvider: yes, CallHierarchyProvider: yes,
			WorkspaceSymbolProvider: yes,
			CodeLensProvider:        &protocol.CodeLensOptions{},
			CodeActionProvider: &protocol.CodeActionOptions{
				CodeActionKinds: []protocol.CodeActionKind{protocol.CodeActionKindQuickFix}},
			RenameProvider:        &protocol.RenameOptions{PrepareProvider: &all},
			CompletionProvider:    &protocol.CompletionOptions{TriggerCharacters: []string{"."}},
			SignatureHelpProvider: &protocol.SignatureHelpOptions{TriggerCharacters: []string{"(", ","}},
			SemanticTokensProvider: &protocol.SemanticTokensOptions{Full: yes,
				Legend: protocol.SemanticTokensLegend{TokenTypes: tokenTypes, TokenModifiers: tokenModifiers}},
			Workspace: &protocol.WorkspaceOptions{
				TextDocumentContent: &protocol.TextDocumentContentOptions{Schemes: []string{"heal"}},
				WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{Supported: &all,
					ChangeNotifications: yes}},
		},
	}, nil
}

// Initialized implements protocol.Server.
func (s *server) Initialized(context.Context, *protocol.InitializedParams) error { return nil }

// SetTrace implements protocol.Server.
func (s *server) SetTrace(context.Context, *protocol.SetTraceParams) error { return nil }

// Shutdown implements protocol.Server.
func (s *server) Shutdown(context.Context) error {
	s.mu.Lock()
	s.down = true
	for _, t := range s.changed {
		t.Stop()
	}
	s.mu.Unlock()
	return nil
}

// DidOpen implements protocol.Server.
func (s *server) DidOpen(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := newDocument(p.TextDocument.URI, p.TextDocument.Version, p.TextDocument.Text, s.editor)
	s.state.docs = s.state.docs.with(d)
	s.later(d.file.Name)
	return nil
}

// DidChange implements protocol.Server.
func (s *server) DidChange(_ context.Context, p *protocol.DidChangeTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.state.docs[pathOf(p.TextDocument.URI)]
	if d == nil {
		return notOpen(p.TextDocument.URI)
	}
	d, err := d.changed(p.TextDocument.Version, p.ContentChanges)
	if err != nil {
		return err
	}
	s.state.docs = s.state.docs.with(d)
	s.later(d.file.Name)
	return nil
}

// DidSave implements protocol.Server.
func (s *server) DidSave(context.Context, *protocol.DidSaveTextDocumentParams) error { return nil }

// DidClose implements protocol.Server.
func (s *server) DidClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := pathOf(p.TextDocument.URI)
	s.state.docs = s.state.docs.without(path)
	s.later(path)
	return nil
}

// later sends the diagnostics of all documents when path has not changed for a while. s is locked.
func (s *server) later(path string) {
	if t := s.changed[path]; t != nil {
		t.Stop()
	}
	if !s.down {
		s.changed[path] = time.AfterFunc(quiet, s.publish)
	}
}

// publish sends the diagnostics of all documents that are open, and none for those that no longer are. What was found
// before costs nothing.
func (s *server) publish() {
	s.sending.Lock()
	defer s.sending.Unlock()
	defer func() {
		if e := recover(); e != nil { // it ends what is sent, and not the server
			log.Printf("healc lsp: BUG: in what is wrong: %v", e)
		}
	}()
	s.mu.Lock()
	docs, down, fusion := s.state.docs, s.down, s.state.settings.Fusion
	s.mu.Unlock()
	if down {
		return
	}
	open := map[uri.URI]bool{}
	for _, path := range slices.Sorted(maps.Keys(docs)) {
		d := docs[path]
		open[d.uri] = true
		s.told[d.uri] = true
		found := d.diagnostics()
		if fusion {
			found = append(found, d.kept(func() bool { return s.changedSince(d) })...)
		}
		_ = s.client.PublishDiagnostics(context.Background(), &protocol.PublishDiagnosticsParams{URI: d.uri,
			Version: protocol.NewOptional(d.version), Diagnostics: found}) // who has gone needs none
	}
	for at := range s.told {
		if !open[at] {
			delete(s.told, at)
			_ = s.client.PublishDiagnostics(context.Background(), &protocol.PublishDiagnosticsParams{URI: at,
				Diagnostics: []protocol.Diagnostic{}})
		}
	}
}

// changedSince reports whether a document is no longer what its file is in the editor.
func (s *server) changedSince(d *document) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down || s.state.docs[d.file.Name] != d
}
