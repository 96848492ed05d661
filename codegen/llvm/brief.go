package llvm

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Brief programs]
//
// Compiling a small kernel takes LLVM some milliseconds, most of them in instruction selection, scheduling and
// register allocation at -O3, and running it often takes a microsecond. Where a program runs once, as `healc run` does,
// and surely does little, it gets code at -O0 behind a short pipeline: for the ten-line program of tests/bench 6 ms
// instead of 16 in a new process, and 30 ms instead of 39 for the process (Xeon at 2.6 GHz, LLVM 19, November 2026).
// The bits are the same: the text is, and LLVM changes no float operation at any level.

// QuickPipeline is what Pipeline is for programs that run briefly.
const QuickPipeline = "always-inline,function(sroa,early-cse,simplifycfg)"

// briefTime is the estimated time of a program, in picoseconds, below which optimising it takes longer than it saves:
// code at -O0 takes some ten times as long.
const briefTime = 50_000_000

// Brief reports whether a program surely takes less time than it takes to optimise it: all extents are known, no loop that
// runs until something holds may have many steps, nothing recurses, and the estimates of the plan are low.
func Brief(km *kernel.Module) bool {
	if km.Plan == nil || len(km.Dims) > 0 || len(km.Funcs) > 0 || len(km.Plan.Funcs) > 1 {
		return false
	}
	for _, k := range km.Kernels {
		if endless(k.Body, map[kernel.Ref]bool{}) {
			return false
		}
	}
	sum, ok := stepsTime(km.Plan.Funcs[0].Steps)
	return ok && sum < briefTime
}

// stepsTime adds up the estimates of kernels. ok is false when a loop around them runs as often as it turns out.
func stepsTime(steps []abi.Step) (sum int64, ok bool) {
	for i := range steps {
		s := &steps[i]
		if s.Loop != nil || s.Call != nil {
			return 0, false
		}
		if s.If != nil {
			a, ok1 := stepsTime(s.If.Then)
			b, ok2 := stepsTime(s.If.Else)
			if !ok1 || !ok2 {
				return 0, false
			}
			sum += max(a, b)
		}
		if l := s.Launch; l != nil {
			n, known := l.Outer.Dim.Const()
			if !known {
				return 0, false
			}
			if l.Outer.Div > 1 {
				n = (n-1)/l.Outer.Div + 1
			}
			if n >= briefTime { // no product that overflows
				return 0, false
			}
			sum += n * l.IndexTime()
		}
		if sum >= briefTime {
			return 0, false
		}
	}
	return sum, true
}

// assumedSteps is how many steps the estimates of the plan take a loop for that runs until something holds.
const assumedSteps = 1024

// endless reports that a loop in b may have more steps than the estimates count, or that something recurses. few has the
// constants around it that are no more than that.
func endless(b *kernel.Block, few map[kernel.Ref]bool) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.Let:
			if s.In.Op == scalar.Const && int64(s.In.Imm) >= 0 && int64(s.In.Imm) <= assumedSteps {
				few[s.ID] = true
			}
		case *kernel.Iterate:
			if !few[s.Count] || endless(s.Body, few) {
				return true
			}
		case *kernel.Call:
			return true
		case *kernel.Loop:
			if endless(s.Body, few) {
				return true
			}
		case *kernel.Reduce:
			if endless(s.Body, few) {
				return true
			}
		case *kernel.If:
			if endless(s.Then, few) || endless(s.Else, few) {
				return true
			}
		}
	}
	return false
}
