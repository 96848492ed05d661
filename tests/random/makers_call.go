package random

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
)

func init() { makers["call"] = makeCall }

// makeCall draws a function with shape parameters of its own and calls it, with extents that may hold those of the
// caller, on values that fit or on new parameters.
func makeCall(g *Gen, d *ir.OpDef) bool {
	if g.m == nil || g.deep > 0 {
		return false
	}
	c := &Gen{r: g.r, all: g.all, late: g.late, four: g.four, bind: map[string]int64{}, used: g.used}
	c.f = &ir.Func{Name: fmt.Sprintf("g%d", len(g.m.Funcs)), Body: &ir.Block{}}
	c.b = &ir.Builder{Block: c.f.Body}
	bound := map[string]types.Dim{}
	var dims types.Shape
	for _, name := range []string{"A", "M"}[:g.r.IntN(3)] {
		e := g.dim()
		if n, err := e.Add(types.Lit(1)); err == nil && g.r.IntN(4) == 0 {
			e = n
		}
		dims, bound[name] = append(dims, e), e
		c.f.Dims = append(c.f.Dims, name)
		c.bind[name] = g.size(e)
	}
	c.params()
	for range 1 + g.r.IntN(4) {
		c.op()
	}
	c.results()

	params, err := ir.SubstTypes(ir.ArgTypes(c.f.Body.Params), bound)
	if err != nil {
		return false
	}
	results, err := ir.SubstTypes(c.f.Results, bound)
	if err != nil {
		return false
	}
	var args []*ir.Value
	for _, t := range params {
		v := g.pickIf(func(v *ir.Value) bool { return types.Equal(v.Type, t) })
		if v == nil {
			g.param(t)
			v = g.vals[len(g.vals)-1]
		}
		args = append(args, v)
	}
	g.m.Funcs = append(g.m.Funcs, c.f)
	attrs := ir.A{"callee": c.f.Name, "results": results}
	if len(dims) > 0 {
		attrs["dims"] = dims
	}
	if !g.emit(d, attrs, nil, args...) {
		g.m.Funcs = g.m.Funcs[:len(g.m.Funcs)-1]
		return false
	}
	return true
}
