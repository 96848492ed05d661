package bufferize

import (
	"fmt"
	"sort"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// parts gives access to what a statement is made of: the scalars it reads and defines, the accesses to
// buffers, the axes, and the blocks in it. Any function may be nil.
type parts struct {
	read   func(r *kernel.Ref)
	define func(r *kernel.Ref)
	access func(a *kernel.Access)
	axis   func(a *kernel.Axis)
	block  func(b *kernel.Block)
}

func (p parts) reads(refs ...*kernel.Ref) {
	for _, r := range refs {
		if p.read != nil && *r != scalar.None {
			p.read(r)
		}
	}
}

func (p parts) readList(refs []kernel.Ref) {
	for i := range refs {
		p.reads(&refs[i])
	}
}

func (p parts) defines(refs ...*kernel.Ref) {
	for _, r := range refs {
		if p.define != nil && *r != scalar.None {
			p.define(r)
		}
	}
}

func (p parts) defineList(refs []kernel.Ref) {
	for i := range refs {
		p.defines(&refs[i])
	}
}

func (p parts) at(a *kernel.Access) {
	if p.access != nil {
		p.access(a)
	}
	for i := range a.Terms {
		p.reads(&a.Terms[i].Var)
	}
}

func (p parts) loop(a *kernel.Axis) {
	if p.axis != nil {
		p.axis(a)
	}
	p.defines(&a.Var)
}

func (p parts) inner(bs ...*kernel.Block) {
	for _, b := range bs {
		if p.block != nil {
			p.block(b)
		}
	}
}

// of visits the parts of one statement, in the order in which they come into being.
func (p parts) of(st kernel.Stmt) {
	switch st := st.(type) {
	case *kernel.Let:
		for i := range st.In.Args {
			p.reads(&st.In.Args[i])
		}
		p.defines(&st.ID)
	case *kernel.DimValue:
		p.defines(&st.ID)
	case *kernel.Load:
		p.at(&st.At)
		p.defines(&st.ID)
	case *kernel.Store:
		p.at(&st.At)
		p.reads(&st.Val)
	case *kernel.Loop:
		p.readList(st.Init)
		p.loop(&st.Axis)
		p.defineList(st.Vars)
		p.inner(st.Body)
		p.readList(st.Next)
		p.defineList(st.IDs)
	case *kernel.Iterate:
		p.reads(&st.Count)
		p.readList(st.Init)
		p.defines(&st.Var)
		p.defineList(st.Vars)
		p.inner(st.Body)
		p.readList(st.Next)
		p.reads(&st.Until)
		p.defineList(st.IDs)
	case *kernel.Reduce:
		p.reads(&st.Chunk)
		for i := range st.Axes {
			p.loop(&st.Axes[i])
		}
		p.inner(st.Body)
		p.reads(&st.Val)
		p.defines(&st.ID)
	case *kernel.If:
		p.reads(&st.Cond)
		p.inner(st.Then)
		p.readList(st.ThenVals)
		p.inner(st.Else)
		p.readList(st.ElseVals)
		p.defineList(st.IDs)
	case *kernel.Call:
		p.readList(st.Args)
		p.defineList(st.IDs)
	case *kernel.Transform:
		for _, l := range st.Lines() {
			p.at(&l.At)
		}
		p.reads(&st.P, &st.Scale)
		p.defines(&st.ID)
	default:
		panic("BUG: unknown kernel statement")
	}
}

// all visits the parts of a block and of the blocks in it, inner ones in their place.
func (p parts) all(b *kernel.Block) {
	p.block = p.all
	for _, st := range b.Stmts {
		p.of(st)
	}
}

// sweep removes statements whose values nobody needs. Checks, calls and stores stay.
func sweep(root *kernel.Block, also ...kernel.Ref) {
	live := map[kernel.Ref]bool{}
	mark := func(r *kernel.Ref) { live[*r] = true }
	for _, r := range also {
		live[r] = true
	}
	var run func(b *kernel.Block)
	run = func(b *kernel.Block) {
		kept := make([]kernel.Stmt, 0, len(b.Stmts))
		for i := len(b.Stmts) - 1; i >= 0; i-- {
			st := b.Stmts[i]
			if !acts(st) {
				needed := false
				p := parts{define: func(r *kernel.Ref) { needed = needed || live[*r] }}
				p.of(st)
				if !needed {
					continue
				}
			}
			// Mark what it reads; blocks in it are swept after their results are marked.
			parts{read: mark}.of(st)
			parts{block: run}.of(st)
			kept = append(kept, st)
		}
		for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
			kept[i], kept[j] = kept[j], kept[i]
		}
		b.Stmts = kept
	}
	run(root)
}

// acts reports that a statement does something besides giving a value.
func acts(st kernel.Stmt) bool {
	switch st := st.(type) {
	case *kernel.Store, *kernel.Call, *kernel.Transform:
		return true
	case *kernel.Let:
		return st.In.Op == scalar.Check
	}
	found := false
	p := parts{block: func(b *kernel.Block) {
		for _, in := range b.Stmts {
			found = found || acts(in)
		}
	}}
	p.of(st)
	return found
}

// tidy finishes a kernel: neighbouring axes become one where they can, unused parameters go, and scalars
// are numbered in the order of the text. It returns the buffers of the parameters that are left.
func tidy(k *kernel.Kernel, buffers []int) []int {
	u := usesOf(k.Body)
	k.Axes = u.mergeAxes(k.Axes)
	u.mergeIn(k.Body)
	renumber(k)
	// Parameters.
	used := make([]int, len(k.Params))
	k.Body.EachParam(func(p *int) { used[*p] = 1 })
	var params []kernel.Param
	var left []int
	for _, local := range []bool{false, true} { // which stand behind the others, and have no buffer
		for i, p := range k.Params {
			if used[i] == 0 || p.Local != local {
				continue
			}
			used[i] = len(params)
			params = append(params, p)
			if !local {
				left = append(left, buffers[i])
			}
		}
	}
	k.Body.EachParam(func(p *int) { *p = used[*p] })
	k.Params = params
	return left
}

// renumber numbers the scalars of a kernel in the order of its text.
func renumber(k *kernel.Kernel) {
	number := numbering{old: k.Types, from: k.Source, now: map[kernel.Ref]kernel.Ref{}}
	for i := range k.Axes {
		number.define(&k.Axes[i].Var)
	}
	number.block(k.Body)
	k.Types, k.Source = number.types, number.source
}

func tidyFunc(f *kernel.Func) {
	sweep(f.Body, f.Vals...)
	u := usesOf(f.Body)
	u.mergeIn(f.Body)
	n := numbering{old: f.Types, from: f.Source, now: map[kernel.Ref]kernel.Ref{}}
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
	old, types   []types.DType
	from, source kernel.Source
	now          map[kernel.Ref]kernel.Ref
}

func (n *numbering) define(r *kernel.Ref) {
	n.now[*r] = kernel.Ref(len(n.types))
	n.types = append(n.types, n.old[*r])
	n.source = append(n.source, n.from.At(*r))
	*r = n.now[*r]
}

func (n *numbering) read(r *kernel.Ref) {
	now, ok := n.now[*r]
	if !ok {
		panic(fmt.Sprintf("BUG: a kernel reads scalar %d before its definition", *r))
	}
	*r = now
}

func (n *numbering) block(b *kernel.Block) {
	for _, st := range b.Stmts {
		parts{read: n.read, define: n.define, block: n.block}.of(st)
		parts{access: func(a *kernel.Access) {
			sort.Slice(a.Terms, func(i, j int) bool { return a.Terms[i].Var < a.Terms[j].Var })
		}}.of(st)
	}
}
