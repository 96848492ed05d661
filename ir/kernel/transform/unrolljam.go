package transform

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Unroll and jam]
//
// An element-wise kernel over rows that reads the same vectors for each of them, such as
//
//	parallel i, j { y[i, j] = relu(x[i, j] * a[j] + b[i]) * c[j] }
//
// goes through a and c once a row. Where they are no small part of the first-level cache, the rows drive them out of
// it, and each row takes them from the second level. So some rows go side by side, and read what they share once:
//
//	for i in steps of 8
//	  parallel j { a[j], c[j]; y[i, j] = ...; y[i+1, j] = ...; ... y[i+7, j] = ... }
//
// Narrower strips of all rows would keep a and c close, too, but then memory is read in short pieces (Note [Outer-axis
// reductions]). Fetching ahead made all of it slower. Where a vector is half a line, more than two rows write parts of
// lines past the caches. The numbers of rows are measured: docs/tuning/row-groups.md.

// Jammable is a kernel some of whose rows can go side by side.
type Jammable struct {
	Row    int         // the place of the rows among the axes
	Axis   kernel.Axis // along a row
	Shared int64       // bytes along a row that all rows read
	Shape  analysis.Shape
	before []kernel.Stmt
	inner  *kernel.Block
	copier *unrollJam
}

// JammableOf recognises such a kernel, whose axes stand around body; for any other it says why it is none. A line is so
// many bytes: rows that are written past the caches begin at the same place of one.
func JammableOf(k *kernel.Kernel, ts []types.DType, body *kernel.Block, line int64) (r *Jammable, why string) {
	for _, p := range k.Params {
		if p.Work || p.Local {
			return nil, "it has work memory"
		}
	}
	r = &Jammable{Row: len(k.Axes) - 1, inner: body}
	if n := len(body.Stmts) - 1; n >= 0 {
		if l, ok := body.Stmts[n].(*kernel.Loop); ok && l.Parallel {
			r.before, r.Axis, r.inner = body.Stmts[:n], l.Axis, l.Body
		}
	}
	if r.inner == body {
		r.Row--
		if r.Row >= 0 {
			r.Axis = k.Axes[len(k.Axes)-1]
		}
	}
	if r.Row < 0 {
		return nil, "it has one axis"
	}
	n, known := r.Axis.Extent.Dim.Const()
	switch {
	case !known || r.Axis.Extent.Div > 1:
		return nil, "the length of a row is not known"
	case !analysis.InLine(r.before) || !analysis.InLine(r.inner.Stmts):
		return nil, "a row has branches, checks or loops"
	case analysis.Stores(&kernel.Block{Stmts: r.before}):
		return nil, "something is stored once a row"
	}
	var ok bool
	r.Shape, ok = analysis.CanVectorise(ts, r.Axis.Var, r.inner)
	a := &analysis.Analysis{Types: ts, Wide: map[kernel.Ref]bool{r.Axis.Var: true}}
	a.Block(r.inner)
	if !ok || a.Scattered(r.inner, r.Axis.Var) > 0 {
		return nil, "a row is no vectors of neighbours"
	}
	d := &unrollJam{k: k, row: k.Axes[r.Row].Var, varies: map[kernel.Ref]bool{k.Axes[r.Row].Var: true}}
	d.mark(r.before)
	d.mark(r.inner.Stmts)
	r.Shared, r.copier = d.sharedBytes(r.inner, r.Axis, n), d
	if !d.streamsTogether(r.inner, line) {
		return nil, "the rows of an output do not begin at the same place of a line"
	}
	d.types = append([]types.DType{}, ts...)
	return r, ""
}

// Jammed is the code of some rows at once.
type Jammed struct {
	Before []kernel.Stmt // for all of the rows
	Body   *kernel.Block
	Types  []types.DType
}

// Jam copies the statements for so many rows; nil where a place cannot be said.
func (r *Jammable) Jam(rows int64) *Jammed {
	d := r.copier
	d.names = nil
	out := &Jammed{Before: d.copies(r.before, rows), Body: &kernel.Block{Stmts: d.copies(r.inner.Stmts, rows)}}
	if out.Types = d.types; d.failed {
		return nil
	}
	return out
}

// unrollJam writes statements for several rows.
type unrollJam struct {
	k      *kernel.Kernel
	row    kernel.Ref
	varies map[kernel.Ref]bool // scalars that differ between rows
	types  []types.DType
	names  []map[kernel.Ref]kernel.Ref // for each row the scalar that stands for one that varies
	failed bool
}

// mark finds what differs between rows.
func (d *unrollJam) mark(ss []kernel.Stmt) {
	for _, s := range ss {
		switch s := s.(type) {
		case *kernel.Let:
			for _, a := range s.In.Args {
				if a != scalar.None && d.varies[a] {
					d.varies[s.ID] = true
				}
			}
		case *kernel.Load:
			// What is written is read by the iteration that writes it, so that its loads stay in their order.
			if d.k.Params[s.Param].Out || d.differs(s.At) {
				d.varies[s.ID] = true
			}
		}
	}
}

func (d *unrollJam) differs(at kernel.Access) bool {
	for _, t := range at.Terms {
		if d.varies[t.Var] {
			return true
		}
	}
	return false
}

// sharedBytes counts what all rows of n elements read along the axis; 0 when nothing but that is read or written in a
// row.
func (d *unrollJam) sharedBytes(b *kernel.Block, axis kernel.Axis, n int64) int64 {
	seen := map[string]bool{}
	sum, own := int64(0), false
	for _, s := range b.Stmts {
		l, ok := s.(*kernel.Load)
		if !ok {
			continue
		}
		if d.differs(l.At) {
			own = true
			continue
		}
		for _, t := range l.At.Terms {
			if key := fmt.Sprint(l.Param, l.At); t.Var == axis.Var && !t.Coef.IsConst(0) && !seen[key] {
				seen[key] = true
				sum += (n - axis.Begin) * int64(d.k.Params[l.Param].DType.Bytes())
			}
		}
	}
	if !own {
		return 0
	}
	return sum
}

// streamsTogether reports that every store differs from row to row, and that those past the caches begin at the same
// place of a line in all of them.
func (d *unrollJam) streamsTogether(b *kernel.Block, line int64) bool {
	for _, s := range b.Stmts {
		st, ok := s.(*kernel.Store)
		if !ok {
			continue
		}
		if !d.differs(st.At) {
			return false
		}
		for _, t := range st.At.Terms {
			if t.Var != d.row {
				continue
			}
			c, known := t.Coef.Const()
			if p := d.k.Params[st.Param]; p.Stream && (!known || c*int64(p.DType.Bytes())%line != 0) {
				return false
			}
		}
	}
	return true
}

// copies is ss for so many rows: first the statements that they share, then one row after the other.
func (d *unrollJam) copies(ss []kernel.Stmt, rows int64) []kernel.Stmt {
	if d.names == nil {
		for range rows {
			d.names = append(d.names, map[kernel.Ref]kernel.Ref{})
		}
	}
	var shared, own []kernel.Stmt
	for _, s := range ss {
		if id, ok := defined(s); ok && !d.varies[id] {
			shared = append(shared, s)
		}
	}
	for u := range rows {
		for _, s := range ss {
			if id, ok := defined(s); ok && !d.varies[id] {
				continue
			}
			own = append(own, d.copy(s, u)...)
		}
	}
	return append(shared, own...)
}

// defined is the scalar that a statement defines; no store does.
func defined(s kernel.Stmt) (kernel.Ref, bool) {
	switch s := s.(type) {
	case *kernel.Let:
		return s.ID, true
	case *kernel.DimValue:
		return s.ID, true
	case *kernel.Load:
		return s.ID, true
	}
	return scalar.None, false
}

// copy is s for row number u of the group.
func (d *unrollJam) copy(s kernel.Stmt, u int64) (out []kernel.Stmt) {
	name := func(r kernel.Ref) kernel.Ref {
		switch {
		case r == scalar.None || !d.varies[r]:
			return r
		case r == d.row && u > 0: // the number of the row as a scalar
			by, sum := d.fresh(types.I64), d.fresh(types.I64)
			out = append(out,
				&kernel.Let{ID: by, In: scalar.Instr{Op: scalar.Const, Type: types.I64,
					Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}, Imm: uint64(u)}},
				&kernel.Let{ID: sum, In: scalar.Instr{Op: scalar.Add, Type: types.I64,
					Args: [3]kernel.Ref{r, by, scalar.None}}})
			return sum
		case r == d.row:
			return r
		}
		return d.names[u][r]
	}
	define := func(r kernel.Ref) kernel.Ref {
		n := d.fresh(d.types[r])
		d.names[u][r] = n
		return n
	}
	place := func(at kernel.Access) kernel.Access {
		to := kernel.Access{Offset: at.Offset}
		for _, t := range at.Terms {
			if t.Var == d.row {
				far, err := t.Coef.Mul(types.Lit(u))
				if err == nil {
					to.Offset, err = to.Offset.Add(far)
				}
				d.failed = d.failed || err != nil
				to.Terms = append(to.Terms, t)
				continue
			}
			to.Terms = append(to.Terms, kernel.Term{Coef: t.Coef, Var: name(t.Var)})
		}
		return to
	}
	switch s := s.(type) {
	case *kernel.Let:
		in := s.In
		for i, a := range in.Args {
			in.Args[i] = name(a)
		}
		return append(out, &kernel.Let{ID: define(s.ID), In: in, Site: s.Site})
	case *kernel.Load:
		at := place(s.At)
		return append(out, &kernel.Load{ID: define(s.ID), Param: s.Param, At: at})
	case *kernel.Store:
		return append(out, &kernel.Store{Param: s.Param, At: place(s.At), Val: name(s.Val)})
	}
	panic(fmt.Sprintf("BUG: a %T differs between rows", s))
}

func (d *unrollJam) fresh(t types.DType) kernel.Ref {
	d.types = append(d.types, t)
	return kernel.Ref(len(d.types) - 1)
}
