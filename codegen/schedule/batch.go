package schedule

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Batch is a parallel loop whose body is reductions and an epilogue, the statements after them: Note
// [Vectorised epilogues] in codegen/llvm/reduce.
type Batch struct {
	Before, After []kernel.Stmt // of the reductions
	Sums          []*kernel.Reduce
	Width         int // iterations of one vector in the epilogue
}

// Shares says that a reduction may share its body with others: that it combines integers as it goes, which positions of
// extremes do not.
func Shares(r *kernel.Reduce) bool {
	_, pure := analysis.HotWork(r.Body, map[*kernel.If]bool{})
	kernel.Each(r.Body, func(in *kernel.Let) { pure = pure && in.In.Op != scalar.Check })
	return r.Order == kernel.Any && r.Type.IsInt() && !analysis.IsArgument(r) && pure
}

// BatchOf recognises such a body; it returns nil for any other.
func (c Code) BatchOf(v kernel.Ref, body *kernel.Block) *Batch {
	t := &Batch{}
	results, wide := map[kernel.Ref]bool{}, map[kernel.Ref]bool{v: true}
	for _, st := range body.Stmts {
		switch s := st.(type) {
		case *kernel.Reduce:
			if w, _ := c.Along(s); w == 0 || !Shares(s) || analysis.Reads(s, results) {
				return nil
			}
			analysis.Define(results, s)
			wide[s.ID] = true
			t.Sums = append(t.Sums, s)
			continue
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return nil
			}
		case *kernel.Load, *kernel.DimValue:
		case *kernel.If:
			analysis.Define(results, s)
		case *kernel.Store:
			t.After = append(t.After, st)
			continue
		default:
			return nil
		}
		if _, branch := st.(*kernel.If); branch || analysis.ReadsAny(st, results) {
			analysis.Define(results, st)
			t.After = append(t.After, st)
		} else {
			t.Before = append(t.Before, st)
		}
	}
	if len(t.Sums) == 0 || analysis.Statements(&kernel.Block{Stmts: t.After}) < c.Machine.Profile.Reduce.Follows {
		return nil
	}
	a := &analysis.Analysis{Types: c.Types, Wide: wide}
	sh, ok := a.Block(&kernel.Block{Stmts: append(append([]kernel.Stmt{}, t.Before...), t.After...)})
	if !ok || sh.Long || sh.MaxBytes == 0 {
		return nil
	}
	t.Width = max(LineBytes/sh.MaxBytes, 4)
	return t
}

// batch is the directive for such a loop; nil for any other, and where there are more registers: it was not measured
// there.
func (s *scope) batch(v kernel.Ref, body *kernel.Block) *kernel.Directive {
	if s.vector || s.Machine.Registers > 16 || s.brief || s.InPlace() {
		return nil
	}
	t := s.BatchOf(v, body)
	if t == nil {
		return nil
	}
	return kernel.NewDirective("batch", v, int64(t.Width)).
		Because("what follows the reductions is longer than they are, and is done in vectors")
}
