package transform

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
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
