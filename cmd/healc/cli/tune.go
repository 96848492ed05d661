package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/tune"
	"healc/codegen/target/profile"
	"healc/lang/diag"
)

type tuneFlags struct {
	time time.Duration
	out  string
	dry  bool
}

func (a *app) tuneCommand() *cobra.Command {
	var flags tuneFlags
	c := &cobra.Command{
		Use:   "tune [flags]",
		Short: "Measure this machine: a profile of it for the code that is made here",
		Long: "Measures memory, threads and some functions with the values that the numbers of a profile may " +
			"have, and writes those\n" +
			"that are faster here to the file from which healc reads the profile of this machine. No result of a " +
			"program changes.\n" +
			"Other programs that run meanwhile spoil the figures. `healc explain --profile` shows what is in force.",
		Example: "  healc tune\n  healc tune --time 2m --out cluster.profile\n  HEAL_PROFILE=shipped healc run f.heal",
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.tune(c, &flags) },
	}
	fs := c.Flags()
	fs.DurationVar(&flags.time, "time", 25*time.Second, "how long to measure")
	fs.StringVar(&flags.out, "out", "", "the `FILE` to write instead, for other machines with such processors: "+
		"in /etc/heal/profiles, or named by HEAL_PROFILE")
	fs.BoolVar(&flags.dry, "dry-run", false, "say what was found, and write nothing")
	return c
}

func (a *app) tune(c *cobra.Command, flags *tuneFlags) error {
	if flags.time < time.Second {
		return &driver.UsageError{Message: fmt.Sprintf("--time %v is too short to measure anything", flags.time)}
	}
	path := flags.out
	if path == "" {
		dirs := profile.Folders()
		if len(dirs) == 0 {
			return &driver.UsageError{Message: "there is no folder for the profile of this machine",
				Help: "set HOME, or say --out FILE"}
		}
		path = filepath.Join(dirs[0], profile.Here().File())
	}
	t := &tune.Tuning{Budget: flags.time}
	if a.errTerminal {
		t.Progress = func(what string, done float64) {
			fmt.Fprintf(a.err, "%smeasuring %3.0f%%: %s", clearLine, 100*done, what)
		}
	}
	report, err := t.Run(c.Context())
	if a.errTerminal {
		fmt.Fprint(a.err, clearLine)
	}
	if err != nil {
		return err
	}
	if err := report.Print(a.out); err != nil || flags.dry {
		return err
	}
	if err := report.Write(path); err != nil {
		return &driver.UsageError{Message: "cannot write the profile: " + err.Error()}
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
