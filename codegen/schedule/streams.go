package schedule

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Streams is a loop over chunks or rows whose body is reductions, with what stands beside them: Note [Streams] in
// codegen/llvm/reduce.
type Streams struct {
	Before, After []kernel.Stmt // of the reductions
	Sums          []*kernel.Reduce
}

// MostShared is the longest body, in instructions, of reductions that share a loop.
const MostShared = 12

// StreamsOf recognises such a loop; for any other it says why it is none.
func (c Code) StreamsOf(v kernel.Ref, body *kernel.Block) (*Streams, string) {
	t := &Streams{}
	results := map[kernel.Ref]bool{}
	for _, st := range body.Stmts {
		switch s := st.(type) {
		case *kernel.Reduce:
			if why := c.streamed(v, s, results); why != "" {
				return nil, why
			}
			if len(t.Sums) > 0 && !c.sameLoop(t.Sums[0], s) {
				return nil, "reductions of one row go over different elements"
			}
			analysis.Define(results, s)
			t.Sums = append(t.Sums, s)
			continue
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return nil, "a row is checked"
			}
		case *kernel.Load, *kernel.DimValue:
		case *kernel.Store:
			t.After = append(t.After, st)
			continue
		default:
			return nil, "a row has branches or loops"
		}
		if analysis.ReadsAny(st, results) {
			analysis.Define(results, st)
			t.After = append(t.After, st)
		} else {
			t.Before = append(t.Before, st)
		}
	}
	if len(t.Sums) == 0 {
		return nil, "nothing is reduced"
	}
	return t, ""
}

// streamed says why a reduction in the loop over v cannot go along several rows at once; "" where it can.
func (c Code) streamed(v kernel.Ref, r *kernel.Reduce, results map[kernel.Ref]bool) string {
	w, sh := c.Along(r)
	switch {
	case w == 0:
		return "its elements go one by one"
	case sh.Instrs > MostShared:
		return fmt.Sprintf("%d instructions an element leave no registers", sh.Instrs)
	case r.Order == kernel.Columns:
		return "it goes down columns"
	case analysis.Reads(r, results):
		return "a row is gone over twice"
	case analysis.Stores(r.Body):
		return "elements are stored"
	case r.Chunk != scalar.None && r.Chunk != v:
		return "the loop is none over its chunks"
	case r.Chunk == v:
		return ""
	}
	n := int64(1)
	for _, a := range r.Axes {
		b := axisBounds(a)
		if !b.hiKnown || b.hi-b.lo > kernel.Lanes.Chunk() {
			return "a row is longer than a chunk, or of no known length"
		}
		n *= b.hi - b.lo
	}
	if n > kernel.Lanes.Chunk() || n < kernel.NumLanes || n <= analysis.Unrolled {
		return "a row is longer than a chunk, or shorter than its lanes"
	}
	return ""
}

// sameLoop says that reductions go over the same elements in the same vectors.
func (c Code) sameLoop(x, y *kernel.Reduce) bool {
	v, _ := c.Along(x)
	w, _ := c.Along(y)
	return v == w && analysis.SameSpace(x, y)
}

// readStreams is the directive for a loop that reads from several places at once; nil for any other.
func (s *scope) readStreams(v kernel.Ref, body *kernel.Block) *kernel.Directive {
	n := s.places(body)
	if n < 2 || s.vector || s.brief || s.InPlace() {
		return nil
	}
	t, why := s.StreamsOf(v, body)
	if t == nil {
		s.reject("streams", why)
		return nil
	}
	large := false
	for _, r := range t.Sums {
		large = large || len(s.largeInputs(r.Body, true)) > 0
	}
	if !large {
		s.reject("streams", "what is read is in the caches")
		return nil
	}
	return kernel.NewDirective("streams", v, int64(n)).
		Because("memory is read from several places at once, which are apart as far as can be")
}

// places is how many places the profile has for the reductions of body; 0 where there are none.
func (s *scope) places(body *kernel.Block) int {
	n := 0
	for _, st := range body.Stmts {
		if r, ok := st.(*kernel.Reduce); ok && r.Order != kernel.Any {
			return s.Machine.Profile.Reduce.Streams
		} else if ok {
			n = s.Machine.Profile.Reduce.FreeStreams
		}
	}
	return n
}
