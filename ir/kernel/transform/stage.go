package transform

import (
	"fmt"
	"math"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Staged reductions]
//
// A reduction of a whole matrix goes through its elements in row-major order, in chunks (Note [Split reductions] in
// passes/bufferize/lower). Where an operand lies in column-major order, each of them is in a line of its own. The order
// of a sum of floats is language, so the loops cannot be interchanged. Instead some rows of the operand are copied to
// memory of the kernel, the stage, where the elements lie one after the other, and the chunks are reduced from there:
// each line of the operand is read once and whole.
//
// With the operands in order, all axes of the reduction are one axis, along which vectors need not end with a row.

// Staged is a kernel of chunks of reductions whose operands are brought in order first.
type Staged struct {
	Body     *kernel.Block  // of the kernel, where reductions have one axis
	Params   []kernel.Param // with a parameter for each stage, behind the others
	Extents  []types.Dim    // of the axes that the reductions had
	Across   int            // the axis along which operands are copied in vectors; all behind it are the columns
	Operands []StagedOperand
}

// StagedOperand is an access to an operand that is read from a stage.
type StagedOperand struct {
	Param  int // the operand
	Stage  int // the parameter of its stage
	Offset types.Dim
	Coefs  []types.Dim // what the place moves by along each of the axes
}

// Along reports that neighbours along the axis across are neighbours in memory, upwards or downwards. It may be known
// only when the kernel runs.
func (o *StagedOperand) Along(across int) (yes, known bool) {
	n, known := o.Coefs[across].Const()
	return n == 1 || n == -1, known
}

// aligned are the columns of which a multiple lets vectors be whole within the rows of a matrix.
const aligned = 16

// StageOperands has the reductions of a kernel of chunks read operands from stages where they do not lie in the order
// of the reduction. For a kernel without such operands, and where it cannot be done, it says why. k stays as it is.
//
//	over %0 in 0..C { %1 = reduce sum lanes %2 in 0..M, %3 in 0..N chunk %0 { %4 = load x[%2 + M*%3]; ... } ... }
//
// becomes
//
//	over %0 in 0..C { %1 = reduce sum lanes %3 in 0..M*N chunk %0 { %4 = load stage[%3]; ... } ... }
func StageOperands(k *kernel.Kernel) (s *Staged, why string) {
	for _, p := range k.Params {
		if p.InPlace || p.Work || p.Local {
			return nil, "it has work memory, or works in place"
		}
	}
	if len(k.Axes) != 1 {
		return nil, "its axes are not the chunks of a reduction alone"
	}
	s = &Staged{Body: k.Body.Clone(), Params: slices.Clip(k.Params), Across: -1}
	var reduces []*kernel.Reduce
	for _, st := range s.Body.Stmts {
		switch st := st.(type) {
		case *kernel.Reduce:
			if len(st.Axes) < 2 || st.Chunk != k.Axes[0].Var || st.Order == kernel.Columns ||
				!analysis.SameSpace(st, append(reduces, st)[0]) {
				return nil, "its reductions are not over several axes in chunks"
			}
			if _, ok := analysis.HotWork(st.Body, map[*kernel.If]bool{}); !ok {
				return nil, "the body of a reduction does more than read and compute"
			}
			reduces = append(reduces, st)
		case *kernel.Let, *kernel.Load, *kernel.Store, *kernel.DimValue:
		default:
			return nil, "there is more than reductions in it"
		}
	}
	if len(reduces) == 0 {
		return nil, "it has no reductions"
	}
	for _, a := range reduces[0].Axes {
		if a.Begin != 0 || a.Extent.Div > 1 {
			return nil, "an axis of the reduction begins elsewhere"
		}
		s.Extents = append(s.Extents, a.Extent.Dim)
	}
	for _, r := range reduces {
		if why := s.operands(r); why != "" {
			return nil, why
		}
	}
	if s.Across = s.across(); s.Across < 0 {
		return nil, "its operands lie in the order of the reduction"
	}
	return s, ""
}

// operands rewrites a reduction over several axes as one over the last of them, with the operands that are not in order
// in stages.
func (s *Staged) operands(r *kernel.Reduce) (why string) {
	last := len(r.Axes) - 1
	axis := map[kernel.Ref]int{}
	for i, a := range r.Axes {
		axis[a.Var] = i
	}
	total := types.Lit(1)
	behind := make([]types.Dim, len(r.Axes)) // elements from one position of an axis to the next
	for i := last; i >= 0; i-- {
		behind[i] = total
		var err error
		if total, err = total.Mul(s.Extents[i]); err != nil {
			return "it has too many elements"
		}
	}
	if u := usesOf(r.Body); slices.ContainsFunc(r.Axes, func(a kernel.Axis) bool { return u.plain[a.Var] }) {
		return "the position is a value"
	}
	one := kernel.Term{Coef: types.Lit(1), Var: r.Axes[last].Var}
	kernel.Each(r.Body, func(l *kernel.Load) {
		o := StagedOperand{Param: l.Param, Offset: l.At.Offset, Coefs: make([]types.Dim, len(r.Axes))}
		within := false
		for _, t := range l.At.Terms {
			i, ok := axis[t.Var]
			if !ok {
				why = "the place of an operand depends on more than the axes of the reduction"
				return
			}
			o.Coefs[i], within = t.Coef, true
		}
		flat := true
		for i := range last {
			want, err := o.Coefs[last].Mul(behind[i])
			flat = flat && err == nil && o.Coefs[i].Equal(want)
		}
		switch {
		case !within:
		case flat:
			l.At.Terms = []kernel.Term{{Coef: o.Coefs[last], Var: one.Var}}
		default:
			l.Param, l.At = s.stage(o), kernel.Access{Terms: []kernel.Term{one}}
		}
	})
	r.Axes = []kernel.Axis{{Var: one.Var, Extent: r.Axes[last].Extent}}
	r.Axes[0].Extent.Dim = total
	return why
}

// stage is the parameter of the stage for an operand.
func (s *Staged) stage(o StagedOperand) int {
	for _, other := range s.Operands {
		if o.Param == other.Param && o.Offset.Equal(other.Offset) &&
			slices.EqualFunc(o.Coefs, other.Coefs, types.Dim.Equal) {
			return other.Stage
		}
	}
	o.Stage = len(s.Params)
	s.Params = append(s.Params, kernel.Param{Name: "stage", DType: s.Params[o.Param].DType})
	s.Operands = append(s.Operands, o)
	return o.Stage
}

// across is the axis, other than the last one, along which the first operand goes to neighbours, or nearer ones than
// along the last axis. Where strides are not known it is the first, as in column-major order. It is the one before the
// last where rows lie in order and are no whole vectors, and -1 where nothing is gained.
func (s *Staged) across() int {
	last := len(s.Extents) - 1
	for _, o := range s.Operands {
		far, known := o.Coefs[last].Const()
		if !known {
			return 0
		}
		across := -1
		for i, c := range o.Coefs[:last] {
			n, known := c.Const()
			if known && n != 0 && max(n, -n) < max(far, -far) {
				across, far = i, n
			}
		}
		if across >= 0 {
			return across
		}
	}
	if n, known := s.Extents[last].Const(); len(s.Operands) > 0 && (!known || n%aligned != 0) {
		return last - 1
	}
	return -1
}

// Note [Staged rows]
//
// A kernel that goes along rows, such as a softmax, reads an element of a line for each of its steps where rows lie in
// column-major order, and reads the line again in the next loop. Vectors over neighbouring rows read whole lines, but
// they are far apart, and what is written along rows is then as far apart. So some rows at a time are copied to memory
// of the kernel, where each lies in order, and the loops of the kernel run along them there.
//
//	over %0 in 0..M { %1 = reduce sum lanes %2 in 0..N { %3 = load x[%0 + M*%2]; ... }; loop %4 in 0..N { ... } }
//
// becomes, for each of some rows that were copied,
//
//	over %0 in 0..M { %1 = reduce sum lanes %2 in 0..N { %3 = load stage[%2]; ... }; loop %4 in 0..N { ... } }
//
// All of a row is copied, so an operand goes there only if the kernel reads all of it, whatever way its branches go.
//
// Sums down columns have an order of their own, in which neighbouring columns are a vector. Where columns lie in order,
// each element of such a vector is in another line. There the stage has the elements of some columns side by side:
//
//	over %0 in 0..N { %1 = reduce sum columns %2 in 0..M { %3 = load x[%2 + M*%0]; ... } ... }
//
// becomes, for some columns from %first on,
//
//	over %0 in 0..N { %1 = reduce sum columns %2 in 0..M { %3 = load stage[64*%2 + %0 - %first]; ... } ... }

// StagedRows is a kernel that reads its rows from stages.
type StagedRows struct {
	Kernel   *kernel.Kernel // whose body is that of one row, with a parameter for each stage
	Down     bool           // what the loops go along lies in order, and stages have the elements of rows side by side
	Before   []kernel.Stmt  // computed before the axes
	Across   int            // the axis of the kernel whose positions are the rows
	Operands []RowOperand
}

// RowOperand is what a kernel reads along its rows.
type RowOperand struct {
	Param   int           // the operand
	Stage   int           // the parameter of its stage
	Row     kernel.Access // where a row is in the operand, by the axes of the kernel
	Across  types.Dim     // from a row to the next
	Extents []types.Dim   // of the loops along a row, outermost first
	Coefs   []types.Dim   // what the place in the operand moves by along each of them
	Chunk   kernel.Ref    // the number of the chunk of the row that is read; None: all of it
}

// alongLoop is a loop along a row, or along a chunk of it.
type alongLoop struct {
	kernel.Axis
	chunk kernel.Ref
}

// loopsOf are the loops inside of others that go along axes.
func loopsOf(loops []alongLoop, chunk kernel.Ref, axes ...kernel.Axis) []alongLoop {
	loops = slices.Clip(loops)
	for _, a := range axes {
		loops = append(loops, alongLoop{a, chunk})
	}
	return loops
}

// same reports that two operands are the same elements in the same order.
func (o *RowOperand) same(p *RowOperand) bool {
	return o.Param == p.Param && o.Chunk == p.Chunk && o.Row.Offset.Equal(p.Row.Offset) &&
		slices.EqualFunc(o.Row.Terms, p.Row.Terms, func(x, y kernel.Term) bool {
			return x.Var == y.Var && x.Coef.Equal(y.Coef)
		}) && slices.EqualFunc(o.Extents, p.Extents, types.Dim.Equal) &&
		slices.EqualFunc(o.Coefs, p.Coefs, types.Dim.Equal)
}

// Columns is how many elements are read of a row at most, if that is known.
func (o *RowOperand) Columns() (n int64, known bool) {
	if o.Chunk != scalar.None {
		return kernel.Columns.Chunk(), true
	}
	n = 1
	for _, e := range o.Extents {
		m, known := e.Const()
		if !known {
			return 0, false
		}
		n *= m
	}
	return n, true
}

// StageRows has a kernel read its rows from stages where that pays. For any other it says why it is none, "" for
// one that has no such rows. k stays as it is; scalars keep their numbers.
func StageRows(k *kernel.Kernel) (s *StagedRows, why string) {
	if len(k.Axes) == 0 {
		return nil, ""
	}
	before, body := HoistInvariants(k)
	if s, why = stageRows(k, before, body, false); s == nil {
		if s, _ := stageRows(k, before, body, true); s != nil {
			return s, ""
		}
	}
	return s, why
}

// stageRows is StageRows for rows that do not lie in order, or where down says so for columns that do.
func stageRows(k *kernel.Kernel, before []kernel.Stmt, body *kernel.Block, down bool) (s *StagedRows, why string) {
	s = &StagedRows{Before: before, Across: -1, Down: down}
	copied := *k
	s.Kernel = &copied
	copied.Params, copied.Types, copied.Body = slices.Clip(k.Params), slices.Clip(k.Types), body.Clone()
	nearest, known := int64(0), false
	for i := len(k.Axes) - 1; i >= 0; i-- {
		try := &StagedRows{Kernel: s.Kernel, Across: i, Down: down}
		if a := k.Axes[i]; a.Begin == 0 && a.Extent.Div <= 1 && !analysis.IsShort(a) {
			try.Operands = try.always(copied.Body, nil)
		}
		if len(try.Operands) == 0 {
			continue
		}
		n, is := try.Operands[0].Across.Const()
		if n = max(n, -n); s.Across < 0 || is && (!known || n < nearest) {
			s.Across, s.Operands, nearest, known = i, try.Operands, n, is
		}
	}
	if len(s.Operands) == 0 {
		return nil, ""
	}
	if checks := false; s.Across < len(k.Axes)-1 {
		kernel.Each(copied.Body, func(l *kernel.Let) { checks = checks || l.In.Op == scalar.Check })
		if checks {
			return nil, "rows would take another order, and with them the checks"
		}
	}
	if why := s.pays(); why != "" {
		return nil, why
	}
	for i := range s.Operands {
		o := &s.Operands[i]
		o.Stage = len(copied.Params)
		p := kernel.Param{Name: fmt.Sprint("stage", i), DType: k.Params[o.Param].DType}
		copied.Params = append(copied.Params, p)
	}
	if down {
		return s, ""
	}
	s.Rewrite(0)
	rowCaches(&copied, true)
	return s, ""
}

// Rewrite has the loads of staged operands go to the stages. Where elements of rows lie side by side there, so many do.
func (s *StagedRows) Rewrite(rows int64) { s.rewrite(s.Kernel.Body, nil, rows) }

// always are the operands all of whose elements a block reads in each row.
func (s *StagedRows) always(b *kernel.Block, loops []alongLoop) (out []RowOperand) {
	add := func(more ...RowOperand) {
		for i := range more {
			if !slices.ContainsFunc(out, func(o RowOperand) bool { return o.same(&more[i]) }) {
				out = append(out, more[i])
			}
		}
	}
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			if o := s.operand(st.Param, st.At, loops); o != nil && !s.Kernel.Params[st.Param].Out {
				add(*o)
			}
		case *kernel.Loop:
			add(s.always(st.Body, loopsOf(loops, scalar.None, st.Axis))...)
		case *kernel.Reduce:
			if st.Chunk == scalar.None || s.isChunk(st) {
				add(s.always(st.Body, loopsOf(loops, st.Chunk, st.Axes...))...)
			}
		case *kernel.If:
			other := s.always(st.Else, loops)
			add(slices.DeleteFunc(s.always(st.Then, loops), func(o RowOperand) bool {
				return !slices.ContainsFunc(other, func(p RowOperand) bool { return o.same(&p) })
			})...)
		}
	}
	return out
}

// isChunk reports that a reduction is of a chunk of a column, whose number an axis of the kernel counts.
func (s *StagedRows) isChunk(r *kernel.Reduce) bool {
	return s.Down && r.Order == kernel.Columns && len(r.Axes) == 1 && slices.ContainsFunc(s.Kernel.Axes,
		func(a kernel.Axis) bool { return a.Var == r.Chunk && a.Var != s.Kernel.Axes[s.Across].Var })
}

// operand is what an access inside of loops goes through, nil where that is no row which goes to a stage.
func (s *StagedRows) operand(param int, at kernel.Access, loops []alongLoop) *RowOperand {
	o := &RowOperand{Param: param, Row: kernel.Access{Offset: at.Offset}, Chunk: scalar.None}
	coefs := map[kernel.Ref]types.Dim{}
	for _, t := range at.Terms {
		if _, twice := coefs[t.Var]; twice {
			return nil
		}
		coefs[t.Var] = t.Coef
	}
	for i, a := range s.Kernel.Axes {
		c, there := coefs[a.Var]
		if there {
			o.Row.Terms = append(o.Row.Terms, kernel.Term{Coef: c, Var: a.Var})
			delete(coefs, a.Var)
		}
		if i == s.Across {
			o.Across = c
		}
	}
	near, known := o.Across.Const()
	if near = max(near, -near); known && near == 0 {
		return nil
	}
	if s.Down && !known {
		near = math.MaxInt64 // some number of times an extent, as a rule
	}
	for _, a := range loops {
		c, there := coefs[a.Var]
		n, sized := a.Extent.Dim.Const()
		switch {
		case a.Begin != 0 || a.Extent.Div > 1:
			return nil
		case !there && (!sized || n == 0):
			return nil // it may have no iteration
		case !there:
			continue
		}
		far, farKnown := c.Const()
		switch far = max(far, -far); {
		case s.Down && (!farKnown || far >= near || len(o.Extents) > 0 || s.nearer(at, far)):
			return nil
		case !s.Down && farKnown && (!known || far <= near):
			return nil
		}
		o.Extents, o.Coefs, o.Chunk = append(o.Extents, a.Extent.Dim), append(o.Coefs, c), a.chunk
		delete(coefs, a.Var)
	}
	if n, known := o.Columns(); len(coefs) > 0 || len(o.Extents) == 0 || known && n <= analysis.Unrolled {
		return nil
	}
	return o
}

// nearer reports that an access goes along an axis of the kernel by steps that are not longer: neighbours along that
// are vectors where they lie.
func (s *StagedRows) nearer(at kernel.Access, step int64) bool {
	return slices.ContainsFunc(s.Kernel.Axes, func(a kernel.Axis) bool {
		return !analysis.IsShort(a) && slices.ContainsFunc(at.Terms, func(t kernel.Term) bool {
			n, known := t.Coef.Const()
			return t.Var == a.Var && known && max(n, -n) <= step
		})
	})
}

// pays says why the operands stay where they are. Vectors over neighbouring rows read and write whole lines, once for
// each loop: that is enough unless rows are read again and keep the lanes of their reductions, or are written in order.
func (s *StagedRows) pays() (why string) {
	again, lanes, along, columns := false, false, false, false
	results := map[kernel.Ref]bool{}
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			reads := false
			v := kernel.Visitor{Read: func(r *kernel.Ref) { reads = reads || results[*r] }}
			v.Stmt(st)
			kernel.Visitor{Block: v.All}.Stmt(st)
			switch st := st.(type) {
			case *kernel.If:
				walk(st.Then)
				walk(st.Else)
			case *kernel.Reduce:
				again, lanes = again || reads, lanes || st.Order == kernel.Lanes
				columns = columns || st.Order == kernel.Columns
				reads = true
			case *kernel.Loop:
				again = again || reads
				kernel.Each(st.Body, func(to *kernel.Store) {
					for _, t := range to.At.Terms {
						along = along || t.Var == st.Axis.Var && t.Coef.IsConst(1)
					}
				})
			}
			if reads {
				analysis.Define(results, st)
			}
		}
	}
	walk(s.Kernel.Body)
	if s.Down && columns || !s.Down && (again && lanes || along) {
		return ""
	}
	return "each line of its rows is read and written once"
}

func (s *StagedRows) rewrite(b *kernel.Block, loops []alongLoop, rows int64) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			o := s.operand(st.Param, st.At, loops)
			if o == nil {
				continue
			}
			i := slices.IndexFunc(s.Operands, func(p RowOperand) bool { return o.same(&p) })
			if i < 0 {
				continue
			}
			terms, behind := []kernel.Term{}, types.Lit(1)
			if s.Down {
				terms = append(terms, kernel.Term{Coef: behind, Var: s.Kernel.Axes[s.Across].Var})
				behind = types.Lit(rows)
			}
			for _, a := range slices.Backward(loops) {
				if slices.ContainsFunc(st.At.Terms, func(t kernel.Term) bool { return t.Var == a.Var }) {
					terms = append(terms, kernel.Term{Coef: behind, Var: a.Var})
					behind, _ = behind.Mul(a.Extent.Dim)
				}
			}
			slices.Reverse(terms)
			st.Param, st.At = s.Operands[i].Stage, kernel.Access{Terms: terms}
		case *kernel.Loop:
			s.rewrite(st.Body, loopsOf(loops, scalar.None, st.Axis), rows)
		case *kernel.Reduce:
			s.rewrite(st.Body, loopsOf(loops, st.Chunk, st.Axes...), rows)
		case *kernel.Iterate:
			s.rewrite(st.Body, loops, rows)
		case *kernel.If:
			s.rewrite(st.Then, loops, rows)
			s.rewrite(st.Else, loops, rows)
		}
	}
}
