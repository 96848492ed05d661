package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	heal "healc"
	"healc/cmd/healc/driver"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "healc %s %s/%s %s\n", heal.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// laterCommands are those that the design names and this version does not have: they say so, rather than
// be unknown.
func laterCommands() []*cobra.Command {
	later := func(name, short, instead string) *cobra.Command {
		return &cobra.Command{
			Use: name, Short: short, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return driver.Unsupported("healc "+name, instead) },
		}
	}
	return []*cobra.Command{
		later("bench", "Measure a program", "`healc run --time` shows the time of each stage"),
	}
}
