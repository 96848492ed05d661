package ops

import (
	"healc/ir"
)

// A flow is what depends on the values that are differentiated: floats, which have cotangents; integers that are made
// of such floats, where the path of a gradient breaks; and floats that are made of such integers in a region.
type flow struct {
	varied map[*ir.Value]bool
	broken map[*ir.Value]*ir.Op // the operation that made integers of floats
	joined map[*ir.Value]*joint // what the value depends on by way of integers
}

// A joint is where a path of floats goes by way of integers: cut makes them, back makes floats of them.
type joint struct{ cut, back *ir.Op }

func newFlow() flow {
	return flow{varied: map[*ir.Value]bool{}, broken: map[*ir.Value]*ir.Op{}, joined: map[*ir.Value]*joint{}}
}

// block follows the operations of a block, in order.
func (f *flow) block(b *ir.Block) {
	for _, op := range b.Ops {
		f.op(op)
	}
}

// op finds what is true of the results of an operation.
func (f *flow) op(op *ir.Op) {
	if len(op.Regions) > 0 && op.Def != CustomVjp {
		f.regions(op)
		for i, r := range op.Results {
			f.take(r, f.union(sources(op, i)))
		}
		return
	}
	all := f.union(inputs(op))
	for _, r := range op.Results {
		switch {
		case r.Type.Elem.IsFloat() && op.Def.NoGrad == "":
			facts := all
			if op.Def == Cast && all.broken != nil {
				facts.varied, facts.joined = true, &joint{all.broken, op}
			}
			f.take(r, facts)
		case r.Type.Elem.IsInt() && all.broken != nil:
			f.broken[r] = all.broken
		case r.Type.Elem.IsInt() && all.varied && op.Def == Cast:
			f.broken[r] = op
		}
	}
}

// facts are what is true of one value.
type facts struct {
	varied bool
	broken *ir.Op
	joined *joint
}

// union is what is true of one of some values.
func (f *flow) union(of []*ir.Value) (out facts) {
	for _, v := range of {
		out.varied = out.varied || f.varied[v]
		if out.broken == nil {
			out.broken = f.broken[v]
		}
		if out.joined == nil {
			out.joined = f.joined[v]
		}
	}
	return out
}

// take adds facts to those of v, as far as they can hold of its type, and reports whether that changed something.
func (f *flow) take(v *ir.Value, x facts) (changed bool) {
	switch e := v.Type.Elem; {
	case e.IsFloat():
		changed = x.varied && !f.varied[v] || x.joined != nil && f.joined[v] == nil
		if f.joined[v] == nil && x.joined != nil {
			f.joined[v] = x.joined
		}
		f.varied[v] = f.varied[v] || x.varied
	case e.IsInt() && x.broken != nil && f.broken[v] == nil:
		f.broken[v], changed = x.broken, true
	}
	return changed
}

// regions follows the regions of op, those that carry a state until nothing changes.
func (f *flow) regions(op *ir.Op) {
	for _, r := range op.Regions {
		first := 0 // the parameter for the first part of a state
		if op.IsLoop() {
			first = 1
		}
		for i, p := range r.Params[first:] {
			if n := len(op.Args); n > 0 { // the elements of a fold without a start are both
				f.take(p, f.union(op.Args[min(first+i, n-1):][:1]))
			}
		}
		for changed := true; changed; {
			f.block(r)
			changed = false
			if !op.IsLoop() && op.Def != Fold && op.Def != Scan {
				break
			}
			for i, y := range r.Yields[:len(op.Results)] {
				changed = f.take(r.Params[first+i], f.union([]*ir.Value{y})) || changed
			}
		}
	}
}

// sources are what result i of an operation with regions comes from.
func sources(op *ir.Op, i int) (of []*ir.Value) {
	for _, r := range op.Regions {
		switch {
		case op.Def.VJP == nil: // a derivative inside of another region, which is not expanded yet
			of = append(append(of, inputs(op)...), r.Yields...)
		case op.IsLoop():
			of = append(of, r.Yields[i], r.Params[1+i])
		case op.Def == Fold || op.Def == Scan:
			of = append(of, r.Yields[i], r.Params[i])
		default:
			of = append(of, r.Yields[i])
		}
	}
	return of
}
