package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	heal "healc"
	"healc/cmd/healc/explore"
	"healc/cmd/healc/lsp"
	"healc/cmd/healc/repl"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/lang/diag"
)

func (a *app) replCommand() *cobra.Command {
	var backend string
	var threads int
	var may importFlags
	c := &cobra.Command{
		Use:   "repl",
		Short: "Start an interactive session",
		Long: "Reads expressions and prints their values; `let`, `fn`, `const` and `import` are kept. An input goes " +
			"on while a\n" +
			"bracket is open. `:help` lists the commands of a session. On a terminal the arrow keys edit and recall " +
			"lines, Ctrl-C\n" +
			"drops one, Ctrl-D ends the session; elsewhere inputs are read line by line. No error ends a session.",
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if backend == "" {
				backend = heal.CPU
				if _, err := libllvm.Open(); err != nil {
					backend = heal.Interp
					a.notef("libLLVM is not there, so the interpreter runs; `healc doctor` says more")
				}
			}
			if err := checkBackend(backend); err != nil {
				return err
			}
			imports, err := may.importer()
			if err != nil {
				return err
			}
			s := newSession(backend, threads, a.out)
			s.Opts.Imports = imports
			defer s.Close()
			lines, end := a.lines()
			defer end()
			return a.session(c.Context(), s, lines)
		},
	}
	may.register(c.Flags())
	c.Flags().StringVar(&backend, "backend", "",
		"where inputs run: cpu, gpu, ptxsim or interp; cpu if libLLVM is there")
	c.Flags().IntVar(&threads, "threads", 0, "number of threads; HEAL_THREADS, else all cores")
	return c
}

func newSession(backend string, threads int, out io.Writer) *repl.Session {
	return &repl.Session{Opts: engine.Options{Backend: backend, Threads: threads, Once: true}, Out: out}
}

// errInterrupt is what a lineReader returns when the user drops the line.
var errInterrupt = errors.New("interrupt")

// lineReader reads a line; more says that it continues an input. The error is io.EOF at the end.
type lineReader func(more bool) (string, error)

// session reads and evaluates inputs until they end. Errors of inputs are printed.
func (a *app) session(ctx context.Context, s *repl.Session, read lineReader) error {
	var input strings.Builder
	for {
		line, err := read(input.Len() > 0)
		switch {
		case errors.Is(err, errInterrupt):
			input.Reset()
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case err != nil && line == "" && input.Len() == 0:
			return nil
		}
		empty := strings.TrimSpace(line) == ""
		input.WriteString(line + "\n")
		text := strings.TrimRight(input.String(), "\n")
		command := strings.HasPrefix(strings.TrimSpace(text), ":")
		if !command && !empty && err == nil && repl.Incomplete(text) {
			continue
		}
		input.Reset()
		a.file = diag.NewFile("<repl>", text) // for the report of a bug
		if command {
			err = s.Command(ctx, text)
		} else {
			err = a.evaluate(ctx, s, text)
		}
		if errors.Is(err, repl.ErrQuit) {
			return nil
		}
		if err != nil {
			a.report(err)
		}
		if err := a.out.flush(); err != nil {
			return err
		}
	}
}

// evaluate runs an input; Ctrl-C stops it, and nothing else.
func (a *app) evaluate(ctx context.Context, s *repl.Session, text string) error {
	ctx, stop := a.untilSignal(ctx, false, os.Interrupt)
	defer stop()
	return s.Eval(ctx, text)
}

// lines is where the inputs come from: an editor with a history on a terminal, else the lines of standard
// input, without prompts.
func (a *app) lines() (read lineReader, end func()) {
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		r := bufio.NewReader(a.in)
		return func(bool) (string, error) {
			line, err := r.ReadString('\n')
			return strings.TrimRight(line, "\r\n"), err
		}, func() {}
	}
	keys := &keyboard{in: in}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, os.Stdout}, "")
	a.notef("healc %s; :help for help, :quit to leave", heal.Version)
	return func(more bool) (string, error) {
		prompt := "heal> "
		if more {
			prompt = "  ... "
		}
		// The terminal is raw while a line is edited alone: programs print to a terminal as it was.
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(in.Fd()), state) }()
		if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
			_ = t.SetSize(w, h) // a size that cannot be set leaves the old one
		}
		t.SetPrompt(prompt)
		line, err := t.ReadLine()
		if keys.interrupted {
			keys.interrupted = false
			return "", errInterrupt
		}
		return line, err
	}, func() {}
}

// keyboard turns Ctrl-C, which the editor takes for the end of input, into the keys that empty the line.
type keyboard struct {
	in          io.Reader
	interrupted bool
}

// Read implements io.Reader.
func (k *keyboard) Read(p []byte) (int, error) {
	const ctrlC, ctrlE, ctrlU = 3, 5, 21
	n, err := k.in.Read(p)
	if clear := []byte{ctrlE, ctrlU, '\r'}; n > 0 && len(p) >= len(clear) &&
		strings.IndexByte(string(p[:n]), ctrlC) >= 0 {
		k.interrupted = true
		return copy(p, clear), err
	}
	return n, err
}

// exploreCommand shows a program in a browser.
func (a *app) exploreCommand() *cobra.Command {
	var may importFlags
	var tune tuneFileFlags
	flags := func(fs *pflag.FlagSet) {
		may.register(fs)
		tune.register(fs)
	}
	return explore.Command(explore.Healc{Out: a.out, Note: a.notef, Source: a.source, Flags: flags,
		Importer: may.importer, Tuned: tune.apply})
}

// lspCommand is the session of an editor.
func (a *app) lspCommand() *cobra.Command { return lsp.Command(a.in, os.Stdout, heal.Version) }
