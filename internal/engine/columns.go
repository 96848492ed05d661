package engine

import (
	"context"
	"slices"

	"healc/internal/backend"
	"healc/runtime/tensor"
)

// Note [Column-major results]
//
// A program computes in whatever order suits it, and its results are row-major. One that is declared `in col_major`
// would have to be copied once more, element by element, in the order of the other axis. So such a function is called
// by another one, which has the axes of these results in the reverse order. The compiler makes the transposition a part
// of the kernels, or tiles; seen with the axes turned over again, that memory is column-major.

// turned is the function whose results are those of f, those in column-major order with their axes turned over; nil
// where f has none of them, is interpreted, or promises to be one kernel as it stands.
func (f *Func) turned() *Func {
	if f.memory.ColumnMajor() == nil || f.m.opts.Backend == backend.Interp || len(f.ir.Updates) > 0 {
		return nil
	}
	if p := f.m.Program(); p != nil {
		if d := p.Func(f.ir.Name); d != nil && d.Kernel {
			return nil
		}
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.columns == nil {
		code, memory := f.memory.TurnedOver()
		for f.m.IR().Func(code.Name) != nil {
			code.Name += "_"
		}
		with := &Module{Module: f.m.Module.With(code), opts: f.m.opts, pool: f.m.pool, uses: f.m.uses,
			funcs: map[string]*Func{}}
		f.columns = &Func{m: with, ir: code, memory: memory, given: f.given}
	}
	return f.columns
}

// takesColumns reports that tensors for the results are column-major where the results are declared so.
func (f *Func) takesColumns(out, args []*tensor.Tensor) bool {
	columns := f.memory.ColumnMajor()
	if len(out) != len(columns) {
		return false
	}
	for i, is := range columns {
		if !is {
			continue
		}
		if shape, ok := f.resultShape(i, args); !ok || out[i] == nil || out[i].Err() != nil ||
			!slices.Equal(out[i].Shape, shape) || !out[i].IsColumnMajor() {
			return false
		}
	}
	return true
}

// turnedInto is CallInto by g, which is the function turned over.
func (f *Func) turnedInto(ctx context.Context, g *Func, out, args []*tensor.Tensor) error {
	rows := slices.Clone(out)
	for i, is := range f.memory.ColumnMajor() {
		if !is {
			continue
		}
		view, err := out[i].Transpose()
		if err != nil {
			return err
		}
		defer view.Close()
		rows[i] = view
	}
	return g.runInto(ctx, rows, args)
}

// callTurned is CallAll by g, which is the function turned over.
func (f *Func) callTurned(ctx context.Context, g *Func, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	out, err := g.CallStaying(ctx, args, f.memory.Stay())
	if err != nil {
		return nil, err
	}
	for i, is := range f.memory.ColumnMajor() {
		if !is {
			continue
		}
		t, err := out[i].Transpose()
		if err != nil {
			for _, t := range out {
				t.Close()
			}
			return nil, err
		}
		out[i].Close()
		out[i] = t
	}
	return out, nil
}
