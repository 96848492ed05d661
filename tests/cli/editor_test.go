package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEditorClient: the client of VS Code talks to `healc lsp` and runs what lenses and the test explorer say. It needs
// node, and what `make vscode` installs.
func TestEditorClient(t *testing.T) {
	extension, err := filepath.Abs("../../editors/vscode")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("skipped: there is no node")
	}
	if _, err := os.Stat(filepath.Join(extension, "node_modules/vscode-languageserver-protocol")); err != nil {
		t.Skip("skipped: the modules of editors/vscode are not installed (make vscode)")
	}
	healc, err := exec.LookPath("healc")
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", filepath.Join(extension, "test/session.js"), healc, t.TempDir())
	c.Env = os.Environ()
	set := func(key, value string) { c.Env = append(c.Env, key+"="+value) }
	setEnv(set, t.TempDir())
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
