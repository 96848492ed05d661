package cli_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/internal/pipeline"
	"healc/lang/diag"
	"healc/tests/sample"
)

// block is a piece of a document between fences.
type block struct {
	line int // of the opening fence
	lang string
	text string
}

func blocks(t *testing.T, name string) []block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	open := false
	before, list := "", false
	for i, line := range strings.SplitAfter(string(text), "\n") {
		// Indented text after an empty line is a block of code, where it is not in an entry of a list.
		if !open && strings.HasPrefix(line, "    ") && before == "" && !list {
			out = append(out, block{line: i + 1, lang: "indented"})
		}
		before = strings.TrimSpace(line)
		if before != "" && line[0] != ' ' {
			list = strings.HasPrefix(line, "- ") || orderedEntry.MatchString(line)
		}
		lang, fence := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fence && open:
			open = false
		case fence:
			open = true
			out = append(out, block{line: i + 1, lang: lang})
		case open:
			out[len(out)-1].text += line
		}
	}
	return out
}

// orderedEntry is the start of an entry of a numbered list.
var orderedEntry = regexp.MustCompile(`^[0-9]+\. `)

// file is the name that a program gives itself in its first line, `# file: NAME`; sessions after it find it
// under that name.
func (b block) file() string {
	name, ok := strings.CutPrefix(strings.SplitN(b.text, "\n", 2)[0], "# file: ")
	if !ok || b.lang != "heal" || !filepath.IsLocal(name) {
		return ""
	}
	return name
}

// documents are the documents for users: README.md and everything in docs.
func documents(t *testing.T) []string {
	t.Helper()
	out := []string{"README.md"}
	err := fs.WalkDir(os.DirFS(root(t)), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDocuments runs every block of the documents for users: sessions at a terminal (console), programs
// (heal), commands that take long or need something (sh), Go code (go) and what Python runs (python). Sessions of the
// README run every day, and of half of the others. For what nothing runs (text) notRun says why.
func TestDocuments(t *testing.T) {
	day := sample.Today(t)
	for i, name := range documents(t) {
		t.Run(name, func(t *testing.T) {
			var sessions []block
			for _, b := range blocks(t, name) {
				switch b.lang {
				case "console":
					sessions = append(sessions, b)
				case "heal":
					checkProgram(t, name, b)
					if b.file() != "" {
						sessions = append(sessions, b)
					}
				case "sh":
					checkTargets(t, name, b)
				case "go":
					checkGo(t, name, b)
				case "python":
					checkPython(t, name, b)
				case "json":
					if name != "docs/cli.md" { // whose settings are those of TestUsualSettings
						t.Errorf("%s:%d: a block of JSON is read by no test", name, b.line)
					}
				case "text":
					if notRun[name] == "" {
						t.Errorf("%s:%d: a block of text is run by no test: say in notRun why", name, b.line)
					}
				case "indented":
					if !strings.HasPrefix(name, "docs/errors/") { // what healc says of the program above
						t.Errorf("%s:%d: a block without fences is run by no test", name, b.line)
					}
				default:
					t.Errorf("%s:%d: a block of %q is run by no test", name, b.line, b.lang)
				}
			}
			if len(sessions) > 0 && (name == "README.md" || sample.Has(day, i, 2)) {
				runSessions(t, name, sessions)
			}
		})
	}
}

// notRun says of the pages that have blocks of text what these are.
var notRun = map[string]string{
	"docs/modular-theory.md": "formulas",
	"docs/profiling.md":      "a session with gdb and perf, which tests do not ask for",
}

// checkProgram requires a program to be right, or to have the error that its first line names.
func checkProgram(t *testing.T, name string, b block) {
	_, err := pipeline.Check(diag.NewFile(name, b.text))
	want, wrong := strings.CutPrefix(strings.SplitN(b.text, "\n", 2)[0], "# error ")
	var list *diag.List
	switch {
	case !wrong && err != nil:
		t.Errorf("%s:%d: %v", name, b.line, err)
	case wrong && (!errors.As(err, &list) || string(list.Items[0].Code) != want):
		t.Errorf("%s:%d: the error is %v, not %s", name, b.line, err, want)
	}
}

// TestFunctionLists: the checker knows the functions in the lists of the manual.
func TestFunctionLists(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "language.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		if !strings.HasPrefix(section, "5.") && !strings.HasPrefix(section, "6.") && !strings.HasPrefix(section, "7.") {
			continue
		}
		lists := regexp.MustCompile("`([a-z0-9_]+( *\\s[a-z0-9_]+){4,})`").FindAllStringSubmatch(section, -1)
		for line := range strings.Lines(section) {
			if strings.HasPrefix(line, "| ") { // in a table, a call names its function
				lists = append(lists,
					regexp.MustCompile("`([a-z0-9_]+)(?:\\[[^`]*\\])?\\(").FindAllStringSubmatch(line, -1)...)
			}
		}
		for _, list := range lists {
			for _, name := range strings.Fields(list[1]) {
				checked++
				_, err := pipeline.Check(diag.NewFile("f.heal", "@io fn f() = "+name+"()\n"))
				var diags *diag.List
				if !errors.As(err, &diags) {
					t.Errorf("%s() compiles: what does the test prove?", name)
					continue
				}
				if code := diags.Items[0].Code; code == diag.CodeUnknownName || code == diag.CodeUnsupported {
					t.Errorf("section %.20s: %s gives %s", section, name, diags.Items[0].Message)
				}
			}
		}
	}
	if checked < 63 {
		t.Errorf("only %d names were found in the lists", checked)
	}
}

// setting is a variable before a command.
var setting = regexp.MustCompile(`^[A-Z_]+=("[^"]*"|\S*) `)

// checkTargets looks at commands that take too long to be run, or need what is not here: the Makefile has the
// targets, the scripts and the packages are there, and healc has the command and the flags. What perf, gdb and scripts
// of others do is not looked at.
func checkTargets(t *testing.T, name string, b block) {
	makefile, err := os.ReadFile(filepath.Join(root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	isThere := func(parts ...string) bool {
		_, err := os.Stat(filepath.Join(append([]string{root(t)}, parts...)...))
		return err == nil
	}
	folder := "."
	for line := range strings.Lines(strings.ReplaceAll(b.text, "\\\n", " ")) {
		command, _, _ := strings.Cut(line, " # ")
		if in, ok := strings.CutPrefix(command, "cd "); ok {
			folder, command, _ = strings.Cut(strings.TrimSpace(in), " && ")
			if !isThere(folder) {
				t.Errorf("%s:%d: there is no folder %s", name, b.line, folder)
			}
		}
		for setting.MatchString(command) {
			command = setting.ReplaceAllString(command, "")
		}
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		ok := false
		switch tool := words[0]; {
		case tool == "make" && len(words) > 1:
			ok = strings.Contains(string(makefile), "\n"+words[1]+":")
		case tool == "go" && len(words) > 2 && (words[1] == "test" || words[1] == "run"):
			for _, w := range words {
				switch {
				case w == ".":
					ok = isThere(folder, "go.mod")
				case strings.HasPrefix(w, "./"):
					ok = isThere(folder, w)
				default:
					continue
				}
				if !ok || words[1] == "run" { // what is behind is the program's
					break
				}
			}
		case strings.HasPrefix(tool, "FOLDER/"): // of a benchmark that is not in this repository
			ok = true
		case strings.HasSuffix(tool, ".sh"):
			ok = isThere(folder, tool)
			for _, w := range words {
				ok = ok && (!strings.HasPrefix(w, "./") || isThere(folder, w))
			}
		case tool == "perf" || tool == "gdb":
			ok = true
		}
		if _, call, found := strings.Cut(" "+command, " healc "); found {
			ok = hasFlags(t, name, b, strings.Fields(call))
		}
		if !ok {
			t.Errorf("%s:%d: no target of the Makefile, script, package or command of healc: %s", name, b.line, line)
		}
	}
}

// hasFlags requires of a call of healc that it has the command and its flags.
func hasFlags(t *testing.T, name string, b block, words []string) bool {
	help, err := exec.Command("healc", words[0], "--help").Output()
	if err != nil {
		return false
	}
	for _, w := range words[1:] {
		flag, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(flag, "-") && !regexp.MustCompile(`(?m)[ ,]`+flag+`\b`).Match(help) {
			t.Errorf("%s:%d: healc %s has no flag %s", name, b.line, words[0], flag)
		}
	}
	return true
}

// checkGo requires the code to stand in api_test.go, which is compiled and run; what is about Lattigo, in the example
// of the module with that name.
func checkGo(t *testing.T, name string, b block) {
	where := "api_test.go"
	if strings.Contains(b.text, "lattigo.") {
		where = "../../examples/lattigo/example_test.go"
	}
	source, err := os.ReadFile(where)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimRight(b.text, "\n"), "\t")
	if !strings.Contains(string(source), code) {
		t.Errorf("%s:%d: the Go code is not in %s", name, b.line, where)
	}
}

// checkPython requires the code to stand in a script that is run: that of the wheel, or, of PyTorch, where there is
// PyTorch (TestTorch).
func checkPython(t *testing.T, name string, b block) {
	where := "internal/packaging/testdata/wheel.py"
	if strings.Contains(b.text, "torch") {
		where = "tests/library/testdata/use_layernorm.py"
	}
	source, err := os.ReadFile(filepath.Join(root(t), where))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), b.text) {
		t.Errorf("%s:%d: the Python code is not in %s", name, b.line, where)
	}
}

// runSessions runs the sessions of a document one after the other in a copy of the examples, and writes the
// programs that are files where they stand. After `$ command` come
// its output and, when it is not 0, `[exit code N]`; `...` stands for any text.
func runSessions(t *testing.T, name string, sessions []block) {
	if _, err := libllvm.Open(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root(t), "examples"))); err != nil {
		t.Fatal(err)
	}
	env := os.Environ()
	setEnv(func(k, v string) { env = append(env, k+"="+v) }, dir)
	for _, b := range sessions {
		if file := b.file(); file != "" {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, c := range commands(b.text) {
			cmd := exec.Command("bash", "-c", c.line)
			cmd.Dir, cmd.Env = dir, env
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err := cmd.Run()
			got := out.String()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				got = strings.TrimRight(got, "\n") + "\n[exit code " +
					exit.ProcessState.String()[len("exit status "):] + "]\n"
			} else if err != nil {
				t.Fatal(err)
			}
			if !matches(c.output, got) {
				t.Errorf("%s:%d: %s\nprints\n%s\nand not\n%s", name, b.line, c.line, got, c.output)
			}
		}
	}
}

// command is a line of a session, with those after `>` that continue it, and what it prints.
type command struct{ line, output string }

func commands(text string) []command {
	var out []command
	for line := range strings.Lines(text) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			out = append(out, command{line: strings.TrimRight(c, "\n")})
		} else if c, ok := strings.CutPrefix(line, ">"); ok && len(out) > 0 && out[len(out)-1].output == "" {
			out[len(out)-1].line += "\n" + strings.TrimRight(strings.TrimPrefix(c, " "), "\n")
		} else if len(out) > 0 {
			out[len(out)-1].output += line
		}
	}
	return out
}

// matches compares an output with a pattern in which `...` stands for any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)^` + strings.Join(parts, ".*") + `$`).MatchString(text)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a\n", "a\n", true}, {"a\n", "a\nb\n", false}, {"a...c\n", "abc\n", true}, {"a...\n", "a\nb\n", true},
		{"...", "", true}, {"a.c", "abc", false},
	} {
		if matches(c.pattern, c.text) != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.text, !c.want)
		}
	}
}
