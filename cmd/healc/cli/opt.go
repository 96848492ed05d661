package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/ir"
	"healc/passes"
)

// passFlags are the flags about passes that `compile` and `opt` share.
type passFlags struct {
	printAfter    []string
	printAfterAll bool
	printFunc     string
	stopAfter     string
	disable       []string
	verify        bool
	time          bool
	remarks       []string
}

func (p *passFlags) register(fs *pflag.FlagSet) {
	fs.StringSliceVar(&p.printAfter, "print-after", nil, "print the IR after these `PASSES`, to standard error")
	fs.BoolVar(&p.printAfterAll, "print-after-all", false, "print the IR after every pass that changed it")
	fs.StringVar(&p.printFunc, "print-func", "", "print only this function")
	fs.StringVar(&p.stopAfter, "stop-after", "", "run no pass after this one, and emit the IR")
	fs.StringSliceVar(&p.disable, "disable-pass", nil, "leave these `PASSES` out")
	fs.BoolVar(&p.verify, "verify-each", true, "verify the IR after each pass")
	fs.BoolVar(&p.time, "time-passes", false,
		"print the time of each pass, and of the stages of code generation, to standard error")
	fs.StringSliceVar(&p.remarks, "remarks", nil,
		"print the decisions of these `PASSES` (all: of every one) to standard error")
}

// any reports whether a flag asks for something to be shown.
func (p *passFlags) any() bool {
	return len(p.printAfter) > 0 || p.printAfterAll || p.stopAfter != "" || p.time || len(p.remarks) > 0
}

func (p *passFlags) options(w io.Writer) *passes.Options {
	return &passes.Options{
		PrintAfter: p.printAfter, PrintAfterAll: p.printAfterAll, PrintFunc: p.printFunc, StopAfter: p.stopAfter,
		Disable:    p.disable,
		VerifyEach: p.verify, TimePasses: p.time, Remarks: p.remarks, Dump: passes.DumpFromEnv(w), Out: w,
	}
}

func (a *app) optCommand() *cobra.Command {
	var flags passFlags
	pipeline := ""
	c := &cobra.Command{
		Use:   "opt FILE.ir --passes=A,B",
		Short: "Run passes on IR text",
		Long: "Reads a module of tensor IR as `healc compile --emit ir` prints it (- is standard input), runs the " +
			"passes in the order\ngiven, and prints the module. The passes are\n\n" + passList(),
		Args: exactly("FILE.ir"),
		RunE: func(_ *cobra.Command, args []string) error {
			if pipeline == "" {
				return &driver.UsageError{Message: "`healc opt` needs --passes", Help: "the passes are " +
					strings.Join(passNames(), ", ")}
			}
			list, err := passes.ParsePipeline(pipeline)
			if err != nil {
				return err
			}
			file, err := a.source(args[0])
			if err != nil {
				return err
			}
			m, diags := ir.Parse(file)
			if err := diags.Err(); err != nil {
				return err
			}
			if err := passes.Run(m, list, *flags.options(a.err)); err != nil {
				return err
			}
			_, err = io.WriteString(a.out, m.String())
			return err
		},
	}
	c.Flags().StringVar(&pipeline, "passes", "",
		"the `PASSES` to run, separated by commas; a pass may stand several times")
	flags.register(c.Flags())
	return c
}

func passNames() []string {
	var out []string
	for _, p := range passes.All() {
		out = append(out, p.Name)
	}
	return out
}

// passList is a table of the passes for help texts.
func passList() string {
	var b strings.Builder
	for _, p := range passes.All() {
		b.WriteString("  " + p.Name + strings.Repeat(" ", max(14-len(p.Name), 1)) + p.Doc + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
