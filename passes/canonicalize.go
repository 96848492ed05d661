package passes

import (
	"slices"
	"sync"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Canonicalize merges views of views, folds constants and applies algebra, until no rule applies. Every
// rule keeps every bit of every result (which NaN is not specified), and every failure.
//
// Requires: nothing. Establishes: an operation of constants alone, up to maxFoldElems elements, is a
// constant; a constant with equal elements is the broadcast of a scalar; the constant operand of a
// commutative operation is the second; a view of the same kind of view is one view.
//
//	%0: f32 = const {value = f32 1.0}
//	%1: f32[N] = broadcast %0 {shape = [N]}
//	%2: f32[N] = mul %1, %x
//	%3: f32[1, N] = reshape %2 {shape = [1, N]}
//	%4: f32[N] = reshape %3 {shape = [N]}
//	return %4
//
// becomes, after dce,
//
//	return %x
//
// The rules are in canonicalize_views.go, canonicalize_algebra.go, canonicalize_loops.go and fold.go.
func Canonicalize(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		c := &canonicalizer{with: map[*ir.Value]*ir.Value{}, remark: remark}
		c.block(f.Body)
	}
	return nil
}

// rule rewrites one kind of operation. apply returns what to put in the place of op's results, or nil
// when the rule does not apply. op's operands are canonical already. New operations come from
// canonicalizer.emit, which brings them into canonical form first.
type rule struct {
	name  string // what is done, for remarks
	apply func(c *canonicalizer, op *ir.Op) []*ir.Value
}

// rules has those for each operation, tried in order. rulesOf makes the table: rules emit operations, which are
// rewritten by rules, so that an initializer were a cycle, and most commands of healc need none.
var (
	rules    = map[*ir.OpDef][]rule{}
	addRules sync.Once
)

func rulesOf(d *ir.OpDef) []rule {
	addRules.Do(func() {
		addViewRules()
		addAlgebraRules()
		addLoopRules()
		addFoldRules()
	})
	return rules[d]
}

// CanonicalRules are what the rules of Canonicalize do, as its remarks name it behind the operation.
func CanonicalRules() []string {
	var out []string
	for _, d := range ir.Ops() {
		for _, r := range rulesOf(d) {
			if !slices.Contains(out, r.name) {
				out = append(out, r.name)
			}
		}
	}
	return out
}

func addRule(name string, apply func(c *canonicalizer, op *ir.Op) []*ir.Value, defs ...*ir.OpDef) {
	for _, d := range defs {
		rules[d] = append(rules[d], rule{name, apply})
	}
}

// canonicalizer goes through a function once, from the start: a rule looks at operands only, and those
// are done.
type canonicalizer struct {
	with   map[*ir.Value]*ir.Value // replaced values
	out    []*ir.Op                // the block being built
	remark Remark
}

func (c *canonicalizer) resolve(vs []*ir.Value) {
	for i, v := range vs {
		for w, ok := c.with[v]; ok; w, ok = c.with[v] {
			v = w
		}
		vs[i] = v
	}
}

func (c *canonicalizer) block(b *ir.Block) {
	outer := c.out
	c.out = make([]*ir.Op, 0, len(b.Ops))
	for _, op := range b.Ops {
		c.op(op)
	}
	b.Ops, c.out = c.out, outer
	c.resolve(b.Yields)
}

// op rewrites op, or adds it to the block as it is.
func (c *canonicalizer) op(op *ir.Op) {
	c.resolve(op.Args)
	for _, r := range op.Regions {
		c.block(r)
	}
	for _, r := range rulesOf(op.Def) {
		vals := r.apply(c, op)
		if vals == nil {
			continue
		}
		c.remark("%s: %s", op.Def.Name, r.name)
		for i, res := range op.Results {
			c.with[res] = vals[i]
		}
		return
	}
	c.out = append(c.out, op)
}

// emit adds an operation with one result in the place of like, which gives the position, and returns its
// canonical form. It returns nil when the type rule does not hold; then the caller leaves like alone.
func (c *canonicalizer) emit(like *ir.Op, d *ir.OpDef, attrs ir.A, args ...*ir.Value) *ir.Value {
	return c.emitRegions(like, d, attrs, nil, args...)
}

// emitRegions is emit for operations with regions, which like gives up.
func (c *canonicalizer) emitRegions(like *ir.Op, d *ir.OpDef, attrs ir.A, regions []*ir.Block,
	args ...*ir.Value) *ir.Value {
	for _, a := range args {
		if a == nil {
			return nil
		}
	}
	op := &ir.Op{Def: d, Args: args, Attrs: d.MakeAttrs(attrs), Regions: regions, Span: like.Span}
	ts, err := d.Infer(ir.ArgTypes(args), op.Attrs, regions)
	if err != nil {
		return nil
	}
	op.SetResults(ts)
	c.op(op)
	vals := []*ir.Value{op.Result()}
	c.resolve(vals)
	return vals[0]
}

// one is the answer of a rule that found v, which may be nil.
func one(v *ir.Value) []*ir.Value {
	if v == nil {
		return nil
	}
	return []*ir.Value{v}
}

// constant adds a constant scalar, or with a shape its broadcast.
func (c *canonicalizer) constant(like *ir.Op, t types.Tensor, bits uint64) *ir.Value {
	a := ir.NewArray(t.Elem)
	a.Bits[0] = bits
	v := c.emit(like, ops.Const, ir.A{"value": a})
	if t.IsScalar() {
		return v
	}
	return c.emit(like, ops.Broadcast, ir.A{"shape": t.Shape}, v)
}

// array is the data of v when it is a constant.
func array(v *ir.Value) (*ir.Array, bool) {
	if v.Def == nil || v.Def.Def != ops.Const {
		return nil, false
	}
	return v.Def.Array("value"), true
}

// splat is the scalar that v repeats in every element: the operand of a broadcast or reshape of a scalar,
// or v itself when it is a scalar.
func splat(v *ir.Value) (*ir.Value, bool) {
	if v.Type.IsScalar() {
		return v, true
	}
	if v.Def != nil && (v.Def.Def == ops.Broadcast || v.Def.Def == ops.Reshape) && v.Def.Args[0].Type.IsScalar() {
		return v.Def.Args[0], true
	}
	return nil, false
}

// same returns the bits that every element of v has, when that is known.
func same(v *ir.Value) (bits uint64, ok bool) {
	if s, ok := splat(v); ok {
		v = s
	}
	a, ok := array(v)
	if !ok || len(a.Bits) != 1 {
		return 0, false
	}
	return a.Bits[0], true
}

// definedBy returns the operation that defines v when it is one of d.
func definedBy(v *ir.Value, d *ir.OpDef) *ir.Op {
	if v.Def != nil && v.Def.Def == d {
		return v.Def
	}
	return nil
}
