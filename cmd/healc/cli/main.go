package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/importing"
	"healc/cmd/healc/progress"
	"healc/cmd/healc/ranks"
	"healc/internal/engine"
	"healc/internal/sandbox"
	"healc/lang/diag"
	"healc/runtime/memory"
)

// The exit codes. A program's own exit code is what its main returns, modulo 256.
const (
	exitOK      = int(driver.OK)
	exitCompile = int(driver.CompileError) // the program does not compile
	exitUsage   = int(driver.UsageFault)   // the command line is wrong
	exitRuntime = int(driver.RuntimeFault) // the program failed while running
	exitBug     = int(driver.BugFound)     // a bug in healc
)

// Main runs healc with the arguments of the process and returns the exit code.
func Main() int {
	a := &app{in: os.Stdin, out: newOutput(os.Stdout), err: os.Stderr, errTerminal: isTerminal(os.Stderr),
		soon: progress.After}
	if err := sandbox.Enter(); err != nil {
		a.diagnostic(&diag.Diagnostic{Message: "cannot make the sandbox: " + err.Error()})
		return exitRuntime
	}
	if limit, ok := memory.AddressLimit(); ok && limit < leastSpace {
		a.diagnostic(&diag.Diagnostic{
			Message: fmt.Sprintf("the limit of address space (ulimit -v) is %d KiB, and healc takes up to %d KiB by "+
				"itself",
				limit>>10, leastSpace>>10),
			Help: "limit the memory of programs by --max-memory, or that of processes by a cgroup"})
		return exitRuntime
	}
	return run(os.Args[1:], a)
}

// leastSpace is the address space that healc takes without any tensor: what Go's runtime, libLLVM and the stacks of
// threads reserve, most of which is never touched. With less, Go's runtime crashes, now and then.
const leastSpace = 2000 << 20

// app is one invocation of healc.
type app struct {
	in          io.Reader
	out         *output
	err         io.Writer
	errTerminal bool
	color       string         // the flag --color
	progress    string         // the flag --progress
	line        *progress.Line // nil for none
	soon        time.Duration  // after which it shows something

	file   *diag.File     // the source that was read last, for the dump of a bug
	module *engine.Module // what became of it
	extra  []*cobra.Command

	rank   *ranks.Rank // of several that run a program together; nil for one
	ending atomic.Bool // who sets it reports how the command ended
}

// exitCode is an error that has nothing to say: all that it means is the code.
type exitCode int

func (exitCode) Error() string { return "" }

// run executes one command line. Whatever panics below it is a bug in healc.
func run(args []string, a *app) (code int) {
	defer func() {
		a.line.Done()
		if p := recover(); p != nil {
			bug := driver.Recovered(p)
			if a.rank == nil {
				code = a.bug(bug)
			} else {
				code = a.rank.End(0, errors.New(bug.Cause), func(w io.Writer, _ error) int {
					a.err = w
					return a.bug(bug)
				})
			}
		}
		if err := a.out.flush(); err != nil && code == exitOK {
			a.diagnostic(&diag.Diagnostic{Message: err.Error()})
			code = exitRuntime
		}
	}()
	root := a.rootFor(args)
	root.SetArgs(args)
	return a.report(root.ExecuteContext(context.Background()))
}

// command is a way to make one of the commands.
type command struct {
	name string
	make func() *cobra.Command
}

// commands are the commands.
func (a *app) commands() []command {
	return []command{
		{"run", a.runCommand}, {"compile", a.compileCommand}, {"check", a.checkCommand}, {"test", a.testCommand},
		{"bench", a.benchCommand}, {"explain", a.explainCommand}, {"opt", a.optCommand}, {"fmt", a.fmtCommand},
		{"doc", a.docCommand}, {"repl", a.replCommand}, {"lsp", a.lspCommand}, {"transcript", a.transcriptCommand},
		{"explore", a.exploreCommand},
		{"import", func() *cobra.Command { return importing.Command(a.out, a.notef) }},
		{"tune", a.tuneCommand}, {"doctor", a.doctorCommand}, {"cache", a.cacheCommand}, {"version", a.versionCommand},
	}
}

// rootFor is the command tree for a command line: where that begins with a command, this one alone, as the flags of all
// take longer to make than a small program.
func (a *app) rootFor(args []string) *cobra.Command {
	for _, c := range a.commands() {
		if len(args) > 0 && args[0] == c.name {
			root := a.bareRoot()
			root.AddCommand(c.make())
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	return a.root()
}

// Commands is the whole command tree, for the manual pages and the completions of packages.
func Commands() *cobra.Command {
	a := &app{in: os.Stdin, out: newOutput(os.Stdout), err: os.Stderr}
	return a.root()
}

// root is the whole command tree.
func (a *app) root() *cobra.Command {
	root := a.bareRoot()
	for _, c := range a.commands() {
		root.AddCommand(c.make())
	}
	root.AddCommand(a.extra...)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	// those of the library print a help for names that they do not know, and succeed
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = a.noSuchCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 {
					return a.noSuchCommand(found, rest)
				}
				return nil
			}
		}
	}
	return root
}

// bareRoot is healc without its commands.
func (a *app) bareRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "healc",
		Short:         "The compiler for Heal, a language of fused tensor kernels",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          a.noSuchCommand,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.in)
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "colours in messages: auto, always or never")
	root.PersistentFlags().StringVar(&a.progress, "progress", "auto",
		"what takes long says what it is at: auto (on a terminal) or never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		switch a.color {
		case "auto", "always", "never":
		default:
			bad := a.color
			a.color = "auto"
			return &driver.UsageError{Message: "--color " + bad + " is not auto, always or never"}
		}
		switch a.progress {
		case "auto":
			a.showProgress()
		case "never":
		default:
			return &driver.UsageError{Message: "--progress " + a.progress + " is not auto or never"}
		}
		return nil
	}
	root.SetFlagErrorFunc(flagError)
	return root
}

// noSuchCommand explains a first argument that is no command.
func (a *app) noSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := &driver.UsageError{Message: "`" + c.CommandPath() + "` has no command `" + args[0] + "`"}
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	if strings.HasSuffix(args[0], ".heal") && c == c.Root() {
		e.Help = "did you mean `healc run " + strings.Join(args, " ") + "`?"
	} else if near := driver.Nearest(args[0], names); near != "" {
		e.Help = "did you mean `" + c.CommandPath() + " " + near + "`?"
	} else {
		e.Help = "the commands are " + strings.Join(names, ", ")
	}
	return e
}

var (
	unknownFlag      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown flag: --(.*)$`) })
	unknownShorthand = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^unknown shorthand flag: '(.)' in (.*)$`)
	})
)

// flagError words the errors of the flag parser, and offers the nearest flag for one that is not known.
func flagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	e := &driver.UsageError{Message: err.Error(), Help: "`" + c.CommandPath() + " --help` lists the flags"}
	if m := unknownFlag().FindStringSubmatch(err.Error()); m != nil {
		e.Message = "`" + c.CommandPath() + "` has no flag --" + m[1]
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := driver.Nearest(m[1], names); near != "" {
			e.Help = "did you mean --" + near + "?"
		}
	} else if m := unknownShorthand().FindStringSubmatch(err.Error()); m != nil {
		e.Message = "`" + c.CommandPath() + "` has no flag " + m[2]
	}
	return e
}

// exactly is a check of the number of arguments that says what is missing.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(names) == 0 && len(args) > 0:
			return &driver.UsageError{Message: "`" + c.CommandPath() + "` takes no argument, but there is `" + args[0] +
				"`"}
		case len(args) < len(names):
			return &driver.UsageError{Message: "`" + c.CommandPath() + "` needs " + names[len(args)], Help: "usage: " +
				c.UseLine()}
		case len(args) > len(names):
			return &driver.UsageError{Message: "`" + c.CommandPath() + "` does not take a second argument, `" +
				args[len(names)] + "`", Help: "usage: " + c.UseLine()}
		}
		return nil
	}
}

// atLeastOne requires one argument or more.
func atLeastOne(name string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return &driver.UsageError{Message: "`" + c.CommandPath() + "` needs " + name, Help: "usage: " + c.UseLine()}
		}
		return nil
	}
}
