package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	heal "healc"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(a.out, "healc %s %s/%s %s\n", heal.Version, runtime.GOOS, runtime.GOARCH,
				runtime.Version())
			return err
		},
	}
}
