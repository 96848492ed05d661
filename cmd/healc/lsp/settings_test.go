package lsp

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"
)

// TestUsualSettings: the document says which settings there are, and what they are for who says nothing.
func TestUsualSettings(t *testing.T) {
	text, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1)
	if len(blocks) != 1 {
		t.Fatalf("docs/cli.md has %d blocks of JSON, not that of the settings alone", len(blocks))
	}
	var shown settings
	in := json.NewDecoder(bytes.NewReader(blocks[0][1]))
	in.DisallowUnknownFields()
	if err := in.Decode(&shown); err != nil {
		t.Fatal(err)
	}
	if shown != usual() {
		t.Errorf("the document shows %+v, and the usual ones are %+v", shown, usual())
	}
	var names, known map[string]any // that none is left out
	whole, err := json.Marshal(usual())
	if err == nil {
		err = json.Unmarshal(whole, &known)
	}
	if err == nil {
		err = json.Unmarshal(blocks[0][1], &names)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(known) || len(names["hints"].(map[string]any)) != len(known["hints"].(map[string]any)) {
		t.Errorf("the document shows %v, and there are %v", names, known)
	}
}
