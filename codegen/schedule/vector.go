package schedule

import (
	"fmt"
	"healc/ir/scalar"
	"math"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// vectorWidth is the number of iterations of v that one vector holds, 0 when body is not vectorised over it; why says
// what decided.
func (s *scope) vectorWidth(v kernel.Ref, body *kernel.Block) (w int, why string) {
	if s.vector {
		return 0, "the loop around it is vectors"
	}
	a := &analysis.Analysis{Types: s.Types, Wide: map[kernel.Ref]bool{v: true}}
	sh, ok := a.Block(body)
	switch {
	case !ok:
		return 0, "neighbouring iterations may take different ways: a check, a branch with effects or a call"
	case sh.Long:
		return 0, "a reduction inside is better vectors itself"
	case !a.StridedWork(s.Params, v, body):
		return 0, "the places in work memory depend on data"
	case analysis.InnerIsBetter(s.Types, v, body, s.Machine.Profile.Loops.InnerLeast):
		return 0, "the loop inside goes by neighbours where this one does not"
	case s.jammed > 0:
		return s.jammed, "as the rows that go side by side have registers for"
	case s.tiled:
		return max(min(s.widthOf(sh), LineBytes/max(sh.MaxBytes, 1)), 4), "a line of the tile"
	}
	w = s.widthOf(sh)
	why = fmt.Sprintf("%d instructions, elements of up to %d bytes", sh.Instrs, max(sh.MaxBytes, 1))
	if n := s.stepsWidth(v, body); n > 0 {
		return n, why + "; the steps inside read along rows"
	}
	switch {
	case sh.Loops:
		why += "; a loop inside carries a state, and several chains hide its latency"
	case s.Machine.VectorBits <= 128:
		w /= 2 // two or four registers, of 16 on most
	case s.pairs(sh) && sh.MaxBytes > 1 && sh.Instrs <= s.Machine.Profile.Loops.FoursMost:
		w *= 4
		why += "; four vectors at once wait less"
	case s.pairs(sh):
		w *= 2
		why += "; two vectors at once wait less"
	}
	return w, why
}

// widthOf is the number of iterations that a vector of a body holds.
func (s *scope) widthOf(sh analysis.Shape) int {
	w := 64 / max(sh.MaxBytes, 1)
	short := sh.Instrs <= s.Machine.Profile.Loops.ShortBody
	switch {
	case sh.Loops && short:
		return 4 * min(w, 16)
	case sh.Loops:
		return min(w, 16)
	case short:
		return 2 * w
	}
	return w
}

// pairs reports that a body of one vector is worth writing out for two. Where it is long, too many values lie in memory
// in between.
func (s *scope) pairs(sh analysis.Shape) bool {
	kind := sh.MaxBytes <= 4
	if s.Machine.VectorBits < 512 {
		kind = sh.Floats
	}
	p := &s.Machine.Profile.Loops
	return kind && sh.Instrs > p.ShortBody && sh.Instrs <= p.PairedMost
}

// Maskable reports that a vector of body over v can be masked.
func (c Code) Maskable(v kernel.Ref, body *kernel.Block) bool {
	if c.Machine.VectorBits < 256 || !c.Machine.Scale && !c.wideElements() {
		return false
	}
	a := &analysis.Analysis{Types: c.Types, Wide: map[kernel.Ref]bool{v: true}}
	if _, ok := a.Block(body); !ok {
		return false
	}
	neighbours := func(at kernel.Access) bool {
		for _, t := range at.Terms {
			if a.Wide[t.Var] && !t.Coef.IsConst(0) && !(t.Var == v && t.Coef.IsConst(1)) {
				return false
			}
		}
		return true
	}
	for _, s := range body.Stmts {
		switch s := s.(type) {
		case *kernel.Let, *kernel.DimValue:
		case *kernel.Load:
			if !neighbours(s.At) {
				return false
			}
		case *kernel.Store:
			if !neighbours(s.At) {
				return false
			}
		default: // loops, whose accesses would have to be looked at as well
			return false
		}
	}
	return true
}

// wideElements reports that all buffers have elements that AVX2 can mask.
func (c Code) wideElements() bool {
	for _, p := range c.Params {
		if p.DType.Bytes() < 4 {
			return false
		}
	}
	return true
}

// oneRegister is how many iterations of a body over v fill a register, where that is worth code of its own.
func (s *scope) oneRegister(v kernel.Ref, body *kernel.Block) int {
	sh, ok := analysis.CanVectorise(s.Types, v, body)
	if !ok || s.Machine.Masks() || s.brief || sh.Loops || sh.Long || sh.Instrs > s.Machine.Profile.Reduce.LongBody {
		return math.MaxInt
	}
	return max(s.Machine.VectorBits/8/max(sh.MaxBytes, 1), 4)
}

// tails are the directives for what does not fill a vector of w.
func (s *scope) tails(v kernel.Ref, body *kernel.Block, w int) []*kernel.Directive {
	var out []*kernel.Directive
	if n := s.oneRegister(v, body); n < w {
		out = append(out, kernel.NewDirective("remainder", scalar.None, int64(n)).
			Because("a vector is several registers, and a mask is slow to store under"))
	}
	if s.Maskable(v, body) {
		out = append(out, kernel.NewDirective("mask", scalar.None))
	}
	return out
}

// speculation is the directive for rare arms that are put off; nil where there are none.
func (s *scope) speculation(body *kernel.Block) *kernel.Directive {
	if s.brief || len(analysis.RareBranches(body)) == 0 {
		return nil
	}
	return kernel.NewDirective("speculate", scalar.None, int64(s.Machine.Profile.Loops.Speculated)).
		Because("operands that are no residues are rare, and asked for once a block")
}
