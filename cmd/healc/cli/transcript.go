package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/internal/engine"
	"healc/internal/replay"
	"healc/runtime/pool"
	"healc/runtime/tensor"
	"healc/transcript"
)

type transcriptFlags struct {
	verify  bool
	device  string
	time    bool
	noFuse  bool
	threads int
}

func (a *app) transcriptCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "transcript",
		Short: "Run or print an execution transcript of operations on tensors",
		Long: "An execution transcript is a JSON file in which another compiler recorded operations on tensors, for " +
			"lattice\n" +
			"cryptography above all. It is compiled and fused like a program; docs/transcripts.md describes the " +
			"format.",
		Args: a.noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.transcriptRunCommand(), a.transcriptPrintCommand())
	return c
}

func (a *app) transcriptRunCommand() *cobra.Command {
	var flags transcriptFlags
	c := &cobra.Command{
		Use:   "run FILE [flags]",
		Short: "Compile a transcript and run it",
		Long: "Compiles FILE, one program for each segment, runs it and prints what goes back to the host. With " +
			"--verify,\n" +
			"each of these values is compared with the one in the transcript instead.",
		Example: "  healc transcript run model.json --verify --time",
		Args:    exactly("FILE"),
		RunE:    func(c *cobra.Command, args []string) error { return a.runTranscript(c, args[0], &flags) },
	}
	fs := c.Flags()
	fs.BoolVar(&flags.verify, "verify", false,
		"compare what goes to the host with what the transcript recorded; the first difference is an error")
	fs.StringVar(&flags.device, "device", heal.CPU,
		"cpu, gpu, ptxsim (code for a GPU, executed on the CPU) or interp (the reference interpreter, which needs no "+
			"libLLVM)")
	fs.BoolVar(&flags.time, "time", false, "print how long each segment took to standard error")
	fs.BoolVar(&flags.noFuse, "no-fuse", false, "compile and run every operation for itself")
	fs.IntVar(&flags.threads, "threads", 0, "number of threads (default HEAL_THREADS, else one a core)")
	return c
}

func (a *app) transcriptPrintCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "print FILE",
		Short: "Print the operations of a transcript",
		Long: "Prints one line for each entry of the transcript FILE: its index, and what it does with which " +
			"tensors.",
		Example: "  healc transcript print model.json",
		Args:    exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := readTranscript(args[0])
			if err != nil {
				return err
			}
			defer t.Close()
			return t.Print(a.out)
		},
	}
}

// readTranscript reads a file; one that cannot be opened is a mistake in the command line.
func readTranscript(path string) (*transcript.Transcript, error) {
	t, err := transcript.ReadFile(path)
	var e *transcript.Error
	if err != nil && !errors.As(err, &e) {
		return nil, driver.NoFile(path, err)
	}
	return t, err
}

func (a *app) runTranscript(c *cobra.Command, path string, flags *transcriptFlags) error {
	if !slices.Contains(heal.Backends, flags.device) {
		return &driver.UsageError{Message: "there is no device `" + flags.device + "`", Help: "the devices are " +
			strings.Join(heal.Backends, ", ")}
	}
	if c.Flags().Changed("threads") && flags.threads < 1 {
		return &driver.UsageError{Message: fmt.Sprintf("--threads %d: at least 1 thread is needed", flags.threads)}
	}
	if flags.threads == 0 {
		if _, err := pool.DefaultThreads(); err != nil {
			return &driver.UsageError{Message: err.Error()}
		}
	}
	programs, err := a.cache()
	if err != nil {
		return err
	}
	t, err := readTranscript(path)
	if err != nil {
		return err
	}
	defer t.Close()
	x, err := replay.Compile(t, replay.Options{
		// What little runs once is worth no more time than that, except to who measures it.
		Options: engine.Options{Backend: flags.device, Threads: flags.threads, Once: !flags.time, Cache: programs},
		NoFuse:  flags.noFuse,
	})
	if err != nil {
		return err
	}
	defer x.Close()
	ctx, stop := a.untilSignal(c.Context(), true, os.Interrupt, syscall.SIGTERM)
	defer stop()
	res, err := x.Run(ctx)
	if err != nil {
		return err
	}
	defer res.Close()
	if flags.verify {
		if err = res.Verify(); err == nil {
			_, err = fmt.Fprintf(a.out, "%d values are as recorded\n", len(res.Outputs))
		}
	} else {
		err = printOutputs(a.out, res)
	}
	if flags.time {
		if ferr := a.out.flush(); ferr != nil {
			return errors.Join(err, ferr)
		}
		err = errors.Join(err, res.PrintTimes(a.err))
	}
	return err
}

// printOutputs writes what went to the host.
func printOutputs(w *output, res *transcript.Result) error {
	for _, o := range res.Outputs {
		if _, err := fmt.Fprintf(w, "%s: %s\n", o.Name, o.Tensor); err != nil {
			return err
		}
		if err := tensor.Format(w, o.Tensor); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
