package schedule

import (
	"fmt"
	"math"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Strip is a parallel loop over columns whose body is reductions across rows, which wait for nothing of each other, and
// what follows them: Note [Outer-axis reductions] in codegen/llvm/reduce.
type Strip struct {
	Before []kernel.Stmt
	After  []kernel.Stmt
	Sums   []StripSum
	Lanes  int64               // chunk results kept; 0 when the kernel finds out how many
	Slots  int64               // that it has for them then, in all columns of a strip
	Bytes  int64               // that the running sums of a column take
	size   int64               // bytes of the widest of them
	Rare   map[*kernel.If]bool // branches in the reductions, see Note [Speculation] in codegen/llvm/loops

	Width   int   // columns of one vector
	Rest    int   // columns of one vector in the epilogue
	Columns int64 // of a strip, at most
	Rows    int64 // that are added at once
	Ahead   int64 // so many times as many rows later are asked for; 0: none
}

// StripSum is one of the reductions.
type StripSum struct {
	Reduce *kernel.Reduce
	Size   int64      // of a running sum, in bytes
	Slot   int64      // of a column, in bytes, that those before it take
	Narrow *NarrowSum // the sum as a narrowed one, or nil
}

// NarrowSum is the sum of upper halves: Note [Narrowed accumulators] in codegen/llvm/reduce.
type NarrowSum struct {
	X  kernel.Ref // of an i64
	By int64      // the shift, less 32
}

// StripOf recognises such a body; for any other, and where plain loops do as well, it says why it is none. The sizes
// are those of a directive, or chosen where it is nil.
func (c Code) StripOf(v kernel.Ref, body *kernel.Block, d *kernel.Directive) (*Strip, string) {
	sh, ok := analysis.CanVectorise(c.Types, v, body)
	switch {
	case !ok:
		return nil, "neighbouring columns may take different ways"
	case sh.Long:
		return nil, "the elements of a reduction are neighbours themselves"
	case !sh.Columns:
		return nil, "there is no long reduction down columns"
	}
	s := &Strip{Rare: map[*kernel.If]bool{}}
	if !c.stripParts(s, body) {
		return nil, "what is beside the reductions has loops, checks or stores between them"
	}
	if why := c.stripSums(s); why != "" {
		return nil, why
	}
	if why := c.stripSizes(s, d); why != "" {
		return nil, why
	}
	return s, ""
}

// rows is how many rows are reduced; very many where that is not known.
func (s *Strip) rows() (n int64, known bool) {
	if n, known = analysis.ReduceCount(s.Sums[0].Reduce); !known {
		n = math.MaxInt64 - kernel.Columns.Chunk()
	}
	return n, known
}

// stripSums merges the bodies of the reductions and finds how many chunk results they have; or it says why they do not
// go together.
func (c Code) stripSums(s *Strip) (why string) {
	one := s.Sums[0].Reduce
	n, known := s.rows()
	if n == 0 {
		return "there are no rows"
	}
	s.size = 1
	var reduces []*kernel.Reduce
	for _, sum := range s.Sums {
		o := sum.Reduce
		if len(o.Axes) != 1 || o.Order == kernel.Lanes || o.Order != one.Order || !analysis.SameSpace(one, o) {
			return "the reductions are not over the same rows"
		}
		s.size = max(s.size, int64(analysis.ArithmeticType(o.Type).Bytes()))
		if analysis.IsArgument(o) {
			s.size = max(s.size, 4)
		}
		if _, ok := analysis.HotWork(o.Body, map[*kernel.If]bool{}); !ok {
			return "the body of a reduction does more than read and compute"
		}
		reduces = append(reduces, o)
	}
	for i, o := range transform.MergeBodies(reduces) {
		s.Sums[i].Reduce = o
	}
	work, _ := analysis.HotWork(s.Sums[0].Reduce.Body, s.Rare)
	if work > 12*len(s.Sums) || len(s.Sums) > c.Machine.Profile.Columns.Sums {
		return fmt.Sprintf("%d reductions of %d instructions are too much for the registers", len(s.Sums), work)
	}
	s.Lanes = 1
	if one.Order == kernel.Columns && one.Chunk == scalar.None {
		pieces := (n + kernel.Columns.Chunk() - 1) / kernel.Columns.Chunk()
		s.Lanes = min(pieces, kernel.NumLanes)
		if !known {
			s.Lanes = 0
		} else if pieces > kernel.Lanes.Chunk() {
			return "the chunk results have more than one level"
		}
	}
	return ""
}

// stripSizes chooses the sizes, or takes those of a directive as far as there is room for them; or it says why plain
// loops do as well.
func (c Code) stripSizes(s *Strip, d *kernel.Directive) (why string) {
	p := c.Machine.Profile.Columns
	one := s.Sums[0].Reduce
	registers := 4
	if len(s.Sums) > 1 || len(s.Rare) > 0 || analysis.IsArgument(one) && one.Type.IsFloat() {
		registers = 2
	}
	s.Width = registers * c.Machine.VectorBits / 8 / int(s.size)
	s.Rest = s.Width
	if len(s.After) > c.Machine.Profile.Reduce.LongBody {
		s.Rest = min(s.Width, max(int(64/s.size), 4))
	}
	if d != nil {
		s.Width, s.Rest = int(d.Get("width")), int(min(d.Get("rest"), d.Get("width")))
	}
	why = c.stripRoom(s)
	for ; d != nil && why != "" && s.Width > 4; why = c.stripRoom(s) {
		s.Width /= 2
		s.Rest = min(s.Rest, s.Width)
	}
	if why != "" {
		return why
	}
	s.Rows, s.Ahead = int64(p.Rows), int64(p.Ahead)
	switch few := c.Machine.Registers <= 16; {
	case len(s.Rare) == 0 && c.near(s, int64(p.NearBytes)):
		s.Rows, s.Ahead = int64(p.NearRows), 0
	case len(s.Rare) > 0 && few && c.near(s, int64(c.Machine.L2)):
		s.Rows, s.Ahead = int64(p.SecondRows), 0
	case len(s.Rare) > 0 && few:
		s.Ahead = 0
	}
	if n, _ := s.rows(); n < 2*int64(p.Rows) && len(s.Rare) == 0 {
		return fmt.Sprintf("there are %d rows, fewer than %d", n, 2*p.Rows)
	}
	if d != nil {
		s.Columns = max(min(s.Columns, d.Get("columns")/int64(s.Width)*int64(s.Width)), int64(s.Width))
		s.Rows, s.Ahead = d.Get("rows"), d.Get("ahead")
	}
	return ""
}

// stripRoom gives each sum its place among the running sums, and says why vectors of that width have no room.
func (c Code) stripRoom(s *Strip) (why string) {
	p := c.Machine.Profile.Columns
	n, _ := s.rows()
	s.Bytes = 0
	for i := range s.Sums {
		o := &s.Sums[i]
		o.Slot, o.Size, o.Narrow = s.Bytes, s.size, nil
		if s.Lanes == 1 && s.Rest == s.Width && s.Width%8 == 0 && len(s.Rare) == 0 {
			if o.Narrow = c.narrowSumOf(o.Reduce, s.Sums[0].Reduce.Body, n); o.Narrow != nil {
				o.Size = 4
			}
		}
		s.Bytes += o.Size
		if analysis.IsArgument(o.Reduce) {
			s.Bytes += o.Size
		}
	}
	bytes := p.StripBytes
	if n <= int64(p.FewRows) && len(s.Rare) == 0 && c.near(s, int64(p.NearBytes)) {
		bytes = p.FewBytes
	}
	s.Columns = min(int64(bytes)/s.size, int64(p.ResultsBytes)/s.Bytes/max(s.Lanes, 1))
	s.Columns = s.Columns / int64(s.Width) * int64(s.Width)
	s.Slots = int64(p.ResultsBytes) / s.Bytes
	if s.Lanes == 0 && s.Slots/kernel.NumLanes < int64(s.Width) {
		return "the chunk results of a vector of columns have no room"
	}
	if s.Columns < int64(s.Width) {
		return "the running sums of a vector of columns have no room"
	}
	return ""
}

// stripParts takes the body apart into the reductions, what is before and what is after them. A sum that stays zero has
// no place.
func (c Code) stripParts(s *Strip, body *kernel.Block) bool {
	last := -1
	for i, st := range body.Stmts {
		switch st := st.(type) {
		case *kernel.Reduce:
			if last = i; !c.addsNothing(st) {
				s.Sums = append(s.Sums, StripSum{Reduce: st})
			}
		case *kernel.Loop, *kernel.Iterate, *kernel.Call:
			return false
		case *kernel.If:
			if !analysis.Pure(st.Then) || !analysis.Pure(st.Else) {
				return false
			}
		}
	}
	if len(s.Sums) == 0 {
		return false
	}
	results := map[kernel.Ref]bool{}
	for _, st := range body.Stmts[:last+1] {
		switch st := st.(type) {
		case *kernel.Reduce:
			if c.addsNothing(st) {
				nothing := scalar.Instr{Op: scalar.Const, Type: st.Type,
					Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
				s.Before = append(s.Before, &kernel.Let{ID: st.ID, In: nothing, Site: -1})
				continue
			}
			if analysis.Reads(st, results) {
				return false
			}
			analysis.Define(results, st)
		case *kernel.Let, *kernel.Load, *kernel.DimValue:
			if analysis.ReadsAny(st, results) {
				analysis.Define(results, st)
				s.After = append(s.After, st)
			} else {
				s.Before = append(s.Before, st)
			}
		case *kernel.If:
			analysis.Define(results, st)
			s.After = append(s.After, st)
		default:
			return false
		}
	}
	s.After = append(s.After, body.Stmts[last+1:]...)
	return true
}

// near reports that caches of so many bytes hold what the reductions read.
func (c Code) near(s *Strip, most int64) bool {
	bytes, seen := int64(0), map[int]bool{}
	for _, sum := range s.Sums {
		kernel.Each(sum.Reduce.Body, func(l *kernel.Load) {
			n, known := c.SizeOf(l.Param)
			if !known {
				n = most + 1
			}
			if !seen[l.Param] {
				bytes, seen[l.Param] = bytes+min(n, most+1), true
			}
		})
	}
	return bytes <= most
}

// addsNothing reports that r adds zeros, as the third sum of products that have two parts.
func (c Code) addsNothing(r *kernel.Reduce) bool {
	lets, taken := map[kernel.Ref]*scalar.Instr{}, map[kernel.Ref]kernel.Ref{} // of a branch that is settled
	kernel.Each(r.Body, func(st *kernel.Let) { lets[st.ID] = &st.In })
	kernel.Each(r.Body, func(st *kernel.If) {
		for i, id := range st.IDs {
			if st.ThenVals[i] == st.ElseVals[i] {
				taken[id] = st.ThenVals[i]
			}
		}
	})
	x := r.Val
	for {
		in := lets[x]
		if in == nil {
			in = c.Lets[x]
		}
		if to, ok := taken[x]; ok {
			x = to
		} else if in != nil && in.Op == scalar.Bitcast {
			x = in.Args[0]
		} else {
			return in != nil && in.Op == scalar.Const && in.Imm == 0 && r.Kind == ir.ReduceSum && r.Type.IsInt()
		}
	}
}

// narrowSumOf recognises the sum of n elements by its body, in which something before it may be computed.
func (c Code) narrowSumOf(r *kernel.Reduce, body *kernel.Block, n int64) *NarrowSum {
	if c.Machine.VectorBits != 256 || r.Kind != ir.ReduceSum || r.Type != types.I64 {
		return nil
	}
	in := map[kernel.Ref]*scalar.Instr{}
	for _, st := range body.Stmts {
		if l, ok := st.(*kernel.Let); ok {
			in[l.ID] = &l.In
		}
	}
	shift := in[r.Val]
	if shift == nil || shift.Op != scalar.Shr {
		return nil
	}
	by := in[shift.Args[1]]
	if by == nil || by.Op != scalar.Const {
		by = c.Lets[shift.Args[1]]
	}
	if by == nil || by.Op != scalar.Const || by.Imm < 32 || by.Imm > 63 || n > 1<<(by.Imm-32) {
		return nil
	}
	return &NarrowSum{shift.Args[0], int64(by.Imm) - 32}
}

// strip is the directive for a loop over columns; nil for any other loop.
func (s *scope) strip(v kernel.Ref, b bounds, body *kernel.Block) *kernel.Directive {
	if s.vector {
		return nil
	}
	t, why := s.StripOf(v, body, nil)
	if t == nil {
		reduces := false
		for _, st := range body.Stmts {
			_, ok := st.(*kernel.Reduce)
			reduces = reduces || ok
		}
		if reduces {
			s.reject("strip", why)
		}
		return nil
	}
	if b.shorter(t.Width) && !s.Machine.Masks() {
		s.reject("strip", fmt.Sprintf("%d columns are no vector of %d", b.hi-b.lo, t.Width))
		return nil // a mask takes the few columns that are no vector of a strip
	}
	return kernel.NewDirective("strip", v, int64(t.Width), t.Columns, t.Rows, int64(t.Rest), t.Ahead).
		Because(fmt.Sprintf("the running sums of %d reductions down columns take %d bytes of the first-level cache",
			len(t.Sums), t.Columns*t.Bytes))
}
