package lsp

import (
	"context"
	"encoding/json"

	"go.lsp.dev/protocol"
)

// settings are what users can switch, in the options that the server starts with and whenever the editor says so.
type settings struct {
	Hints struct {
		Variables  bool `json:"variables"`  // of a `let`
		Parameters bool `json:"parameters"` // of a lambda
		Names      bool `json:"names"`      // of an arm of a `match`
		Steps      bool `json:"steps"`      // of a pipeline that goes on in the next line
	} `json:"hints"`
	Lenses bool `json:"lenses"`
	Fusion bool `json:"fusion"` // why values are in memory between kernels
}

// usual are the settings of who says nothing.
func usual() (s settings) {
	s.Hints.Variables, s.Hints.Parameters, s.Hints.Names, s.Hints.Steps, s.Lenses = true, true, true, true, true
	return s
}

// settingsOf reads settings, by themselves or as those of `heal` among others.
func settingsOf(text protocol.LSPAny) (settings, error) {
	out := usual()
	var all struct{ Heal json.RawMessage }
	if len(text) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(text, &all); err == nil && all.Heal != nil {
		text = protocol.LSPAny(all.Heal)
	}
	err := json.Unmarshal(text, &out)
	return out, err
}

// DidChangeConfiguration implements protocol.Server.
func (s *server) DidChangeConfiguration(_ context.Context, p *protocol.DidChangeConfigurationParams) error {
	set, err := settingsOf(p.Settings)
	if err != nil {
		return refused("the settings cannot be read: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.settings = set
	s.later("")
	refresh := s.refreshes
	go func() { // an editor may answer when it has read everything
		if refresh.hints {
			_ = s.client.InlayHintRefresh(context.Background())
		}
		if refresh.lenses {
			_ = s.client.CodeLensRefresh(context.Background())
		}
	}()
	return nil
}
