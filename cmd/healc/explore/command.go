package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/lang/diag"
)

// Healc is what the command needs of the program that it is part of.
type Healc struct {
	Out      io.Writer
	Note     func(format string, args ...any)              // prints a line that is no result
	Source   func(name string) (*diag.File, error)         // reads a file of the command line
	Flags    func(fs *pflag.FlagSet)                       // registers those that say what a program may import
	Importer func() (*modules.Importer, error)             // as these flags have it
	Tuned    func(name string, opts *engine.Options) error // what was measured about the kernels of a program
}

// Command is `healc explore`.
func Command(h Healc) *cobra.Command {
	var html string
	var shapes []string
	var port int
	opts := Options{}
	c := &cobra.Command{
		Use:   "explore FILE [flags]",
		Short: "Show what became of each line of a program, in a browser",
		Long: "Serves a page on this machine with the program in every form, side by side: source, tensor IR after " +
			"each pass, what\nwas fused and why not more, kernels, their schedules, LLVM IR, machine code or PTX, " +
			"and the plan. Pointing at a line\nlights what it became everywhere. The page follows the file when it " +
			"changes. Ctrl-C ends it.\n" +
			"--html FILE writes the page as one file, which needs neither healc nor a network.\n" +
			"--trace FILE, of `healc run --trace`, says how long each kernel took.",
		Example: "  healc explore mlp.heal\n  healc explore mlp.heal --shape M=32 --html mlp.html",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &driver.UsageError{Message: "`healc explore` needs FILE", Help: "usage: healc explore FILE"}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if opts.Target != backend.CPU && opts.Target != backend.GPU {
				return &driver.UsageError{Message: "there is no target `" + opts.Target + "`",
					Help: "the targets are cpu and gpu"}
			}
			shape, err := driver.ParseShape(shapes)
			if err != nil {
				return err
			}
			opts.Shape = shape
			imports, err := h.Importer()
			if err != nil {
				return err
			}
			base := engine.Options{Imports: imports}
			here := opts.Target == backend.CPU && opts.CPU == ""
			if c.Flags().Changed("tune") && !here {
				return &driver.UsageError{Message: "--tune is about code for the processor of this machine",
					Help: "leave it out, or --cpu and --target"}
			}
			if here {
				if err := h.Tuned(args[0], &base); err != nil {
					return err
				}
			}
			file, err := h.Source(args[0])
			if err != nil {
				return err
			}
			if html != "" {
				return write(h, file, base, opts, html)
			}
			if args[0] == "-" {
				return &driver.UsageError{Message: "a program from standard input does not change, and is not served",
					Help: "write its page to a file with --html"}
			}
			return serve(c.Context(), h, args[0], base, opts, port)
		},
	}
	h.Flags(c.Flags())
	c.Flags().StringVar(&html, "html", "", "write the page to `FILE`, - for standard output, and serve nothing")
	c.Flags().StringVar(&opts.Entry, "entry", "", "the function to show")
	c.Flags().StringArrayVar(&shapes, "shape", nil, "`NAME=EXTENT`: the value of a shape parameter")
	c.Flags().StringVar(&opts.Target, "target", backend.CPU, "cpu, or gpu: PTX in place of machine code")
	c.Flags().StringVar(&opts.CPU, "cpu", "",
		"LLVM's `NAME` of the processor that code is made for (default: this machine's), or sm_NN with --target gpu")
	c.Flags().StringVar(&opts.Trace, "trace", "",
		"the `FILE` that `healc run --trace` wrote: how long each kernel took")
	c.Flags().IntVar(&port, "port", 0, "the port of 127.0.0.1 that the page is served on (default: any that is free)")
	return c
}

// write writes the page to a file.
func write(h Healc, file *diag.File, base engine.Options, opts Options, name string) error {
	d, err := Explore(file, base, opts)
	if err != nil {
		return err
	}
	if name == "-" {
		return WriteHTML(h.Out, d)
	}
	f, err := os.Create(name)
	if err != nil {
		return &driver.UsageError{Message: "cannot write " + name + ": " + err.Error()}
	}
	if err := errors.Join(WriteHTML(f, d), f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return nil
}

// serve serves the page until ctx ends.
func serve(ctx context.Context, h Healc, name string, base engine.Options, opts Options, port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return &driver.UsageError{Message: "cannot serve the page: " + err.Error(), Help: "choose another --port"}
	}
	s := NewServer(name, base, opts, l)
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	h.Note("%s", "the page is at "+s.URL()+" until Ctrl-C")
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
