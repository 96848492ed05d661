package fusion

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// A Kernel describes one fusion operation, for `healc explain`. Sizes are dims, because shapes may be symbolic.
type Kernel struct {
	Name    string      // of its first result, as in the text of the function
	Ops     []Fused     // what went into it
	Space   types.Shape // the shape of the results: the parallel iteration space
	Reduced []types.Dim // the extents that reductions and matrix products run over, each once
	Read    types.Dim   // bytes of the operands; of a slice only what it takes
	Written types.Dim   // bytes of the results
	Work    types.Dim   // scalar operations; calls of recursive functions are not counted
}

// Fused is one operation in a kernel.
type Fused struct {
	Op   string
	Line int // in the source, 0 when it is not known
	Type types.Tensor
}

// Explain describes the kernels of a fused function, in the order of its text.
func Explain(f *ir.Func) []Kernel {
	names := ir.Names(f)
	var out []Kernel
	ir.WalkBlocks(f.Body, func(b *ir.Block) {
		for _, op := range b.Ops {
			if op.Def == ops.Fusion {
				out = append(out, explain(op, names))
			}
		}
	})
	return out
}

func explain(op *ir.Op, names map[*ir.Value]string) Kernel {
	k := Kernel{}
	region := op.Regions[0]
	uses := ir.Uses(region)
	for _, p := range region.Params {
		k.Read = sum(k.Read, product(readElems(p, uses[p]), types.Lit(int64(p.Type.Elem.Bytes()))))
	}
	for i, r := range op.Results {
		if i == 0 {
			k.Name = names[r]
		}
		if r.Type.Rank() >= len(k.Space) {
			k.Space = r.Type.Shape
		}
		k.Written = sum(k.Written, product(count(r.Type.Shape), types.Lit(int64(r.Type.Elem.Bytes()))))
	}
	seen := map[string]bool{}
	for _, in := range region.Ops {
		k.Work = sum(k.Work, workOf(in))
		if len(in.Results) == 0 || in.Def == ops.Const {
			continue
		}
		f := Fused{Op: in.Def.Name, Type: in.Results[0].Type}
		if in.Span.Valid() {
			f.Line = in.Span.Pos().Line
		}
		k.Ops = append(k.Ops, f)
		for _, d := range reducedExtents(in) {
			if !seen[d.String()] {
				seen[d.String()] = true
				k.Reduced = append(k.Reduced, d)
			}
		}
	}
	return k
}

// String is the iteration space in one line: "[M, N]" or "[M], reducing N".
func (k Kernel) String() string {
	s := k.Space.String()
	if len(k.Reduced) == 0 {
		return s
	}
	parts := make([]string, len(k.Reduced))
	for i, d := range k.Reduced {
		parts[i] = d.String()
	}
	return fmt.Sprintf("%s, reducing %s", s, strings.Join(parts, ", "))
}

func reducedExtents(op *ir.Op) []types.Dim {
	var out []types.Dim
	switch {
	case op.Def.Class == ir.Contract:
		s := op.Args[0].Type.Shape
		return []types.Dim{s[len(s)-1]}
	case op.Def.Class == ir.Reduce || op.Def == ops.Fold:
		x := op.Args[len(op.Args)-1].Type.Shape
		for _, a := range ops.ReducedAxes(op) {
			out = append(out, x[a])
		}
	}
	return out
}

// readElems counts the elements of a parameter that its uses can touch.
func readElems(p *ir.Value, uses []ir.Use) types.Dim {
	all := count(p.Type.Shape)
	part := types.Dim{}
	for _, u := range uses {
		if u.Op == nil || u.Op.Def.Class != ir.Reindex || u.Arg != 0 {
			return all
		}
		switch u.Op.Def {
		case ops.Slice, ops.Index, ops.DynamicSlice:
			part = sum(part, count(u.Op.Type().Shape))
		default:
			return all
		}
	}
	n, ok1 := part.Const()
	m, ok2 := all.Const()
	if len(uses) > 0 && ok1 && ok2 && n < m {
		return part
	}
	return all
}

// workOf counts scalar operations.
func workOf(op *ir.Op) types.Dim {
	switch op.Def.Class {
	case ir.Pointwise:
		return product(count(op.Type().Shape), types.Lit(int64(opCount(op))))
	case ir.Reduce:
		return count(op.Args[0].Type.Shape)
	case ir.Contract:
		s := op.Args[0].Type.Shape
		return product(product(count(op.Type().Shape), s[len(s)-1]), types.Lit(2))
	case ir.Scope:
		w := types.Dim{}
		for _, r := range op.Regions {
			for _, in := range r.Ops {
				w = sum(w, workOf(in))
			}
		}
		switch op.Def {
		case ops.Tabulate:
			return product(w, count(op.Dims("shape")))
		case ops.Fold:
			return product(w, count(op.Args[len(op.Args)-1].Type.Shape))
		}
		return w
	}
	return types.Dim{}
}

func count(s types.Shape) types.Dim {
	n := types.Lit(1)
	for _, d := range s {
		n = product(n, d)
	}
	return n
}

// sum and product keep what they have when a count of no consequence overflows.
func sum(a, b types.Dim) types.Dim {
	if s, err := a.Add(b); err == nil {
		return s
	}
	return a
}

func product(a, b types.Dim) types.Dim {
	if p, err := a.Mul(b); err == nil {
		return p
	}
	return a
}
