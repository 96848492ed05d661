package loops

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/codegen/schedule"
	"healc/ir/kernel"
	"healc/lang/types"
)

// Prefetching has the lines that the loads of a function fetch ahead, beside the elements that they read.
type Prefetching struct {
	Ahead    map[*kernel.Load]Row // loads that ask for another row
	Gathered map[*kernel.Loop][]schedule.Gathered
	asked    map[*kernel.Load]value.Value       // loads of the loop that ask for a gathered row, and how far it is
	Last     kernel.Axis                        // of the kernel, for gathered rows
	fetched  map[*kernel.Load]*kernel.Directive // loads that fetch ahead of themselves
}

// prefetch is the directive for a buffer that has an argument; nil when there is none.
func prefetch(ds kernel.Directives, param int, arg string) *kernel.Directive {
	for _, d := range ds {
		if d.Kind == "prefetch" && d.Param == param && d.Get(arg) != 0 {
			return d
		}
	}
	return nil
}

// prefetchedLoads are the loads in the body of a loop itself that fetch ahead, as the schedule has it: Note [Prefetch]
// in codegen/schedule.
func prefetchedLoads(g *emit.Func, body *kernel.Block) map[*kernel.Load]*kernel.Directive {
	out := map[*kernel.Load]*kernel.Directive{}
	for _, s := range body.Stmts {
		if l, ok := s.(*kernel.Load); ok {
			if d := prefetch(g.Schedule, l.Param, "ahead"); d != nil {
				out[l] = d
			}
		}
	}
	return out
}

// FetchAhead writes a body whose loads fetch ahead, as the schedule has it.
func FetchAhead(g *emit.Func, body *kernel.Block, write func()) {
	f := emit.State[Prefetching](g)
	around := f.fetched
	f.fetched = prefetchedLoads(g, body)
	write()
	f.fetched = around
}

// Row is a row that a load asks for.
type Row struct {
	Far   types.Dim // elements from what is loaded
	Level int64     // ToL1 or ToL2
}

// RowOf is a row so far away, in the level of the caches that a directive names.
func RowOf(d *kernel.Directive, far types.Dim) Row { return Row{far, LevelOf(d)} }

// LevelOf is what the instruction calls the level of the caches that a directive names.
func LevelOf(d *kernel.Directive) int64 {
	if d.Get("level") == 1 {
		return ToL1
	}
	return ToL2
}

// ScheduledAccess is the access of processors with what schedules decided for some of them: loads that prefetch, stores
// past the caches, and small strides that are read by whole vectors.
type ScheduledAccess struct{ emit.Access }

func (a ScheduledAccess) Load(g *emit.Func, s *kernel.Load, first value.Value, step int64) value.Value {
	x := a.Access.Load(g, s, first, step)
	f := emit.State[Prefetching](g)
	if far := f.asked[s]; far != nil && step > 0 {
		PrefetchLinesTo(g, ToL2, s.Param, g.Add(first, far), g.Width)
	} else if far, asks := f.Ahead[s]; asks && step > 0 {
		PrefetchLinesTo(g, far.Level, s.Param, g.Add(first, aheadBy(g, far, g.Params[s.Param].DType)), g.Width)
	} else if d := f.fetched[s]; d != nil {
		bytes := int64(g.Params[s.Param].DType.Bytes())
		at := g.Add(first, build.Int(build.I64, step*d.Get("ahead")/bytes))
		PrefetchLinesTo(g, LevelOf(d), s.Param, at, g.Width)
	}
	return x
}

func (a ScheduledAccess) Store(g *emit.Func, s *kernel.Store, x, first value.Value) {
	if g.Mask == nil && emit.State[Streaming](g).Streamed[s] {
		StreamLines(g, x, g.VectorAddress(s.Param, first), g.Params[s.Param].DType)
		return
	}
	a.Access.Store(g, s, x, first)
}

func (ScheduledAccess) Strided(g *emit.Func, param int, d types.DType, base value.Value, step int64) value.Value {
	if step < -schedule.MaxShuffled || step > schedule.MaxShuffled || g.Width < 4 {
		return nil
	}
	return shuffled(g, param, d, base, step)
}
