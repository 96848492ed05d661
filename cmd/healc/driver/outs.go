package driver

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/exchange"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/runtime/zarr"
)

// output says where a result goes: nowhere but to standard output where path is "".
type output struct {
	path   string
	member string // the name in an archive, which holds all results that go to its path; "": its number
}

// writers write the files of several tensors, by how their names end, as archives reads them.
var writers = map[string]func(path string, ended func() error, ts []tensorfile.NamedTensor) error{
	".npz": func(path string, ended func() error, ts []tensorfile.NamedTensor) error {
		return tensorfile.WriteFileUntil(path, ended, func(w io.Writer) error {
			return tensorfile.WriteNpz(w, false, ts...)
		})
	},
	".safetensors": func(path string, ended func() error, ts []tensorfile.NamedTensor) error {
		return tensorfile.WriteFileUntil(path, ended, func(w io.Writer) error {
			return tensorfile.WriteSafetensors(w, nil, ts...)
		})
	},
	".zarr": func(path string, ended func() error, ts []tensorfile.NamedTensor) error {
		return zarr.Write(path, zarr.Options{Ended: ended}, ts...)
	},
}

// named are the results that go to an archive. One alone that has no name is all that an array of Zarr holds.
func named(outs []output, results map[int]*tensor.Tensor) []tensorfile.NamedTensor {
	var all []tensorfile.NamedTensor
	for i, o := range outs {
		t := results[i]
		if t == nil {
			continue
		}
		name := o.member
		if name == "" && (len(results) > 1 || ending(o.path) != ".zarr") {
			name = strconv.Itoa(i)
		}
		all = append(all, tensorfile.NamedTensor{Name: name, Tensor: t})
	}
	return all
}

// picture is the form of a picture that a file of this name has, or "".
func picture(path string) tensorfile.Image {
	for _, form := range tensorfile.Images {
		if filepath.Ext(path) == "."+string(form) {
			return form
		}
	}
	return ""
}

// outs reads the --out options: where each result goes. An archive without a number takes all results.
func (j *Job) outs(results []types.Tensor) ([]output, error) {
	outs := make([]output, len(results))
	for _, o := range j.Outs {
		path, first, last, numbered := o, 0, 0, false
		if before, after, ok := strings.Cut(o, "="); ok {
			if n, err := strconv.Atoi(before); err == nil {
				path, first, last, numbered = after, n, n, true
			}
		}
		path, member := InputFile(path)
		several := !numbered && member == "" && writers[ending(path)] != nil
		switch {
		case several:
			last = len(results) - 1
		case !numbered && len(results) > 1:
			e := Usagef("--out %s: `%s` has %s", o, j.Entry, Count(len(results), "result"))
			e.Help = "choose one by number: --out 0=" + o
			if member == "" {
				e.Help += ", or write all: --out " + strings.TrimSuffix(path, filepath.Ext(path)) + ".npz"
			}
			return nil, e
		}
		if first < 0 || last >= len(results) || len(results) == 0 {
			return nil, Usagef("--out %s: `%s` has %s", o, j.Entry, Count(len(results), "result"))
		}
		if path == "" {
			return nil, Usagef("--out %s: the path is missing", o)
		}
		for i := first; i <= last; i++ {
			if outs[i].path != "" {
				return nil, Usagef("--out names result %d twice", i)
			}
			outs[i] = output{path, member}
			if err := fitsPicture(path, results[i]); err != nil {
				return nil, Usagef("--out %s: %v", o, err)
			}
		}
	}
	return outs, nil
}

// fitsPicture says before anything runs that no tensor of a type is the picture that a path asks for.
func fitsPicture(path string, t types.Tensor) error {
	form := picture(path)
	if form == "" {
		return nil
	}
	shape := make([]int64, len(t.Shape))
	for i, d := range t.Shape {
		n, known := d.Const()
		if !known {
			n = 1 // of which there is a picture
		}
		shape[i] = n
	}
	return form.Check(t.Elem, shape)
}

// write prints the results, or puts them into files.
func (j *Job) write(m *engine.Module, f *engine.Func, args, results []*tensor.Tensor, outs []output,
	ended func() error) error {
	c := j.Opts.Cluster
	first := !cluster.Many(c) || c.Rank() == 0 // who writes what all have
	archived := map[string]map[int]*tensor.Tensor{}
	var order []string
	for i, t := range results {
		path := inDir(j.Dir, outs[i].path)
		form, together := picture(path), writers[ending(path)] != nil
		if l, shape := f.Result(i, args); shape != nil {
			if outs[i].path != "" && !together && form == "" {
				if err := j.writePart(m, path, l, shape, t, ended); err != nil {
					return fmt.Errorf("cannot write result %d: %w", i, err)
				}
				continue
			}
			whole, err := m.Gather(l, shape, t)
			if err != nil {
				return err
			}
			defer whole.Close()
			t = whole
		}
		var err error
		switch {
		case outs[i].path == "":
			if err := tensor.Format(j.Out, t); err != nil {
				return err
			}
			if _, err := io.WriteString(j.Out, "\n"); err != nil {
				return err
			}
		case !first:
		case together:
			if archived[path] == nil {
				order = append(order, path)
				archived[path] = map[int]*tensor.Tensor{}
			}
			archived[path][i] = t
		case form != "":
			err = tensorfile.WriteImageFile(path, form, t, ended)
		default:
			err = tensorfile.WriteNpyFileUntil(path, t, ended)
		}
		if err != nil {
			return fmt.Errorf("cannot write result %d: %w", i, err)
		}
	}
	for _, path := range order {
		if err := writers[ending(path)](path, ended, named(outs, archived[path])); err != nil {
			return fmt.Errorf("cannot write the results: %w", err)
		}
	}
	return nil
}

// writePart writes the result of which each rank has a part that lies so.
func (j *Job) writePart(m *engine.Module, path string, l exchange.Layout, shape []int64, t *tensor.Tensor,
	ended func() error) error {
	head, err := tensorfile.NpyHeader(t.DType, shape)
	if err != nil {
		return err
	}
	dense, err := t.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	c := j.Opts.Cluster
	done, err := collective.Write(c, runtime.SharedFiles(runtime.OS{Ended: ended}), path, head,
		collective.Tensor{At: int64(len(head)), Layout: l, Part: dense.Raw()})
	if done || err != nil {
		return err
	}
	whole, err := m.Gather(l, shape, t)
	if err != nil {
		return err
	}
	defer whole.Close()
	if c.Rank() > 0 {
		return nil
	}
	return tensorfile.WriteNpyFileUntil(path, whole, ended)
}
