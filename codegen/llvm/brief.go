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
// and surely does little, it gets code that takes less time to make: at -O0 behind a short pipeline, and where it does even
// less, one iteration at a time, as one module and without any pipeline. That is half of the text, which counts for every stage from writing
// it to encoding instructions, and what is not vectors, LLVM selects without a graph. docs/performance.md has the times.
// The bits are the same: LLVM changes no float operation at any level, and vectors do what the single elements do.

// Effort is how much time making code may take for what it saves when the code runs.
type Effort uint8

// The efforts.
const (
	Full  Effort = iota
	Quick        // a third of the time, for code that may be ten times slower
	Least        // half of that, for code that is slower by another vector width
)

func (e Effort) String() string { return [...]string{"full", "quick", "least"}[e] }

// QuickPipeline is what Pipeline is for programs that run briefly.
const QuickPipeline = "always-inline,function(sroa,early-cse,simplifycfg)"

// The estimated times of a program, in picoseconds, below which more effort takes longer than it saves. The estimates are those of
// vector code at -O3.
const (
	quickTime = 50_000_000
	leastTime = 10_000_000
)

// EffortFor is the effort that a program that runs once is worth. It is less than Full for one that surely takes less time than it
// takes to optimise it: all extents are known, no loop that runs until something holds may have many steps, nothing recurses, and the
// estimates of the plan are low.
func EffortFor(km *kernel.Module) Effort {
	if km.Plan == nil || len(km.Dims) > 0 || len(km.Funcs) > 0 || len(km.Plan.Funcs) > 1 {
		return Full
	}
	for _, k := range km.Kernels {
		if endless(k.Body, map[kernel.Ref]bool{}) {
			return Full
		}
	}
	switch sum, ok := stepsTime(km.Plan.Funcs[0].Steps); {
	case !ok:
		return Full
	case sum < leastTime:
		return Least
	case sum < quickTime:
		return Quick
	}
	return Full
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
			if n >= quickTime { // no product that overflows
				return 0, false
			}
			sum += n * l.IndexTime()
		}
		if sum >= quickTime {
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
