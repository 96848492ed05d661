package lsp

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// errNotAsked is a client that went without asking to.
var errNotAsked = errors.New("the client went without a `shutdown` request")

func newTimers() map[string]*time.Timer { return map[string]*time.Timer{} }

// Command is `healc lsp`, which talks to its client by in and out.
func Command(in io.Reader, out io.Writer, version string) *cobra.Command {
	return &cobra.Command{
		Use:   "lsp",
		Short: "Serve an editor: mistakes, types and shapes, names, completion, formatting",
		Long: "Talks version 3.18 of the Language Server Protocol on standard input and output. Editors start it; " +
			"editors/README.md\nsays how. It ends with exit code 3 where the client goes without asking it to shut " +
			"down.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !Serve(c.Context(), in, out, version) {
				return errNotAsked
			}
			return nil
		},
	}
}
