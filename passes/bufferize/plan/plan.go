package plan

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// Build turns the function entry of m, and what it calls, into kernels and a plan. m is not changed. The parameters of
// the entry have the strides inputs, in elements; nil, for one or for all, is row-major. passes are the options of the
// passes over kernels. The error is a *lower.Error: a legal program that asks for something that cannot be lowered.
func Build(m *ir.Module, entry string, inputs [][]types.Dim, passes transform.Options) (out *kernel.Module, err error) {
	defer lower.Catch(&err)
	f := m.Func(entry)
	if f == nil {
		return nil, fmt.Errorf("there is no function `%s`", entry)
	}
	u := &unit{
		src: m, steps: ir.NewSteps(m), effects: ir.NewEffects(m),
		out:    &kernel.Module{Name: m.Name, Dims: withStrides(f.Dims, inputs)},
		passes: passes,
		sites:  map[siteKey]int{}, scalars: map[string]bool{}, indexOf: map[string]int{},
	}
	u.out.Plan = &abi.Program{Name: entry, Dims: u.out.Dims}
	u.function(f, entry, inputs)
	u.out.Plan.Sites = u.out.Sites
	return u.out, nil
}

// withStrides adds the parameters of strides to those of a function.
func withStrides(dims []string, strides [][]types.Dim) []string {
	out := slices.Clone(dims)
	for _, list := range strides {
		for _, d := range list {
			for _, name := range d.Params() {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// function lowers f into the plan and returns its index there.
func (u *unit) function(f *ir.Func, name string, strides [][]types.Dim) int {
	index := len(u.out.Plan.Funcs)
	u.indexOf[name] = index
	fn := &function{
		u: u, src: f, plan: &abi.Function{Name: name},
		views: map[*ir.Value]abi.View{}, target: map[*ir.Value]int{}, datas: map[*ir.Array]int{},
		uses: usesOfValues(f), held: map[int]holder{}, updates: map[*ir.Value]int{}, guards: guards(f),
	}
	u.out.Plan.Funcs, u.out.Steps = append(u.out.Plan.Funcs, fn.plan), append(u.out.Steps, nil)
	fn.steps = &fn.plan.Steps
	for i, p := range f.Params() {
		b := abi.Buffer{Kind: abi.Input, DType: p.Type.Elem, Shape: lower.Extents(p.Type.Shape)}
		w := abi.View{Shape: p.Type.Shape, Strides: lower.RowMajor(p.Type.Shape)}
		if i < len(strides) && strides[i] != nil {
			if len(strides[i]) != p.Type.Rank() {
				lower.Fail(p.Span, "%d strides for parameter %s of type %s", len(strides[i]), p.Name, p.Type)
			}
			w.Strides = strides[i]
			b.Strides = w.Strides
		}
		w.Buffer = fn.NewBuffer(b)
		fn.views[p] = w
		fn.plan.Params = append(fn.plan.Params, w.Buffer)
	}
	results := f.Body.Yields[:len(f.Body.Yields)-len(f.Updates)]
	updates := f.Body.Yields[len(results):]
	fn.reserve(results, abi.Output, f.Body)
	for i, y := range updates {
		p := f.Params()[f.Updates[i]]
		if _, more := fn.updates[y]; !more && viewed(y) == y {
			fn.endsIn(y, fn.plan.Params[p.Index])
		}
		fn.holds(p, fn.plan.Params[p.Index])
	}
	fn.compact(strides)
	fn.block(f.Body)
	for _, y := range results {
		fn.plan.Results = append(fn.plan.Results, fn.result(y))
	}
	fn.finish(updates)
	for _, k := range f.Updates {
		fn.plan.Updates = append(fn.plan.Updates, fn.plan.Params[k])
	}
	lifetimes(fn.plan)
	u.out.Steps[index] = fn.places
	return index
}

// reserve chooses buffers of their own for values that block computes and hands on, as they are or in another shape.
func (fn *function) reserve(vs []*ir.Value, kind abi.BufferKind, block *ir.Block) {
	mine := map[*ir.Op]bool{}
	for _, op := range block.Ops {
		mine[op] = true
	}
	for _, v := range vs {
		from := v
		for from.Def != nil && mine[from.Def] && from.Def.Def == ops.Reshape {
			from = from.Def.Args[0]
		}
		if _, there := fn.target[from]; !there && from.Def != nil && mine[from.Def] && fillsBuffer(from.Def) {
			fn.target[from] = fn.newBuffer(kind, v.Type)
			fn.reserveBeneath(from, block, mine)
		}
	}
}

// fillsBuffer reports that the results of op are written into buffers that the planner chooses.
func fillsBuffer(op *ir.Op) bool {
	switch {
	case op.Def.Traits.Has(ir.View), op.Def.Class == ir.Source, op.IsLoop():
		return false
	case op.Def.Class == ir.Host:
		return op.Def == ops.Call || !returnsOperand(op)
	}
	return true
}

// returnsOperand reports that a Host operation gives its last operand back: what prints a scalar does.
func returnsOperand(op *ir.Op) bool {
	if len(op.Results) != 1 || len(op.Args) == 0 || !op.Def.Traits.Has(ir.Effect) {
		return false
	}
	return op.Type().IsScalar() && types.Equal(op.Args[len(op.Args)-1].Type, op.Type())
}

// result is the view that the function returns for v. Inputs and outputs are returned as they are seen;
// what lies in the arena, or in the program's data, is copied into an output, but for a tensor that has a place in the
// arena to itself, as the state of a loop has that ends where it started: the place becomes an output.
func (fn *function) result(v *ir.Value) abi.View {
	if w, ok := fn.View(v); ok {
		k := fn.plan.Buffers[w.Buffer].Kind
		_, changes := fn.held[w.Buffer]
		if (k == abi.Input && !changes || k == abi.Output || v.Type.Elem == types.String) &&
			!fn.turnedOver(w, v.Type.Elem) {
			return w
		}
		if k == abi.Temp && !v.Type.IsScalar() && v.Type.Elem != types.String && fn.isWhole(w) &&
			!turns(fn.plan.Steps, w.Buffer) {
			fn.plan.Buffers[w.Buffer].Kind = abi.Output
			return w
		}
	}
	i := fn.newBuffer(abi.Output, v.Type)
	fn.copyInto(v, i)
	return lower.Whole(i, v.Type.Shape)
}

// turns reports that a buffer changes places with another in a loop of these steps.
func turns(steps []abi.Step, buffer int) bool {
	for _, s := range steps {
		switch {
		case s.If != nil:
			if turns(s.If.Then, buffer) || turns(s.If.Else, buffer) {
				return true
			}
		case s.Loop != nil:
			for _, p := range s.Loop.Swap {
				if p[0] == buffer || p[1] == buffer {
					return true
				}
			}
			if turns(s.Loop.Body, buffer) {
				return true
			}
		}
	}
	return false
}

// turnedOver reports that a view goes to neighbours along another axis than its last one, as that of a transpose does.
//
// Who gave memory for a result gets it in row-major order. The runtime copies a slice to there as fast as memory
// allows, but not a transpose, which takes vector code (Note [Tiled transposition] in codegen/llvm). So functions
// return no such view: a kernel writes it. Slices and reshapes stay views, and so do arguments that came with their
// elements in another order.
func (fn *function) turnedOver(w abi.View, d types.DType) bool {
	if own := fn.plan.Buffers[w.Buffer].Strides; d == types.String || len(own) > 0 && !near(own[len(own)-1]) {
		return false
	}
	last := len(w.Shape) - 1
	for last >= 0 && w.Shape[last].IsConst(1) {
		last--
	}
	if last < 1 || near(w.Strides[last]) {
		return false
	}
	for k := range last {
		if !w.Shape[k].IsConst(1) && near(w.Strides[k]) && !w.Strides[k].IsConst(0) {
			return true
		}
	}
	return false
}

// near reports that a stride is 1, -1 or 0.
func near(stride types.Dim) bool {
	n, known := stride.Const()
	return known && n >= -1 && n <= 1
}

// copyInto writes v into a buffer that was made for it.
func (fn *function) copyInto(v *ir.Value, buffer int) {
	if lower.Empty(v.Type.Shape) {
		return
	}
	if w, ok := fn.View(v); ok && (!fn.turnedOver(w, v.Type.Elem) || fn.plan.Buffers[buffer].Strides != nil) {
		fn.stepFor(abi.Step{Copy: &abi.Copy{From: w, To: buffer}}, v.Span)
		return
	}
	fn.materialise(v, buffer)
}
