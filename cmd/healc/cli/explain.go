package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/cmd/healc/driver/manual"
	"healc/codegen"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/passes"
)

// explainCommand has the flags and the texts of `explain`, which stand together.
func (a *app) explainCommand() *cobra.Command {
	var entry, grad, target, cpu string
	var schedule, profile bool
	var shapes, wrt []string
	var may importFlags
	var tune tuneFileFlags
	var ranks explain.RankFlags
	c := &cobra.Command{
		Use:   "explain FILE|CODE|--profile",
		Short: "Show the kernels that a program becomes, or the page of an error code",
		Long: "For a program: the kernels of its public functions (or main, or all; or the one of --entry), what was " +
			"fused into each\n" +
			"with its source lines, the bytes that it reads and writes, its operations, whether memory or arithmetic " +
			"bounds it, and\n" +
			"the buffers between kernels. --grad F explains the value of F and its gradient as one program: which " +
			"kernels are of the\n" +
			"forward pass, what is kept for the backward pass, and what that computes again.\n" +
			"For an error code such as E0203: what it means, with an example.\n" +
			"--profile: which profile the processor has, or with --target gpu a device, by what it was chosen, and " +
			"its numbers.\n" +
			"--ranks 16: what each step computes and sends on as many ranks, and how long that takes by a model of " +
			"the network\n" +
			"(--network); --ranks 1,4,16: how the time falls with the number of ranks.",
		Example: "  healc explain mlp.heal --entry layer --shape M=32\n" +
			"  healc explain mlp.heal --grad loss --wrt w,b --shape M=32\n  healc explain E0203\n" +
			"  healc explain heat.heal --ranks 1,4,16,64 --network 25GB/s,2us",
		Args: func(c *cobra.Command, args []string) error {
			if profile && len(args) > 0 {
				return &driver.UsageError{Message: "--profile is about the processor, and takes no file",
					Help: "leave `" + args[0] + "` out, or ask --schedule how its kernels are written"}
			}
			if profile {
				return nil
			}
			return exactly("FILE or an error code")(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if target != heal.CPU && target != heal.GPU {
				return &driver.UsageError{Message: "there is no target `" + target + "`",
					Help: "the targets are cpu and gpu"}
			}
			if err := a.checkProfile(); err != nil {
				return err
			}
			if cpu == native && (schedule || profile || ranks.Asked()) && target != heal.GPU {
				cpu = ""
			}
			if profile {
				return explain.Profile(a.out, codegen.Target{Kind: target, CPU: cpu})
			}
			if driver.IsCode(args[0]) {
				return manual.ErrorPage(a.out, args[0])
			}
			shape, err := driver.ParseShape(shapes)
			if err != nil {
				return err
			}
			if cpu != "" && (!schedule && !ranks.Asked() || target == heal.GPU) {
				return &driver.UsageError{Message: "--cpu says for which processor --schedule is, or --ranks, and " +
					"there is none", Help: "add --schedule or --ranks, without --target gpu"}
			}
			if err := ranks.Check(target, grad, schedule); err != nil {
				return err
			}
			if tune.asked() && (!schedule || target == heal.GPU || cpu != "") {
				return tune.refuse("this asks for no schedules of it", "add --schedule, without --target gpu and --cpu")
			}
			file, err := a.source(args[0])
			if err != nil {
				return err
			}
			imports, err := may.importer()
			if err != nil {
				return err
			}
			e := &driver.Emit{
				File: file, Entry: entry, Shape: shape, Schedule: schedule,
				Opts: engine.Options{Imports: imports,
					Target: backend.Processor(codegen.Target{Kind: target, CPU: cpu}),
					Debug: pipeline.Debug{Passes: &passes.Options{VerifyEach: true, Dump: passes.DumpFromEnv(a.err),
						Out: a.err}}},
				Loaded: a.loaded(cmp.Or(grad, entry)),
			}
			if schedule && target == heal.CPU && e.Opts.Target.CPU == "" {
				if err := tune.apply(args[0], &e.Opts); err != nil {
					return err
				}
			}
			switch {
			case ranks.Asked():
				return ranks.Explain(e, a.out)
			case grad != "" && entry != "":
				return &driver.UsageError{Message: "--grad names the function that is explained, and so does --entry",
					Help: "leave one out"}
			case grad != "":
				return explain.Gradient(e, a.out, grad, wrt)
			case len(wrt) > 0:
				return &driver.UsageError{Message: "--wrt says by what a gradient is taken, and there is none",
					Help: "name a function with --grad"}
			}
			return explain.Program(e, a.out)
		},
	}
	may.register(c.Flags())
	tune.register(c.Flags())
	ranks.Register(c.Flags())
	c.Flags().StringVar(&entry, "entry", "", "the function to explain")
	c.Flags().StringVar(&target, "target", heal.CPU, "cpu, or gpu: how the kernels are launched on a device")
	c.Flags().BoolVar(&schedule, "schedule", false,
		"how each kernel is written for a processor: its form, tiles and vectors")
	c.Flags().BoolVar(&profile, "profile", false,
		"what was measured about the processor: each number with its range and what it trades")
	c.Flags().StringVar(&cpu, "cpu", "",
		"LLVM's `NAME` of the processor of --schedule, --ranks and --profile (default: this machine's)")
	c.Flags().StringVar(&grad, "grad", "", "the function whose gradient is explained")
	c.Flags().StringSliceVar(&wrt, "wrt", nil,
		"the `PARAMETERS` of --grad, with commas between them; all floats when it is not given")
	c.Flags().StringArrayVar(&shapes, "shape", nil, "`NAME=EXTENT`: the value of a shape parameter")
	return c
}
