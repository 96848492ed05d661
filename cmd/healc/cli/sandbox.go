package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/internal/sandbox"
	"healc/lang/diag"
)

// effectFlags are the flags that say what a program may do beside computing and printing.
type effectFlags struct {
	sandbox     string
	deny        []string
	read, write []string
	file        byteCount
}

func (e *effectFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&e.sandbox, "sandbox", "",
		"run in a process without files of others, sockets and new programs; =require ends where the system has no "+
			"means")
	fs.Lookup("sandbox").NoOptDefVal = "yes"
	fs.StringSliceVar(&e.deny, "deny", nil,
		"io: run no program that prints, reads or writes; files: none that reads or writes files")
	fs.StringArrayVar(&e.read, "allow-read", nil, "the program may read files in `FOLDER` and below, and no others")
	fs.StringArrayVar(&e.write, "allow-write", nil, "the program may write files in `FOLDER` and below, and no others")
	fs.Var(&e.file, "max-file", "the size of a file that a program in a sandbox may write, in `BYTES` or as 512M or 2G")
}

// check refuses values that flags do not have.
func (e *effectFlags) check(fs *pflag.FlagSet) error {
	if !slices.Contains([]string{"", "yes", "require"}, e.sandbox) {
		return &driver.UsageError{Message: "--sandbox=" + e.sandbox + " is nothing that it can be",
			Help: "--sandbox does what the system can, and --sandbox=require all or nothing"}
	}
	for _, what := range e.deny {
		if what != "io" && what != "files" {
			return &driver.UsageError{Message: "there is nothing called `" + what + "` to deny",
				Help: "--deny takes io and files"}
		}
	}
	if e.sandbox == "" && fs.Changed("max-file") {
		return &driver.UsageError{Message: "--max-file is a limit of the sandbox", Help: "add --sandbox"}
	}
	for _, dir := range append(slices.Clone(e.read), e.write...) {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return &driver.UsageError{Message: "there is no folder " + dir,
				Help: "--allow-read and --allow-write take folders"}
		}
	}
	return nil
}

// policy is what the program may do, for the system that it sees.
func (e *effectFlags) policy() *driver.Policy {
	if len(e.deny) == 0 && e.sandbox == "" && len(e.read)+len(e.write) == 0 {
		return nil
	}
	return &driver.Policy{NoIO: slices.Contains(e.deny, "io"), NoFiles: slices.Contains(e.deny, "files"),
		Read: append(slices.Clone(e.read), e.write...), Write: e.write}
}

// defaultFile is the size of files where --max-file does not say another.
const defaultFile = 16 << 30

// inSandbox runs the command line again, in a process that gives up what the program does not need.
func (a *app) inSandbox(c *cobra.Command, path string, flags *runFlags, may *importFlags,
	tune *tuneFileFlags) error {
	if flags.backend == heal.GPU {
		return &driver.UsageError{Message: "--sandbox is not for the backend gpu: the driver of the device needs " +
			"files, sockets and threads of its own", Help: "use --backend cpu"}
	}
	has := sandbox.Available()
	if missing := has.Missing(); missing != "" {
		if flags.sandbox == "require" {
			return &driver.UsageError{
				Message: "this system cannot make the sandbox that --sandbox=require asks for: " + missing,
				Help:    "Landlock is in Linux from 5.13 on, where it is not turned off"}
		}
		a.diagnostic(&diag.Diagnostic{Severity: diag.Warning,
			Message: "the sandbox of this system is weaker: " + missing})
	}
	if flags.backend != heal.Interp {
		if _, err := libllvm.Open(); err != nil { // the files of it are what Loaded finds
			return err
		}
	}
	r := sandbox.Rules{Libraries: sandbox.Loaded(), Read: slices.Clone(flags.read), Write: slices.Clone(flags.write),
		Memory: int64(flags.memory), File: int64(flags.file)}
	if r.File == 0 {
		r.File = defaultFile
	}
	if r.Memory > 0 {
		r.Memory += compilerMemory
	}
	if flags.timeout > 0 {
		threads := max(flags.threads, runtime.NumCPU())
		r.CPU = int64(math.Ceil(flags.timeout.Seconds()))*int64(threads) + 1
	}
	measured, env := profile.Host().Pass()
	r.Read = append(append(r.Read, measured...), may.allow...)
	if file, optional := tune.name(path); !optional {
		r.Read = append(r.Read, file)
	}
	if path != "-" {
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return err
		}
		r.Read = append(r.Read, dir)
	}
	for _, in := range flags.in {
		value := in
		if !strings.HasPrefix(in, "@") {
			_, value, _ = strings.Cut(in, "=")
		}
		if strings.HasPrefix(value, "@") {
			file, _ := driver.InputFile(value[1:])
			r.Read = append(r.Read, file)
		}
	}
	for _, out := range flags.out {
		if _, file, indexed := strings.Cut(out, "="); indexed {
			out = file
		}
		out, _ = driver.InputFile(out)
		if filepath.Ext(filepath.Clean(out)) == ".zarr" {
			return driver.Unsupported("--out "+out+" with --sandbox, in which no folders are made",
				"write a .npz file, or run without --sandbox")
		}
		r.Write = append(r.Write, filepath.Dir(out))
	}
	cmd, err := sandbox.Command(r, os.Args[1:]...)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, env)
	if err := a.out.flush(); err != nil {
		return err
	}
	return a.wait(cmd, flags.timeout)
}

// compilerMemory is what healc and libLLVM take beside the program.
const compilerMemory = 2 << 30

// wait runs the child to its end. Signals that end it are those of its limits.
func (a *app) wait(cmd *exec.Cmd, timeout time.Duration) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s) // again, where it came from the keyboard, which changes nothing
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				return err
			}
			status, ok := exit.Sys().(syscall.WaitStatus)
			if !ok || !status.Signaled() {
				return exitCode(exit.ExitCode())
			}
			what := fmt.Sprintf("the program in the sandbox was ended by the system: %s", status.Signal())
			switch status.Signal() {
			case sandbox.TimeSignal, syscall.SIGKILL:
				if timeout > 0 {
					what = fmt.Sprintf("the program in the sandbox was ended: it took more processor time than "+
						"--timeout %v leaves", timeout)
				}
			case sandbox.SizeSignal:
				what = "the program in the sandbox was ended: a file is larger than --max-file"
			}
			a.diagnostic(&diag.Diagnostic{Message: what})
			return exitCode(exitRuntime)
		}
	}
}
