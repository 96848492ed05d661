package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Stops puts what ends the program for some values of the shape parameters (ops.Stop) before everything that it does
// not have to come after: out of regions that run in every case, or as often as extents say, and to the beginning of
// blocks, but not before an effect. What a stop before makes sure of is not asked again.
//
// Requires: nothing, but runs after inline, which brings stops from functions. Establishes: a region has stops only
// where data decide whether it runs, or what stands before them has an effect.
//
//	%0: f32[M] = tabulate {shape = [M]} ^(%i: i32) {
//	  %1: bool = stop {where = [-N+1], ...}
//	  %2: f32[N-1] = slice %x {...}
//	  ...
//
// becomes
//
//	%0: bool = stop {where = [-N+1, M], ...}
//	%1: f32[M] = tabulate {shape = [M]} ^(%i: i32) {
//	  %2: f32[N-1] = slice %x {...}
//	  ...
func Stops(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		if !hasStop(f.Body) {
			continue
		}
		s := &stops{m: m, uses: ir.Uses(f.Body)}
		s.block(f.Body, nil)
		if s.moved > 0 {
			remark("%s: moved %s out of regions", ir.FormatSym(f.Name), types.Count(s.moved, "stop"))
		}
	}
	return nil
}

type stops struct {
	m     *ir.Module
	uses  map[*ir.Value][]ir.Use
	moved int
}

// block orders the operations of b. outside are the conditions of the stops that come before it.
func (s *stops) block(b *ir.Block, outside []types.Shape) {
	if !hasStop(b) {
		return
	}
	var out, first, rest []*ir.Op // of a part that ends with an effect: the stops, and what else there is
	flush := func() {
		out = append(append(out, first...), rest...)
		first, rest = nil, nil
	}
	done := slices.Clone(outside)
	take := func(op *ir.Op) {
		where, stops := simplified(op.Dims("where"))
		stops = stops && !slices.ContainsFunc(done, func(d types.Shape) bool { return includes(where, d) })
		if stops {
			attrs := named(op)
			attrs["where"] = where
			op.Attrs = op.Def.MakeAttrs(attrs)
			done = append(done, where)
		}
		if stops || len(s.uses[op.Result()]) > 0 {
			first = append(first, op)
		}
	}
	for _, op := range b.Ops {
		if op.Def == ops.Stop {
			take(op)
			continue
		}
		for i, r := range op.Regions {
			s.block(r, done)
			for _, in := range s.leave(op, i) {
				take(in)
			}
		}
		if s.m.HasEffect(op) {
			flush()
		}
		rest = append(rest, op)
		if s.m.HasEffect(op) {
			flush()
		}
	}
	flush()
	b.Ops = out
}

// leave takes the stops at the beginning of region i of op out of it, where op runs it in every case, or as often as
// extents say.
func (s *stops) leave(op *ir.Op, i int) []*ir.Op {
	r := op.Regions[i]
	n := slices.IndexFunc(r.Ops, func(in *ir.Op) bool { return in.Def != ops.Stop })
	if n < 0 {
		n = len(r.Ops)
	}
	when, ok := runs(op, i)
	if n == 0 || !ok {
		return nil
	}
	out := r.Ops[:n:n]
	r.Ops = r.Ops[n:]
	for _, in := range out {
		attrs := named(in)
		attrs["where"] = append(slices.Clone(in.Dims("where")), when...)
		in.Attrs = in.Def.MakeAttrs(attrs)
	}
	s.moved += n
	return out
}

// runs are numbers that are all at least 1 where region i of op runs, and only there. ok is false where there are none.
func runs(op *ir.Op, i int) (when types.Shape, ok bool) {
	switch {
	case op.Def == ops.Vjp, op.Def == ops.Jvp:
		return nil, true
	case op.Def == ops.Checkpoint, op.Def == ops.CustomVjp: // the second region of which is a derivative
		return nil, i == 0
	case op.Def == ops.Iterate:
		n, known := countOf(op.Args[0])
		return types.Shape{n}, known
	case op.Def.Space == nil:
		return nil, false
	}
	when = slices.Clone(op.Def.Space(op))
	if op.Def != ops.Fold && op.Def != ops.Scan || op.Flag("init") {
		return when, true
	}
	along := []int64{int64(len(when)) - 1} // the first element is the start
	if op.Def == ops.Fold {
		along = op.Ints("axes")
	}
	if len(along) != 1 {
		return nil, false
	}
	d, err := when[along[0]].Sub(types.Lit(1))
	when[along[0]] = d
	return when, err == nil
}

// simplified leaves out what is at least 1 in any case, all but one. stops is false where a number never is.
func simplified(where types.Shape) (out types.Shape, stops bool) {
	for _, d := range where {
		if !slices.ContainsFunc(d.Terms(), func(t types.Term) bool { return t.Coef > 0 }) {
			return nil, false
		}
		if !d.AlwaysPositive() && !slices.ContainsFunc(out, d.Equal) {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		out = types.Shape{types.Lit(1)}
	}
	return out, true
}

// includes reports that every number of part is one of all.
func includes(all, part types.Shape) bool {
	return !slices.ContainsFunc(part, func(d types.Dim) bool { return !slices.ContainsFunc(all, d.Equal) })
}

func hasStop(b *ir.Block) bool {
	found := false
	ir.Walk(b, func(op *ir.Op) { found = found || op.Def == ops.Stop })
	return found
}
