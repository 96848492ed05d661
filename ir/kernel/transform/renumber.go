package transform

import (
	"fmt"
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Renumber numbers the scalars of k in the order of its text, forgets those that have no definition any more, and
// sorts the terms of accesses by their variables. Blocks that were copied get scalars of their own, so a pass may put
// a block and its copy into one kernel.
func Renumber(k *kernel.Kernel) {
	n := numbering{old: k.Types, oldSource: k.Source, now: map[kernel.Ref]kernel.Ref{}}
	for i := range k.Axes {
		n.define(&k.Axes[i].Var)
	}
	n.block(k.Body)
	k.Types, k.Source = n.types, n.source
	k.Contract = n.contract(k.Contract)
}

// renumberFunc is Renumber for a scalar function.
func renumberFunc(f *kernel.Func) {
	n := numbering{old: f.Types, oldSource: f.Source, now: map[kernel.Ref]kernel.Ref{}}
	for i := range f.Params {
		r := kernel.Ref(i)
		n.define(&r)
	}
	n.block(f.Body)
	for i := range f.Vals {
		n.read(&f.Vals[i])
	}
	f.Types, f.Source = n.types, n.source
}

// numbering gives scalars new numbers.
type numbering struct {
	old, types        []types.DType
	oldSource, source kernel.Source
	now               map[kernel.Ref]kernel.Ref
}

func (n *numbering) define(r *kernel.Ref) {
	n.now[*r] = kernel.Ref(len(n.types))
	n.types = append(n.types, n.old[*r])
	n.source = append(n.source, n.oldSource.At(*r))
	*r = n.now[*r]
}

func (n *numbering) read(r *kernel.Ref) {
	now, ok := n.now[*r]
	if !ok {
		panic(fmt.Sprintf("BUG: a kernel reads scalar %d before its definition", *r))
	}
	*r = now
}

// contract is c with the new numbers, nil when not all of its scalars are there any more.
func (n *numbering) contract(c *kernel.Contract) *kernel.Contract {
	if c == nil {
		return nil
	}
	out := *c
	for _, r := range []*kernel.Ref{&out.X, &out.Y, &out.Rows, &out.Columns, &out.Along} {
		now, ok := n.now[*r]
		if *r == scalar.None {
			continue
		}
		if !ok {
			return nil
		}
		*r = now
	}
	return &out
}

func (n *numbering) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		kernel.Visitor{Read: n.read, Define: n.define, Block: n.block}.Stmt(st)
		kernel.Visitor{Access: func(a *kernel.Access) {
			slices.SortFunc(a.Terms, func(s, t kernel.Term) int { return int(s.Var - t.Var) })
		}}.Stmt(st)
	}
}
