package schedule

import (
	"fmt"
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Prefetch]
//
// A processor's own prefetcher stops at each page of 4 KiB, and finds the next one again only when the loop is there. A
// copy does not feel it: its loads run far ahead of its arithmetic. A loop that computes much for each element fills
// the reorder window within half a kilobyte, and then the times of memory and of arithmetic add up. So loops over large
// buffers fetch their input a page ahead. It costs an instruction a line. A prefetch behind the end does not fault.
//
// The processor reads two or more inputs better without being asked, as long as its window reaches over enough lines of
// each. The number of vector instructions for a line of each input divides the two cases (lineWork). The measurements
// are in docs/tuning/prefetch.md.

// prefetches are the directives for the loads of a loop that fetch ahead: those that stand in its body itself, where
// they read one large buffer, or several with much to compute. Those of loops inside go another way. known leaves out
// buffers of which the size is not known.
func (s *scope) prefetches(v kernel.Ref, body *kernel.Block, known bool) []*kernel.Directive {
	p := s.Machine.Profile.Prefetch
	var out []*kernel.Directive
	large := s.largeInputs(body, !known)
	for _, param := range large {
		out = append(out, prefetch(param, 1).Set("ahead", int64(p.Distance)).Because("the processor's own "+
			"prefetcher stops at each page, and the input is larger than the caches"))
	}
	if len(large) > 1 {
		if work, least := s.lineWork(v, body), s.Machine.Profile.Prefetch.TwoInputs; work < least {
			s.reject("prefetch", fmt.Sprintf("%d instructions for a line of each of %d inputs, which the processor "+
				"reads better by itself below %d", work, len(large), least))
			return nil
		}
	}
	return out
}

// largeInputs are the buffers that the loads in a body itself read and that are larger than the caches, those of no
// known size with them where unknown says so. Memory of the kernel itself is in the caches.
func (s *scope) largeInputs(body *kernel.Block, unknown bool) []int {
	var out []int
	for _, st := range body.Stmts {
		l, ok := st.(*kernel.Load)
		if !ok || slices.Contains(out, l.Param) || s.Params[l.Param].Local {
			continue
		}
		n, sized := s.SizeOf(l.Param)
		if sized && n >= int64(s.Machine.Profile.Prefetch.LargeInput) || !sized && unknown {
			out = append(out, l.Param)
		}
	}
	return out
}

// readAhead are the directives for the loads of a reduction that fetch ahead.
func (s *scope) readAhead(body *kernel.Block) []*kernel.Directive {
	ahead := int64(s.Machine.Profile.Reduce.Ahead)
	if ahead == 0 || s.brief {
		return nil
	}
	var out []*kernel.Directive
	for _, param := range s.largeInputs(body, true) {
		out = append(out, prefetch(param, 1).Set("ahead", ahead).
			Because("the processor's own prefetcher reads slower by itself"))
	}
	return out
}

// prefetch is a directive for a buffer, to a level of the caches.
func prefetch(param int, level int64) *kernel.Directive {
	return &kernel.Directive{Kind: "prefetch", On: scalar.None, Param: param,
		Args: []kernel.Arg{{Name: "level", Value: level}}}
}

// lineWork is about how many vector instructions the loop over v has for a line of each input, rare arms left out.
func (s *scope) lineWork(v kernel.Ref, body *kernel.Block) int {
	a := &analysis.Analysis{Types: s.Types, Wide: map[kernel.Ref]bool{v: true}}
	if _, ok := a.Block(body); !ok {
		return 0
	}
	var count func(b *kernel.Block) int
	count = func(b *kernel.Block) (n int) {
		for _, st := range b.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				switch {
				case !a.Wide[st.ID] || st.In.Op == scalar.Bitcast:
				case st.In.Op == scalar.MulHi: // of products of even and odd elements, or of four of halves
					n += s.Types[st.ID].Bytes() * 2
				default:
					n++
				}
			case *kernel.If:
				n += count(st.Else)
				if len(st.Then.Stmts) < kernel.RareArm {
					n += count(st.Then)
				}
			}
		}
		return n
	}
	return count(body) * LineBytes * 8 / s.Machine.VectorBits
}

// Note [The next row]
//
// A kernel that goes over each row several times reads memory in the first loop alone. In the others the row is in the
// cache, and the processor, which fetches ahead of what it sees being read, fetches nothing: memory rests while the
// exponentials of a softmax are computed. So the second loop over a row asks for the lines of the next row as it goes,
// one for each line that it reads again. Asking is an instruction of the load ports, which have time there, and does no
// harm behind the last row: what is not mapped is not fetched. Where the length of a row is a shape parameter, one that
// is too short or too long asks for what it reads itself.

// A kernel that goes through memory once asks for nothing: the processor sees that by itself, and asking slows some
// processors down (docs/tuning/prefetch.md).

// NextRows finds the loads of k that ask for the next row, and how far away that is, in elements.
func (c Code) NextRows(k *kernel.Kernel) map[*kernel.Load]types.Dim {
	out := map[*kernel.Load]types.Dim{}
	if len(k.Axes) > 0 {
		c.nextRowsIn(k, k.Body, out)
	}
	return out
}

// nextRowsIn is NextRows for a block, and for those behind a question (Note [Row caching for any length] in
// ir/kernel/transform).
func (c Code) nextRowsIn(k *kernel.Kernel, b *kernel.Block, out map[*kernel.Load]types.Dim) {
	row := k.Axes[len(k.Axes)-1].Var
	type stream struct {
		param int
		at    string
	}
	seen := map[stream]int{}
	for _, st := range b.Stmts {
		var axis kernel.Axis
		var body *kernel.Block
		switch st := st.(type) {
		case *kernel.If:
			c.nextRowsIn(k, st.Then, out)
			c.nextRowsIn(k, st.Else, out)
			continue
		case *kernel.Reduce:
			if len(st.Axes) != 1 {
				continue
			}
			axis, body = st.Axes[0], st.Body
		case *kernel.Loop:
			if !st.Parallel {
				continue
			}
			axis, body = st.Axis, st.Body
		default:
			continue
		}
		mine := map[stream]bool{}
		for _, in := range body.Stmts {
			l, ok := in.(*kernel.Load)
			if !ok || k.Params[l.Param].Out {
				continue
			}
			far, ok := RowDistance(l.At, row, axis.Var)
			if n, known := far.Const(); !ok || known && !c.isAhead(max(n, -n)*int64(k.Params[l.Param].DType.Bytes())) {
				continue
			}
			s := stream{l.Param, l.At.Offset.String()}
			if seen[s] == 1 && !mine[s] {
				out[l] = far
			}
			mine[s] = true
		}
		for s := range mine {
			seen[s]++
		}
	}
}

// isAhead reports that rows of so many bytes are asked for.
func (c Code) isAhead(bytes int64) bool {
	p := c.Machine.Profile.Prefetch
	return bytes >= int64(p.RowLeast) && bytes <= int64(p.RowMost)
}

// RowDistance gives the distance between rows of an access to neighbours along a row.
func RowDistance(at kernel.Access, row, along kernel.Ref) (far types.Dim, ok bool) {
	next := false
	for _, t := range at.Terms {
		switch t.Var {
		case row:
			far = t.Coef
		case along:
			next = t.Coef.IsConst(1)
		}
	}
	return far, next && !far.IsConst(0)
}

// Note [Gathered rows]
//
// A gather of rows reads one row after the other from places that stand in memory:
//
//	%3 = load at[i]; parallel j { y[i, j] = x[%3, j] }
//
// No processor fetches such rows ahead. So each row asks, a line at a time as it goes, for the row that comes
// gatherAhead bytes later, in the second-level cache: the first level has too few places for what is on its way
// (docs/tuning/prefetch.md). The number of that row is read where another iteration reads it, and is not checked: a
// prefetch never faults.

// Gathered is a load along rows, the number of which stands in memory.
type Gathered struct {
	Load   *kernel.Load
	Number *kernel.Load // reads it, from one place after the other along the axis
	Value  kernel.Ref   // of Number, as an I64
	Size   int64        // elements of a row: what the number is multiplied by
}

// GatheredRows finds the loads in a parallel loop of the body of k that go along gathered rows of a large buffer.
func (c Code) GatheredRows(k *kernel.Kernel) map[*kernel.Loop][]Gathered {
	if len(k.Axes) == 0 {
		return nil
	}
	axis := k.Axes[len(k.Axes)-1].Var
	numbers := map[kernel.Ref]*kernel.Load{}
	out := map[*kernel.Loop][]Gathered{}
	for _, st := range k.Body.Stmts {
		switch st := st.(type) {
		case *kernel.Load:
			d := k.Params[st.Param].DType
			for _, t := range st.At.Terms {
				if t.Var == axis && t.Coef.IsConst(1) && !k.Params[st.Param].Out && (d == types.I32 || d == types.I64) {
					numbers[st.ID] = st
				}
			}
		case *kernel.Let:
			if n := numbers[st.In.Args[0]]; st.In.Op == scalar.Cast && st.In.Type == types.I64 && n != nil {
				numbers[st.ID] = n
			}
		case *kernel.Loop:
			if !st.Parallel {
				continue
			}
			for _, in := range st.Body.Stmts {
				if l, ok := in.(*kernel.Load); ok && !k.Params[l.Param].Out {
					if r, ok := c.gatheredAlong(l, st.Axis.Var, numbers); ok {
						out[st] = append(out[st], r)
					}
				}
			}
		}
	}
	return out
}

// gatheredAlong is one load of GatheredRows.
func (c Code) gatheredAlong(l *kernel.Load, along kernel.Ref, numbers map[kernel.Ref]*kernel.Load) (Gathered,
	bool) {
	out, next := Gathered{Load: l}, false
	for _, t := range l.At.Terms {
		by, known := t.Coef.Const()
		switch n := numbers[t.Var]; {
		case t.Var == along:
			next = by == 1 && known
		case n != nil && known && c.Types[t.Var] == types.I64 && out.Number == nil:
			out.Number, out.Value, out.Size = n, t.Var, by
		default:
			return out, false
		}
	}
	bytes := out.Size * int64(c.Params[l.Param].DType.Bytes())
	buffer, known := c.SizeOf(l.Param)
	p := c.Machine.Profile.Prefetch
	if !next || out.Number == nil || bytes < 1 || bytes > int64(p.RowMost) || known && buffer < int64(p.LargeInput) {
		return out, false
	}
	return out, true
}

// nextRows are the directives for loads that ask for the next row.
func (s *scope) nextRows() []*kernel.Directive {
	var out []*kernel.Directive
	for l := range s.NextRows(s.k) {
		if kernel.Directives(out).OfBuffer("prefetch", l.Param) == nil {
			out = append(out, prefetch(l.Param, 1).Set("row", 1).
				Because("a row is read several times, and memory rests after the first"))
		}
	}
	slices.SortFunc(out, func(x, y *kernel.Directive) int { return x.Param - y.Param })
	return out
}

// gatheredRows are the directives for loads along rows whose numbers stand in memory.
func (s *scope) gatheredRows() []*kernel.Directive {
	p := s.Machine.Profile.Prefetch
	var out []*kernel.Directive
	for _, rows := range s.GatheredRows(s.k) {
		for _, r := range rows {
			bytes := r.Size * int64(s.Params[r.Load.Param].DType.Bytes())
			if kernel.Directives(out).OfBuffer("prefetch", r.Load.Param) == nil {
				out = append(out, prefetch(r.Load.Param, 2).
					Set("gathered", min(max(int64(p.Gathered)/bytes, 1), int64(p.GatheredRows))).
					Because("no processor fetches rows ahead whose numbers stand in memory"))
			}
		}
	}
	slices.SortFunc(out, func(x, y *kernel.Directive) int { return x.Param - y.Param })
	return out
}
