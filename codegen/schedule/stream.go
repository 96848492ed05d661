package schedule

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// PastCaches reports that an output may go past the caches: the plan has marked it, and it is none that the processor
// had better keep there. Where that is a question of extents that are not known, the kernel asks when it runs.
func (c Code) PastCaches(param int) bool {
	if !c.Params[param].Stream {
		return false
	}
	all, written, known := transform.Moved(c.Params)
	return !known || all > int64(c.Machine.Profile.Stores.WrittenMost) || Mostly*(all-written) > written
}

// Mostly is how many times as much a kernel writes as it reads that mostly writes.
const Mostly = 3

// Streams returns the stores of body that go past the caches when body is vectorised over v: those directly in
// it, to neighbouring elements, at places that are known before the loop.
func (c Code) Streams(v kernel.Ref, body *kernel.Block) []*kernel.Store {
	var out []*kernel.Store
	inside := map[kernel.Ref]bool{}
	for _, s := range body.Stmts {
		analysis.Define(inside, s)
	}
	for _, s := range body.Stmts {
		st, ok := s.(*kernel.Store)
		if !ok || !c.PastCaches(st.Param) {
			continue
		}
		next := false
		for _, t := range st.At.Terms {
			next = next || t.Var == v && t.Coef.IsConst(1)
			ok = ok && !inside[t.Var] && (t.Var != v || t.Coef.IsConst(1))
		}
		if ok && next {
			out = append(out, st)
		}
	}
	return out
}

// streams are the directives for the stores of a loop that go past the caches. A row of few vectors is not worth
// looking for its lines.
func (s *scope) streams(v kernel.Ref, body *kernel.Block, b bounds, w int) []*kernel.Directive {
	least := s.Machine.Profile.Stores.LeastVectors
	if s.tiled {
		least = 1
	}
	stores := s.Streams(v, body)
	if s.InPlace() || len(stores) == 0 || b.shorter(least*w) {
		return nil
	}
	var out []*kernel.Directive
	for _, st := range stores {
		if kernel.Directives(out).OfBuffer("stream", st.Param) == nil {
			out = append(out, (&kernel.Directive{Kind: "stream", On: scalar.None, Param: st.Param}).
				Because("the result is larger than the caches, and a plain store reads each line that it writes"))
		}
	}
	return out
}
