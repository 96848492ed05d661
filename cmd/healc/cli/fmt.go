package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/lang/format"
)

func (a *app) fmtCommand() *cobra.Command {
	var write, check bool
	c := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Print programs in the one formatting",
		Long: "Prints each FILE (- is standard input) in the one formatting of the language, comments kept. " +
			"Formatting twice\n" +
			"changes nothing.",
		Args: atLeastOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if write && check {
				return &driver.UsageError{Message: "-w writes and --check does not: choose one"}
			}
			different := false
			for _, name := range args {
				file, err := a.source(name)
				if err != nil {
					return err
				}
				text, list := format.Source(file)
				if err := list.Err(); err != nil {
					return err
				}
				switch {
				case check:
					if text != file.Text {
						different = true
						fmt.Fprintln(a.out, file.Name)
					}
				case !write || name == "-":
					if _, err := io.WriteString(a.out, text); err != nil {
						return err
					}
				case text != file.Text:
					if err := replaceFile(name, text); err != nil {
						return fmt.Errorf("cannot write %s: %w", name, err)
					}
				}
			}
			if different {
				return exitCode(exitCompile)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&write, "write", "w", false, "write the result back to the file")
	c.Flags().BoolVar(&check, "check", false,
		"print the names of files that are formatted otherwise, and exit with 1 if there are any")
	return c
}

// replaceFile replaces a file as a whole or not at all, and keeps its permissions. A symbolic link stays
// one.
func replaceFile(name, text string) error {
	name, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".healc-fmt-*")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	if cerr := tmp.Chmod(info.Mode().Perm()); err == nil {
		err = cerr
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
