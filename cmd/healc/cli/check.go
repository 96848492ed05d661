package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/internal/pipeline"
	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
)

func (a *app) checkCommand() *cobra.Command {
	asJSON := false
	var may importFlags
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "Parse and type-check programs",
		Long: "Parses and type-checks each FILE (- is standard input) and prints what is wrong with it. Prints " +
			"nothing when all is\n" +
			"well. The exit code is 1 when a file does not compile; warnings leave it at 0.\n" +
			"With --json the diagnostics of all files are one JSON array on standard output.",
		Args: atLeastOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			imports, err := may.importer()
			if err != nil {
				return err
			}
			all := &diag.List{}
			for _, name := range args {
				file, err := a.source(name)
				if err != nil {
					return err
				}
				prog, err := checked(file, imports)
				var list *diag.List
				if errors.As(err, &list) {
					all.Items, all.More = append(all.Items, list.Items...), all.More+list.More
				} else if err != nil {
					return err
				} else {
					all.AddWarnings(prog.Warnings)
					if f := prog.Func("main"); f != nil && len(f.Params)+len(f.Dims) == 0 {
						if _, d := prog.Main(); d != nil { // with --entry it runs all the same
							d.Severity = diag.Warning
							all.Add(d)
						}
					}
				}
			}
			if asJSON {
				text, err := json.MarshalIndent(driver.JSONDiagnostics(all), "", "  ")
				if err != nil {
					return err
				}
				fmt.Fprintf(a.out, "%s\n", text)
			} else {
				a.diagnostics(all.Items, all.More)
				if _, more := all.NotShown(); more != "" {
					a.notef("\n%s", more)
				}
			}
			if all.HasErrors() {
				return exitCode(exitCompile)
			}
			return nil
		},
	}
	may.register(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print the diagnostics as JSON, for editors")
	return c
}

// checked is the program of a file whose functions keep what they promise.
func checked(file *diag.File, imports check.Importer) (*tree.Program, error) {
	src, err := pipeline.Read(file, pipeline.ReadOptions{Imports: imports, Tests: true})
	if err != nil {
		return nil, err
	}
	return src.Program, src.CheckPromises()
}
