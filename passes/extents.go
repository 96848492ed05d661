package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Extents writes down what follows where a shape parameter makes an extent that is none: the program stops there. With
// literal extents that is an error of the type rules (Note [Shapes that do not fit] in package ops); this is for
// functions whose extents are known when they run. The message has the values of the shape parameters of the function
// as it is written, and so the calls must be there still. What an argument has as an extent is one.
//
// A function stops before it does anything, and a region where it comes to the operation, as on the interpreter.
//
// Requires: nothing, but runs before inline. Establishes: a `stop` is before each operation whose result may have an
// extent below 0 or above types.MaxExtent, unless entry is called with literal extents alone: bind has all.
//
//	func @f[N](%x: f32[N]) -> f32[N-1] {
//	  %0: f32[N-1] = slice %x {starts = [1], steps = [1], shape = [N-1]}
//
// becomes
//
//	func @f[N](%x: f32[N]) -> f32[N-1] {
//	  %0: bool = stop {where = [-N+1], says = "extent {} is out of range...", shows = [N-1, N]}
//	  %1: f32[N-1] = slice %x {starts = [1], steps = [1], shape = [N-1]}
func Extents(m *ir.Module, entry string, bind map[string]int64, remark Remark) error {
	if f := m.Func(entry); f != nil && !slices.ContainsFunc(f.Dims, func(d string) bool {
		_, bound := bind[d]
		return !bound
	}) {
		return nil
	}
	for _, f := range m.Funcs {
		x := &extents{with: map[string]types.Dim{}, natural: map[string]bool{}}
		for _, name := range f.Dims {
			x.with[name] = types.Param(name)
			if f.Name == entry { // they are those of arguments
				x.natural[name] = true
				x.known = append(x.known, types.Param(name))
			}
		}
		for _, p := range f.Params() {
			for _, d := range p.Type.Shape {
				x.known = append(x.known, d)
				if name, plain := d.AsParam(); plain {
					x.natural[name] = true
				}
			}
		}
		if len(f.Dims) == 0 {
			continue
		}
		before := &ir.Block{}
		x.block(f.Body, before)
		f.Body.Ops = append(before.Ops, f.Body.Ops...)
		if x.added > 0 {
			remark("%s: stops for %s", ir.FormatSym(f.Name), types.Count(x.added, "value")+" of extents")
		}
	}
	return nil
}

type extents struct {
	with    map[string]types.Dim // the shape parameters, for messages
	natural map[string]bool      // those that are not below 0
	known   []types.Dim          // these are extents here
	added   int
}

// block does b, whose stops go to before; where that is nil, to where the operations are.
func (x *extents) block(b, before *ir.Block) {
	kept := b.Ops
	b.Ops = make([]*ir.Op, 0, len(kept))
	for _, op := range kept {
		to := before
		if to == nil {
			to = b
		}
		for _, r := range op.Regions {
			x.region(r, op, to)
		}
		for _, v := range op.Results {
			x.stops(to, v, op)
		}
		b.Ops = append(b.Ops, op)
	}
}

// region does a region of op, before which to is. Where it gives what the extents decide about, or nothing that can be
// given in its place, op does not run at all.
func (x *extents) region(r *ir.Block, op *ir.Op, to *ir.Block) {
	whole := len(r.Yields) == 0
	for _, y := range r.Yields {
		x.stops(to, y, op)
		whole = whole || y.Type.Elem == types.String
	}
	if whole {
		x.block(r, to)
		return
	}
	outside := x.known
	x.block(r, nil)
	x.known = outside
}

// stops adds to b what ends the program where an extent of v is none. The place is that of what makes v, in op or op
// itself.
func (x *extents) stops(b *ir.Block, v *ir.Value, op *ir.Op) {
	at := &ir.Builder{Block: b, Span: op.Span}
	if v.Def != nil {
		at.Span = v.Def.Span
	}
	for _, d := range v.Type.Shape {
		if _, literal := d.Const(); literal {
			continue
		}
		less, err := types.Lit(0).Sub(d)
		more, err2 := d.Sub(types.Lit(types.MaxExtent))
		if err != nil || err2 != nil {
			continue // of more than 64 bits
		}
		if !x.least(d) {
			x.stop(at, less, d)
		}
		if !x.most(d) {
			x.stop(at, more, d)
		}
		if !slices.ContainsFunc(x.known, d.Equal) {
			x.known = append(x.known[:len(x.known):len(x.known)], d)
		}
	}
}

func (x *extents) stop(b *ir.Builder, where, d types.Dim) {
	with, shows := ir.WithShown(x.with)
	b.Emit(ops.Stop, ir.A{"where": types.Shape{where}, "says": ir.NoExtent("{}").Error() + with,
		"shows": append(types.Shape{d}, shows...)})
	x.added++
}

// least reports that d is at least 0, as it is what a known extent is or more.
func (x *extents) least(d types.Dim) bool {
	return x.notNegative(d) || slices.ContainsFunc(x.known, func(k types.Dim) bool { return x.atMost(k, d) })
}

// most reports that d is no more than a known extent.
func (x *extents) most(d types.Dim) bool {
	return slices.ContainsFunc(x.known, func(k types.Dim) bool { return x.atMost(d, k) })
}

func (x *extents) atMost(a, b types.Dim) bool {
	rest, err := b.Sub(a)
	return err == nil && x.notNegative(rest)
}

// notNegative reports that d is at least 0 by the signs of its terms.
func (x *extents) notNegative(d types.Dim) bool {
	return !slices.ContainsFunc(d.Terms(), func(t types.Term) bool {
		return t.Coef < 0 || slices.ContainsFunc(t.Vars, func(name string) bool { return !x.natural[name] })
	})
}
