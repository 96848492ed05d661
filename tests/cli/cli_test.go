// Package cli_test runs healc as users do: the scripts *.txtar are sessions at a terminal, and the
// commands in the documents are run and their output compared.
package cli_test

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"healc/cmd/healc/cli"
	"healc/codegen/llvm/libllvm"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

// TestMain lets the test binary be healc: scripts start it under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"healc": func() { os.Exit(cli.Main()) }})
}

// TestScripts runs the scripts. Beside the commands of testscript there are
//
//	exits CODE healc ...     runs a command and requires its exit code
//	repeat FILE TEXT N       writes N copies of TEXT
//	damage FOLDER            changes the last byte of every cached program in it
//	example FILE             copies a file of the folder examples into that of the script
//
// and the condition [libllvm], that machine code can be made here.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           ".",
		UpdateScripts: *update,
		Setup:         func(e *testscript.Env) error { setEnv(e.Setenv, e.WorkDir); return nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "repeat": repeat,
			"damage": damage, "example": example},
		Condition: func(name string) (bool, error) {
			_, err := libllvm.Open()
			return name == "libllvm" && err == nil, nil
		},
	})
}

// setEnv makes a session independent of the user's settings; only where libLLVM is stays.
func setEnv(set func(key, value string), dir string) {
	set("HEAL_CACHE", filepath.Join(dir, ".cache"))
	set("HEAL_LIBLLVM", os.Getenv("HEAL_LIBLLVM"))
	set("HEAL_DUMP", "")
	set("HEAL_THREADS", "")
	set("HEAL_PROFILE", "")
	set("HEAL_CPU", "")
	set("XDG_CONFIG_HOME", filepath.Join(dir, ".config"))
	set("HOME", dir)
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = code.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: repeat FILE TEXT N")
	}
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = f.WriteString(strings.Repeat(text, n))
	ts.Check(err)
	ts.Check(f.Close())
}

func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: damage FOLDER")
	}
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "*.heal"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("there is nothing to damage")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		ts.Check(err)
		text[len(text)-1] ^= 1
		ts.Check(os.WriteFile(f, text, 0o644))
	}
}

func example(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: example FILE")
	}
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(filepath.Base(args[0])), data, 0o644))
}

// root is the root of the repository: a test runs in the folder of its package.
func root(t *testing.T) string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
