package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/progress"
	"healc/cmd/healc/ranks"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/internal/sandbox"
	"healc/lang/diag"
	"healc/passes"
	"healc/runtime/pool"
	"healc/runtime/trace"
)

// runFlags are the flags of `healc run`, which test files also use in `# args`.
type runFlags struct {
	entry   string
	in, out []string
	backend string
	threads int
	time    bool
	limitFlags
	effectFlags
}

func (r *runFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&r.entry, "entry", "", "the function to run instead of main; its result is printed")
	fs.StringArrayVar(&r.in, "in", nil,
		"`NAME=VALUE`, an input: a literal, @file.npy, @file.npz:name, @file.safetensors:name, "+
			"@folder.zarr:name, or "+
			"f32[2,3]:rand(7), :randn(7), :zeros, :ones, :iota; @file.npz or @file.safetensors alone is an input for "+
			"every parameter whose name is that of a tensor in it")
	fs.StringArrayVar(&r.out, "out", nil, "`PATH` of a .npy file, or a .png or .pgm picture, for the result; "+
		"INDEX=PATH for one of several; a .npz, .safetensors or .zarr has all of them")
	fs.StringVar(&r.backend, "backend", heal.CPU,
		"cpu, gpu (a device of NVIDIA), ptxsim (the code for it, executed on the CPU with every access checked) or "+
			"interp (the reference interpreter, which needs no libLLVM)")
	fs.IntVar(&r.threads, "threads", 0, "number of threads (default HEAL_THREADS, else one a core)")
	fs.BoolVar(&r.time, "time", false, "print the time of each stage to standard error")
	r.limitFlags.register(fs)
	r.effectFlags.register(fs)
}

// keptFlags are those of a run that leaves files about itself: from which another one can go on, and what it has done.
type keptFlags struct {
	file   string
	resume bool
	trace  string
}

func (k *keptFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&k.file, "checkpoint", "",
		"`FILE[,every=N]` that keeps the state of the loops of main, every N steps (100)")
	fs.StringVar(&k.trace, "trace", "",
		"`FILE.json` for what was done and when: stages, kernels, their pieces on threads (Chrome's trace events; "+
			"open it at ui.perfetto.dev)")
	fs.BoolVar(&k.resume, "resume", false, "go on from the state that another run has left in the file of --checkpoint")
}

// check refuses what does not go together.
func (k *keptFlags) check(sandboxed bool) error {
	switch {
	case k.resume && k.file == "":
		return &driver.UsageError{Message: "--resume needs --checkpoint",
			Help: "--checkpoint FILE names the file to go on from"}
	case k.trace != "" && sandboxed:
		return &driver.UsageError{Message: "--sandbox does not go together with --trace: a sandbox writes no files " +
			"of the command line", Help: "leave out one of them"}
	case k.file != "" && sandboxed:
		return &driver.UsageError{Message: "--sandbox does not go together with --checkpoint: a sandbox writes no " +
			"files of the command line", Help: "save the state in the program, with save_npy and --allow-write"}
	}
	return nil
}

// check refuses values that flags do not have.
func (r *runFlags) check(fs *pflag.FlagSet) error {
	if fs.Changed("threads") && r.threads < 1 {
		return &driver.UsageError{Message: fmt.Sprintf("--threads %d: at least 1 thread is needed", r.threads)}
	}
	if err := r.limitFlags.check(fs); err != nil {
		return err
	}
	if err := r.effectFlags.check(fs); err != nil {
		return err
	}
	return checkBackend(r.backend)
}

func checkBackend(name string) error {
	if slices.Contains(heal.Backends, name) {
		return nil
	}
	e := &driver.UsageError{Message: "there is no backend `" + name + "`", Help: "the backends are " +
		strings.Join(heal.Backends, ", ")}
	if near := driver.Nearest(name, heal.Backends); near != "" {
		e.Help = "did you mean --backend " + near + "?"
	}
	return e
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	var may importFlags
	var tune tuneFileFlags
	var several ranks.Flags
	var kept keptFlags
	c := &cobra.Command{
		Use:   "run FILE [flags]",
		Short: "Compile a program in memory and run it",
		Long: "Compiles FILE in memory and runs its main function, whose value modulo 256 is the exit code; with " +
			"--entry, any\n" +
			"function: its shape parameters are bound from the inputs, and its result is printed, or written with " +
			"--out.\nFILE may be - for standard input.",
		Example: "  healc run examples/digits.heal\n" +
			"  healc run mlp.heal --entry layer --in x=@x.npy --in w='f32[784,128]:randn(1)' --out y.npy",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := flags.check(c.Flags()); err != nil {
				return err
			}
			if err := kept.check(flags.sandbox != ""); err != nil {
				return err
			}
			if err := several.Check(c.Flags(), args[0], flags.sandbox != ""); err != nil {
				return err
			}
			if several.Asked() {
				if ended, err := a.severalRanks(args[0], &several); ended || err != nil {
					return err
				}
			}
			return a.runProgram(c, args[0], &flags, &may, &tune, kept)
		},
	}
	flags.register(c.Flags())
	may.register(c.Flags())
	tune.register(c.Flags())
	several.Register(c.Flags())
	kept.register(c.Flags())
	return c
}

// severalRanks makes this process a rank, or starts the ranks of a run and waits for their end.
func (a *app) severalRanks(path string, several *ranks.Flags) (ended bool, err error) {
	switch {
	case ranks.Inside():
		a.rank, err = ranks.Join(func(rank int) {
			if rank == 0 {
				a.diagnostic(&diag.Diagnostic{Message: "the process that has started the ranks has ended"})
			}
			os.Exit(exitRuntime)
		})
	case several.Dist != "":
		if a.rank, err = ranks.Launched(); err != nil && a.rank.Comm == nil {
			err = &driver.UsageError{Message: "--dist mpi: " + err.Error(), Help: "start healc by the " +
				"launcher of the MPI library that it uses, which HEAL_LIBMPI names; --ranks N needs neither"}
		}
	default:
		return true, a.startRanks(path, several.Ranks)
	}
	if err == nil && a.rank.Rank() > 0 { // the first one prints
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return false, err
		}
		a.out, a.err, a.line = newOutput(null), io.Discard, nil
	}
	return false, err
}

// startRanks runs the command line as ranks, each in a process.
func (a *app) startRanks(path string, n int) error {
	c := ranks.Command{Ranks: n, Args: os.Args[1:]}
	if path == "-" { // each rank gets it
		file, err := a.source(path)
		if err != nil {
			return err
		}
		c.Input = []byte(file.Text)
	}
	code, err := ranks.Start(c, func(text, message string) {
		if message != "" {
			a.diagnostic(&diag.Diagnostic{Message: message})
		}
		fmt.Fprint(a.err, text)
	})
	var ended *ranks.SignalError
	switch {
	case errors.As(err, &ended):
		return &signalError{ended.Signal}
	case err == nil && code != 0:
		return exitCode(code)
	}
	return err
}

func (a *app) runProgram(c *cobra.Command, path string, flags *runFlags, may *importFlags,
	tune *tuneFileFlags, kept keptFlags) error {
	imports, err := may.importer()
	if err != nil {
		return err
	}
	if tune.asked() && flags.backend != heal.CPU {
		return tune.refuse("there is none on the backend "+flags.backend, "leave out --tune, or --backend")
	}
	if flags.sandbox != "" && !sandbox.Inside() {
		return a.inSandbox(c, path, flags, may, tune)
	}
	file, err := a.source(path)
	if err != nil {
		return err
	}
	threads := flags.threads
	if threads == 0 {
		all, err := pool.DefaultThreads()
		if err != nil {
			return &driver.UsageError{Message: err.Error()}
		}
		if a.rank != nil && os.Getenv(pool.ThreadsEnv) == "" {
			threads = a.rank.Threads(all)
		}
	}
	programs, err := a.cache()
	if err != nil {
		return err
	}
	job := &driver.Job{
		File: file, Entry: flags.entry, Inputs: flags.in, Outs: flags.out, Out: a.out, Timeout: flags.timeout,
		Opts: engine.Options{Backend: flags.backend, Threads: threads, Once: true, Cache: programs,
			Imports: imports},
		Loaded: a.loaded(flags.entry), Checkpoint: kept.file, Resume: kept.resume,
		Trace: kept.trace,
	}
	if a.rank != nil {
		job.Opts.Cluster = a.rank
	}
	if flags.backend == heal.CPU {
		if err := tune.apply(path, &job.Opts); err != nil {
			return err
		}
	}
	if dump := passes.DumpFromEnv(a.err); dump != nil {
		job.Opts.Debug.Passes = &passes.Options{VerifyEach: true, Dump: dump, Out: a.err}
	}
	var timer pipeline.Timer
	if flags.time {
		job.Opts.Debug.Timer = &timer
	}
	if a.line != nil {
		stage, now := &progress.Stage{}, trace.NewNow()
		timer.Each = stage.Begin
		job.Opts.Debug.Timer, job.Opts.Now = &timer, now
		defer a.line.Show(func() string { return stage.Running(now) })()
	}
	job.Opts.Limits, job.May = flags.limits(), flags.policy()
	if sandbox.Inside() {
		job.Opts.Cache = nil // it is a file of the user's
		job.Ready = func(files bool) error {
			if files {
				return nil
			}
			return sandbox.Close()
		}
	}
	ctx, stop := a.untilSignal(c.Context(), true, os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit := 0
	err = a.within(flags.timeout, func() (err error) {
		exit, err = job.Run(ctx)
		return err
	})
	if flags.time {
		if ferr := a.out.flush(); ferr != nil {
			return errors.Join(err, ferr)
		}
		timer.Print(a.err)
	}
	if err == nil && exit != 0 {
		return exitCode(exit)
	}
	return err
}
