// Package importing is `healc import`: it writes programs, and files of their weights, for models that other tools have
// made. What is written for an ONNX model decides package onnx; here are flags, files and messages.
package importing

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/internal/onnx"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/lang/diag"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// job is one run of the command.
type job struct {
	model   string
	output  string
	weights string
	entry   string
	dims    []string
	fixed   []string
	force   bool
	out     io.Writer
	note    func(format string, args ...any)
}

// Command is `healc import`; note prints a line that is no result.
func Command(out io.Writer, note func(format string, args ...any)) *cobra.Command {
	j := job{out: out, note: note}
	c := &cobra.Command{
		Use:   "import MODEL.onnx [flags]",
		Short: "Write a Heal program for an ONNX model, and its weights",
		Long: "Writes MODEL.heal, a program with one function that computes what the model does, and " +
			"MODEL.safetensors with its\n" +
			"weights, which are parameters of the function. docs/onnx.md has the operators. A model with others is " +
			"an error that\nlists them all.",
		Example: "  healc import mnist.onnx\n" +
			"  healc run mnist.heal --entry mnist --in input=@digit.npy --in @mnist.safetensors",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &driver.UsageError{Message: "`healc import` needs MODEL.onnx",
					Help: "usage: healc import MODEL.onnx"}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			j.model = args[0]
			return j.run()
		},
	}
	fs := c.Flags()
	fs.StringVarP(&j.output, "output", "o", "", "the `FILE` of the program (default MODEL.heal; - is standard output)")
	fs.StringVar(&j.weights, "weights", "",
		"the `FILE` of the weights (default: that of the program, with .safetensors)")
	fs.StringVar(&j.entry, "entry", "", "the `NAME` of the function (default: that of the file)")
	fs.StringArrayVar(&j.dims, "dim", nil,
		"`NAME=N`, a number for a dimension of the model; others are shape parameters. "+
			"input.0=N for an axis without a name")
	fs.StringArrayVar(&j.fixed, "fix", nil,
		"`NAME=VALUE`, an input that always has this value, as for `healc run --in`")
	fs.BoolVar(&j.force, "force", false, "overwrite files that are there")
	return c
}

func (j *job) run() error {
	if err := j.files(); err != nil {
		return err
	}
	m, err := onnx.Read(j.model)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return driver.NoFile(j.model, err)
	case err != nil:
		return &driver.UsageError{Message: err.Error()}
	}
	stem := strings.TrimSuffix(j.model, filepath.Ext(j.model))
	program, weights := j.output, cmp.Or(j.weights, stem+".safetensors")
	if program == "-" {
		program = stem + ".heal"
	}
	options := onnx.Options{Entry: j.entry, Source: filepath.Base(j.model), Program: filepath.Base(program),
		Weights: filepath.Base(weights), Dims: map[string]int64{}, Fixed: map[string]*tensor.Tensor{}}
	if err := j.values(m, &options); err != nil {
		return err
	}
	p, err := onnx.Import(m, options)
	if err != nil {
		return failure(err)
	}
	// What was written is looked at as any program is. Operators on types that Heal's have not are found here.
	if _, err := pipeline.Check(diag.NewFile(program, p.Source)); err != nil {
		return wrong(err)
	}
	return j.write(p)
}

// files decides where the program and its weights go.
func (j *job) files() error {
	stem := strings.TrimSuffix(j.model, filepath.Ext(j.model))
	if j.output == "" {
		j.output = stem + ".heal"
	}
	if j.weights == "" && j.output != "-" {
		j.weights = strings.TrimSuffix(j.output, filepath.Ext(j.output)) + ".safetensors"
	}
	if j.entry == "" {
		j.entry = onnx.Identifier(filepath.Base(stem), "model")
	}
	if !name.MatchString(j.entry) {
		return driver.Usagef("--entry %s is no name of a function", j.entry)
	}
	for _, file := range []string{j.output, j.weights} {
		if file == "-" || file == "" || j.force {
			continue
		}
		if _, err := os.Lstat(file); err == nil {
			return &driver.UsageError{Message: file + " is there",
				Help: "name another place with -o, or let it be overwritten with --force"}
		}
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// values reads --dim and --fix.
func (j *job) values(m *onnx.Model, options *onnx.Options) error {
	for _, text := range j.dims {
		name, value, ok := strings.Cut(text, "=")
		n, err := strconv.ParseInt(value, 10, 32)
		if !ok || err != nil || n < 0 {
			return driver.Usagef("--dim %s is not NAME=N", text)
		}
		options.Dims[name] = n
	}
	for _, text := range j.fixed {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return driver.Usagef("--fix %s is not NAME=VALUE", text)
		}
		typ, err := m.InputType(name)
		if err != nil {
			return &driver.UsageError{Message: "--fix " + text + ": " + err.Error()}
		}
		x, err := driver.Value(&ir.Value{Name: name, Type: typ}, value, "")
		if err != nil {
			return err
		}
		options.Fixed[name] = x
	}
	return nil
}

// failure is the error of a model that cannot be imported.
func failure(err error) error {
	d := &diag.Diagnostic{Message: err.Error()}
	var unknown *onnx.UnknownError
	var option *onnx.OptionError
	switch {
	case errors.As(err, &option):
		return &driver.UsageError{Message: err.Error(), Help: option.Help}
	case errors.As(err, &unknown):
		d.Notes = unknown.Notes()
		d.Help = "docs/onnx.md has the operators that are imported"
	}
	return &diag.List{Items: []*diag.Diagnostic{d}}
}

// wrong is the error of a model for which a program was written that does not compile: its first error.
func wrong(err error) error {
	d := &diag.Diagnostic{Message: "unsupported: the program for this model would not compile",
		Help: "if the model is one that others run, please report it"}
	var list *diag.List
	if errors.As(err, &list) && len(list.Items) > 0 {
		first := list.Items[0]
		d.Notes = []string{first.Message}
		if at := first.Primary.Span; at.File != nil {
			d.Notes = append(d.Notes, strings.TrimSpace(at.File.Line(at.File.Pos(at.Start).Line)))
		}
	}
	return &diag.List{Items: []*diag.Diagnostic{d}}
}

// write writes the files. The weights come first, so that no program is there without them.
func (j *job) write(p *onnx.Program) error {
	if j.weights != "" && len(p.Weights) > 0 {
		if err := tensorfile.WriteSafetensorsFile(j.weights, p.Names, p.Weights...); err != nil {
			return fmt.Errorf("cannot write the weights: %w", err)
		}
	}
	if j.output == "-" {
		_, err := io.WriteString(j.out, p.Source)
		return err
	}
	if err := os.WriteFile(j.output, []byte(p.Source), 0o666); err != nil {
		return fmt.Errorf("cannot write the program: %w", err)
	}
	wrote := j.output
	if len(p.Weights) > 0 {
		wrote += " and " + j.weights + " with " + driver.Count(len(p.Weights), "tensor")
	}
	j.note("wrote %s", wrote)
	return nil
}
