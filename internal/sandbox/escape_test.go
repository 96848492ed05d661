//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/internal/sandbox"
	"healc/internal/sandbox/sandboxtest"
)

// TestMain is the sandbox's program, too.
func TestMain(m *testing.M) {
	if err := sandbox.Enter(); err != nil {
		fmt.Println("cannot enter:", err)
		os.Exit(1)
	}
	if sandbox.Inside() {
		os.Exit(hostile())
	}
	os.Exit(m.Run())
}

// hostile tries everything from machine code, before and after Close, and says what is refused.
func hostile() int {
	call, err := sandboxtest.Caller()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(sandboxtest.Try("compile", call))
	if err := sandbox.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Print(sandboxtest.Try("run", call))
	return 0
}

// TestEscape: hostile machine code gets at no file, socket, program or process, while the program is compiled and while
// it runs.
func TestEscape(t *testing.T) {
	has := sandbox.Available()
	if !has.Seccomp {
		t.Skip("the system has no seccomp")
	}
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	ownDir := t.TempDir()
	own := filepath.Join(ownDir, "own")
	for _, f := range []string{foreign, own} {
		if err := os.WriteFile(f, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(sandboxtest.EnvFile, foreign)
	t.Setenv(sandboxtest.EnvOwn, own)
	cmd, err := sandbox.Command(sandbox.Rules{Libraries: sandbox.Loaded(), Read: []string{ownDir}, File: 1 << 20,
		CPU: 60})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { cmd.Process.Kill() }).Stop() // what escapes may stop its parent
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, stage := range []string{"compile", "run"} {
		var said strings.Builder
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, stage) {
				said.WriteString(line)
			}
		}
		for _, wrong := range sandboxtest.Check(said.String(), stage == "compile", has.Landlock > 0) {
			t.Error(wrong)
		}
	}
	if text, err := os.ReadFile(foreign); err != nil || string(text) != "secret" {
		t.Errorf("the foreign file is %q, %v", text, err)
	}
}
