package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/tune"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/lang/diag"
)

type tuneFlags struct {
	time  time.Duration
	out   string
	dry   bool
	entry string
	in    []string
	shape []string
	importFlags
}

// How long is measured where nothing says another time.
const (
	machineTime = 25 * time.Second
	programTime = 30 * time.Second
)

func (a *app) tuneCommand() *cobra.Command {
	var flags tuneFlags
	c := &cobra.Command{
		Use:   "tune [FILE] [flags]",
		Short: "Measure this machine, or the schedules of a program's kernels, for the code that is made here",
		Long: "Without FILE: measures memory, threads and some functions with the values that the numbers of a " +
			"profile may have, and\nwrites those that are faster here to the file from which healc reads the profile " +
			"of this machine.\n" +
			"With FILE: measures the public functions of a program (or main, or all; or the one of --entry) with " +
			"other numbers for\neach of its kernels, and writes those that are faster to FILE.tune beside FILE.heal, " +
			"which is used from then on. Inputs\nthat are not given are random, of the extents that --shape gives.\n" +
			"No result of a program changes. Other programs that run meanwhile spoil the figures. `healc explain " +
			"--profile` and\n`healc explain FILE --schedule` show what is in force.",
		Example: "  healc tune\n  healc tune --time 2m --out cluster.profile\n" +
			"  healc tune f.heal --entry f --shape N=1048576\n" +
			"  healc tune f.heal --entry f --in x=@x.npy --time 5m",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly("FILE")(c, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if flags.time == 0 && !c.Flags().Changed("time") {
				flags.time = machineTime
				if len(args) > 0 {
					flags.time = programTime
				}
			}
			if flags.time < time.Second {
				return driver.Usagef("--time %v is too short to measure anything", flags.time)
			}
			if len(args) > 0 {
				return a.tuneProgram(c, args[0], &flags)
			}
			for _, name := range []string{"entry", "in", "shape", "allow-import"} {
				if c.Flags().Changed(name) {
					return &driver.UsageError{Message: "--" + name + " is about a program, and there is none",
						Help: "name its file, or leave the flag out"}
				}
			}
			return a.tune(c, &flags)
		},
	}
	fs := c.Flags()
	fs.DurationVar(&flags.time, "time", 0, fmt.Sprintf("how long to measure (default %v, a program %v)", machineTime,
		programTime))
	fs.StringVarP(&flags.out, "out", "o", "", "the `FILE` to write instead; a profile for other machines with such "+
		"processors is found\nin /etc/heal/profiles, or named by HEAL_PROFILE, a tune file named by --tune")
	fs.BoolVar(&flags.dry, "dry-run", false, "say what was found, and write nothing")
	fs.StringVar(&flags.entry, "entry", "", "the function to measure")
	fs.StringArrayVar(&flags.in, "in", nil, "`NAME=VALUE`, an input, as for `healc run`")
	fs.StringArrayVar(&flags.shape, "shape", nil, "`NAME=EXTENT`: the value of a shape parameter, for random inputs")
	flags.importFlags.register(fs)
	return c
}

// measuring shows how far a measurement is.
func (a *app) measuring(what string, done float64) {
	a.line.Say("measuring %3.0f%%: %s", 100*done, what)
}

func (a *app) tune(c *cobra.Command, flags *tuneFlags) error {
	path := flags.out
	if path == "" {
		dirs := profile.Folders()
		if len(dirs) == 0 {
			return &driver.UsageError{Message: "there is no folder for the profile of this machine",
				Help: "set HOME, or say --out FILE"}
		}
		path = filepath.Join(dirs[0], profile.Here().File())
	}
	t := &tune.Tuning{Budget: flags.time, Progress: a.measuring}
	report, err := t.Run(c.Context())
	a.line.Done()
	if err != nil {
		return err
	}
	return a.tuned(report, path, flags.dry)
}

// tuneProgram measures the kernels of a program.
func (a *app) tuneProgram(c *cobra.Command, path string, flags *tuneFlags) error {
	out := cmp.Or(flags.out, tuneFile(path))
	if out == "" {
		return &driver.UsageError{Message: "a program from standard input has no tune file beside it",
			Help: "say --out FILE"}
	}
	if len(flags.in) > 0 && flags.entry == "" {
		return &driver.UsageError{Message: "--in is an input of one function", Help: "name it with --entry"}
	}
	shape, err := driver.ParseShape(flags.shape)
	if err != nil {
		return err
	}
	imports, err := flags.importer()
	if err != nil {
		return err
	}
	if err := a.checkProfile(); err != nil {
		return err
	}
	file, err := a.source(path)
	if err != nil {
		return err
	}
	before, err := readTuned(out, true)
	if err != nil {
		return err
	}
	p := &tune.Program{Shape: shape, Budget: flags.time, File: before, Progress: a.measuring,
		Job: &driver.Job{File: file, Entry: flags.entry, Inputs: flags.in, Opts: engine.Options{Imports: imports},
			Loaded: a.loaded(flags.entry)}}
	report, err := p.Run(c.Context())
	a.line.Done()
	if err != nil {
		return err
	}
	now, err := readTuned(out, true)
	if err != nil {
		return err
	}
	report.Onto(now)
	return a.tuned(report, out, flags.dry)
}

// tuned shows what was measured, and writes it to a file.
func (a *app) tuned(report interface {
	Print(w io.Writer) error
	Write(path string) error
}, path string, dry bool) error {
	if err := report.Print(a.out); err != nil || dry {
		return err
	}
	if err := report.Write(path); err != nil {
		return &driver.UsageError{Message: "cannot write what was measured: " + err.Error()}
	}
	fmt.Fprintf(a.out, "written to %s\n", path)
	return nil
}

// checkProfile warns of a profile of this machine that cannot be used. One that HEAL_PROFILE names is an error.
func (a *app) checkProfile() error {
	here := profile.Host()
	switch {
	case here.Err == nil:
	case here.Asked:
		return &driver.UsageError{Message: profile.Env + ": " + here.Err.Error(),
			Help: "name a file that `healc tune --out FILE` wrote, or say " + profile.Env + "=" + profile.Shipped}
	default:
		a.diagnostic(&diag.Diagnostic{Severity: diag.Warning,
			Message: "the measured profile of this machine is not used: " + here.Err.Error(),
			Help:    "run `healc tune` again, or remove it"})
	}
	return nil
}
