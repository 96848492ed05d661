package random

import (
	"math/rand/v2"

	"healc/codegen/schedule"
	"healc/ir/kernel"
)

// Reschedule leaves out some directives, and gives others parameters of the ranges of their kinds.
func Reschedule(r *rand.Rand, ds []*kernel.Directive, changed *int) []*kernel.Directive {
	var out []*kernel.Directive
	for _, d := range ds {
		kind := kernel.KindOf(d.Kind)
		arm := kind.On == kernel.OnNothing && kind.Sub // of another one, which has it or not
		if !arm && r.IntN(6) == 0 {
			*changed++
			continue
		}
		if d.Kind == "matmul" || d.Kind == "axpy" || d.Kind == "dot" { // whose parameters have to fit together
			changeProduct(r, d)
			*changed++
			out = append(out, d)
			continue
		}
		for i := range d.Args {
			for _, a := range kind.Args {
				if a.Name != d.Args[i].Name || a.Fixed || r.IntN(3) > 0 {
					continue
				}
				x := min(max(d.Args[i].Value<<r.IntN(3)>>r.IntN(3), a.Low), a.High)
				if a.Power {
					for x&(x-1) != 0 {
						x &= x - 1
					}
				}
				d.Args[i].Value = x
				*changed++
			}
		}
		d.Sub = Reschedule(r, d.Sub, changed)
		out = append(out, d)
	}
	return out
}

// changeProduct gives the directive of a product other parameters, which fit together.
func changeProduct(r *rand.Rand, d *kernel.Directive) {
	some := func(most int64) int64 { return 1 + r.Int64N(max(most, 1)) }
	if w := d.Get("width"); w >= 4 && d.Get("pairs")+d.Get("fours")+d.Get("amx") == 0 && r.IntN(3) == 0 {
		d.Set("width", w/2)
	}
	switch d.Kind {
	case "axpy":
		d.Set("block", some(2*d.Get("block"))).Set("rows", some(16))
		return
	case "dot":
		d.Set("vectors", some(4)).Set("behind", 64*r.Int64N(16)).Set("ahead", r.Int64N(2))
		return
	}
	rows, vectors := d.Get("rows"), d.Get("vectors")
	if r.IntN(2) == 0 {
		rows, vectors = some(12), some(6)
	}
	piece := d.Get("piece")
	d.Set("rows", rows).Set("vectors", vectors).Set("piece", some(piece))
	d.Set("block", vectors*d.Get("width")*some(4)).Set("chunk", rows*some(4))
	d.Set("low", r.Int64N(2)).Set("ahead", r.Int64N(2))
	amx := d.Get("amx") != 0
	if amx { // of whose registers there are so many, and which take so many steps
		rows, vectors = some(schedule.AMXSide*schedule.AMXRows), some(schedule.AMXSide)
		d.Set("rows", rows).Set("vectors", vectors).Set("low", 0).Set("piece", min(schedule.AMXRows*some(4), piece))
		d.Set("block", vectors*schedule.AMXRows*some(4)).Set("chunk", rows*some(4))
	}
	subs := kernel.Directives(d.Sub)
	x, y := subs.OfKind("packrows"), subs.OfKind("packcolumns")
	if x == nil && r.IntN(2) == 0 {
		x = kernel.NewDirective("packrows", -1)
		d.Add(x)
	}
	if y == nil && r.IntN(2) == 0 {
		y = kernel.NewDirective("packcolumns", -1)
		d.Add(y)
	}
	if x != nil {
		if x.Get("band") != 0 {
			x.Set("band", rows*some(4)).Set("ahead", r.Int64N(20))
		}
		x.Set("beside", r.Int64N(2))
		if amx {
			x.Set("beside", 0)
		}
	}
	if y != nil {
		y.Set("along", r.Int64N(2))
	}
}
