package llvm

import (
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/runtime/abi"
)

// Note [Effort]
//
// Compiling a small kernel takes LLVM some milliseconds, most of them in instruction selection, scheduling and register
// allocation at -O3, and running it often takes a microsecond. Where a program runs once, as `healc run` does, a kernel
// that surely does little gets code that takes less time to make: at -O0 behind a short pipeline, and where it does
// even less, one iteration at a time, as one module and without any pipeline. That is half of the text, which counts
// for every stage from writing it to encoding instructions, and LLVM selects instructions for scalar code without a
// graph. The times are in docs/tuning/compile-effort.md. The bits are the same: LLVM changes no float operation at any
// level, and vectors compute as single elements do.

// Effort says how long compiling may take, in relation to the time that it saves when the code runs.
type Effort uint8

// The efforts.
const (
	Full  Effort = iota
	Quick        // a third of the time, for code that may be ten times slower
	Least        // half of that, for code that is slower by another vector width
)

func (e Effort) String() string { return [...]string{"full", "quick", "least"}[e] }

// QuickPipeline is the pass pipeline for programs that run briefly.
const QuickPipeline = "always-inline,function(sroa,early-cse,simplifycfg)"

// quickTime and leastTime are the estimated times of a kernel, in picoseconds, below which more effort takes longer
// than it saves. The estimates are those of vector code at -O3.
func quickTime() int64 { return int64(profile.Base().Effort.Quick) * picoseconds }
func leastTime() int64 { return int64(profile.Base().Effort.Least) * picoseconds }

const picoseconds = 1e6 // of a microsecond

// EffortFor is the effort that a program that runs once is worth where all of its kernels are compiled alike: the most
// of EffortsFor.
func EffortFor(km *kernel.Module) Effort {
	e := Least
	for _, one := range EffortsFor(km) {
		e = min(e, one)
	}
	return e
}

// EffortsFor is the effort that each kernel of a program that runs once is worth, by its name. It is less than Full for
// one that surely takes less time than it takes to optimise it: all extents are known, no loop that runs until
// something holds may have many steps, nothing recurses, no loop of the plan has it in its steps, and the estimates of
// its launches are low.
func EffortsFor(km *kernel.Module) map[string]Effort {
	out := map[string]Effort{}
	times := map[string]int64{}
	if km.Plan != nil && len(km.Dims) == 0 && len(km.Plan.Funcs) > 0 {
		launchTimes(km.Plan.Funcs[0].Steps, times, false)
		for _, f := range km.Plan.Funcs[1:] {
			launchTimes(f.Steps, times, true)
		}
	} else if km.Plan == nil || len(km.Dims) > 0 {
		times = nil
	}
	for _, k := range km.Kernels {
		switch t := times[k.Name]; {
		case times == nil, t >= quickTime(), endless(k.Body, map[kernel.Ref]bool{}):
			out[k.Name] = Full
		case t >= leastTime():
			out[k.Name] = Quick
		default:
			out[k.Name] = Least
		}
	}
	return out
}

// launchTimes adds up the estimates of each kernel, up to quickTime(). Where the number of steps turns out at run time,
// that is a lower bound.
func launchTimes(steps []abi.Step, times map[string]int64, often bool) {
	for i := range steps {
		s := &steps[i]
		if s.Loop != nil {
			launchTimes(s.Loop.Body, times, true)
		}
		if s.If != nil {
			launchTimes(s.If.Then, times, often)
			launchTimes(s.If.Else, times, often)
		}
		if l := s.Launch; l != nil {
			n, known := l.Outer.Dim.Const()
			if l.Outer.Div > 1 {
				n = (n-1)/l.Outer.Div + 1
			}
			t := quickTime()
			if !often && known && n < quickTime() { // no product that overflows
				t = n * l.IndexTime(&profile.Base().Threads)
			}
			times[l.Kernel] = min(times[l.Kernel]+min(t, quickTime()), quickTime())
		}
	}
}

// assumedSteps is how many steps the estimates of the plan take a loop for that runs until something holds.
const assumedSteps = 1024

// endless reports that a loop in b may have more steps than the estimates count, or that something recurses. few has
// the constants around it that are no more than that.
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
