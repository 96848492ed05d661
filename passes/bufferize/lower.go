package bufferize

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Options of Lower.
type Options struct {
	// InputStrides are the strides of the entry's parameters, in elements; nil, for one or for all, is row-major.
	// They may be shape parameters of their own, which are added to the function's in the order in which they come.
	InputStrides [][]types.Dim
	// Teams says that threads share what one iteration of a kernel's axes does, as on devices.
	Teams bool
}

// Lower turns the function entry of m, and what it calls, into kernels and a plan. m is not changed. The
// error is an *Error: a legal program that asks for something that cannot be lowered.
func Lower(m *ir.Module, entry string, opts Options) (out *kernel.Module, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			out, err = nil, f.err
		}
	}()
	f := m.Func(entry)
	if f == nil {
		return nil, fmt.Errorf("there is no function `%s`", entry)
	}
	u := &unit{
		src: m, out: &kernel.Module{Name: m.Name, Dims: withStrides(f.Dims, opts.InputStrides)},
		teams: opts.Teams, sites: map[siteKey]int{}, scalars: map[string]bool{}, indexOf: map[string]int{},
	}
	u.out.Plan = &abi.Program{Name: entry, Dims: u.out.Dims}
	u.function(f, entry, opts.InputStrides)
	for _, k := range u.out.Kernels {
		keepRows(k, !opts.Teams)
	}
	u.out.Plan.Sites = u.out.Sites
	markStreams(u.out)
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

// ConstantStrides are strides that are known.
func ConstantStrides(strides [][]int64) [][]types.Dim {
	out := make([][]types.Dim, len(strides))
	for i, list := range strides {
		if list == nil {
			continue
		}
		out[i] = make([]types.Dim, len(list))
		for k, n := range list {
			out[i][k] = types.Lit(n)
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
		uses: usesOfValues(f), held: map[int]holder{}, updates: map[*ir.Value]int{},
	}
	u.out.Plan.Funcs = append(u.out.Plan.Funcs, fn.plan)
	fn.steps = &fn.plan.Steps
	for i, p := range f.Params() {
		b := abi.Buffer{Kind: abi.Input, DType: p.Type.Elem, Shape: extentsOf(p.Type.Shape)}
		w := abi.View{Shape: p.Type.Shape, Strides: rowMajor(p.Type.Shape)}
		if i < len(strides) && strides[i] != nil {
			if len(strides[i]) != p.Type.Rank() {
				panic(failure{&Error{p.Span, fmt.Sprintf("%d strides for parameter %s of type %s", len(strides[i]),
					p.Name, p.Type)}})
			}
			w.Strides = strides[i]
			b.Strides = w.Strides
		}
		w.Buffer = fn.buffer(b)
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
	fn.block(f.Body)
	for _, y := range results {
		fn.plan.Results = append(fn.plan.Results, fn.result(y))
	}
	fn.finish(updates)
	for _, k := range f.Updates {
		fn.plan.Updates = append(fn.plan.Updates, fn.plan.Params[k])
	}
	lifetimes(fn.plan)
	return index
}

// reserve chooses buffers of their own for values that block computes and hands on.
func (fn *function) reserve(vs []*ir.Value, kind abi.BufferKind, block *ir.Block) {
	mine := map[*ir.Op]bool{}
	for _, op := range block.Ops {
		mine[op] = true
	}
	for _, v := range vs {
		if _, there := fn.target[v]; !there && v.Def != nil && mine[v.Def] && fillsBuffer(v.Def) {
			fn.target[v] = fn.newBuffer(kind, v.Type)
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

// returnsOperand reports that a Host operation gives its last operand back: what prints a value does.
func returnsOperand(op *ir.Op) bool {
	if len(op.Results) != 1 || len(op.Args) == 0 || !op.Def.Traits.Has(ir.Effect) {
		return false
	}
	return types.Equal(op.Args[len(op.Args)-1].Type, op.Type())
}

// result is the view that the function returns for v. Inputs and outputs are returned as they are seen;
// what lies in the arena or in the program's data is copied into an output.
func (fn *function) result(v *ir.Value) abi.View {
	if w, ok := fn.view(v); ok {
		k := fn.plan.Buffers[w.Buffer].Kind
		_, changes := fn.held[w.Buffer]
		if (k == abi.Input && !changes || k == abi.Output || v.Type.Elem == types.String) &&
			!fn.turnedOver(w, v.Type.Elem) {
			return w
		}
	}
	i := fn.newBuffer(abi.Output, v.Type)
	fn.copyInto(v, i)
	return whole(i, v.Type.Shape)
}

// turnedOver reports that a view goes to neighbours along another axis than its last one, as that of a transpose does.
//
// Who gave memory for a result gets it in row-major order. The runtime copies a slice to there as fast as memory
// allows, but not a transpose, which takes vector code (Note [Turned operands] in codegen/llvm). So functions return no
// such view: a kernel writes it. Slices and reshapes stay views, and so do arguments that came with their elements in
// another order.
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
	for _, d := range v.Type.Shape {
		if d.IsConst(0) {
			return
		}
	}
	if w, ok := fn.view(v); ok && (!fn.turnedOver(w, v.Type.Elem) || fn.plan.Buffers[buffer].Strides != nil) {
		fn.step(abi.Step{Copy: &abi.Copy{From: w, To: buffer}})
		return
	}
	fn.materialise(v, buffer)
}

// block lowers the operations of a block that stands outside of kernels.
func (fn *function) block(block *ir.Block) {
	outer, at := fn.current, fn.at
	defer func() { fn.current, fn.at = outer, at }()
	fn.current = block
	for i, op := range block.Ops {
		fn.at = i
		switch {
		case op.Def.Class == ir.Source, op.Def.Traits.Has(ir.View):
			// Read where it is wanted.
		case op.Def == ops.If && fn.onHost(op):
			fn.hostIf(op)
		case op.IsLoop():
			fn.hostLoop(op)
		case op.Def == ops.Call && fn.callsHost(op):
			fn.call(op)
		case op.Def.Class == ir.Host && op.Def != ops.Call:
			fn.host(op)
		default:
			fn.fuseInPlace(op)
		}
	}
}

// onHost reports that an `if` outside of a fusion chooses between steps: it has effects, or contains what
// cannot stand in a kernel.
func (fn *function) onHost(op *ir.Op) bool {
	if fn.u.src.HasEffect(op) || len(op.Results) == 0 || !allScalar(op.Results) {
		return true
	}
	host := false
	for _, r := range op.Results {
		host = host || r.Type.Elem == types.String
	}
	for _, r := range op.Regions {
		ir.Walk(r, func(in *ir.Op) {
			host = host || in.Def == ops.Fusion || in.IsLoop() && !in.SmallState() || in.Def.Class == ir.Host &&
				(in.Def != ops.Call || fn.callsHost(in))
		})
	}
	return host
}

// callsHost reports that a call must be a step of the plan: it has effects, passes tensors, or what it calls
// has steps.
func (fn *function) callsHost(op *ir.Op) bool { return fn.u.src.NeedsSteps(op) }

func (fn *function) hostIf(op *ir.Op) {
	cond := fn.buffered(op.Args[0])
	if !fn.isWhole(cond) {
		i := fn.newBuffer(abi.Temp, op.Args[0].Type)
		fn.copyInto(op.Args[0], i)
		cond.Buffer = i
	}
	st := &abi.If{Cond: cond.Buffer}
	for _, r := range op.Results {
		fn.allocate(r)
	}
	fn.step(abi.Step{If: st})
	outer := fn.steps
	for k, arm := range op.Regions {
		fn.steps = &st.Then
		if k == 1 {
			fn.steps = &st.Else
		}
		fn.arm(op, arm)
	}
	fn.steps = outer
}

// arm lowers one arm of an `if` so that its values end in the buffers of the results.
func (fn *function) arm(op *ir.Op, arm *ir.Block) {
	// What is written here, even for a value from outside, is not there when the other arm runs.
	before := maps.Clone(fn.views)
	defer func() { fn.views = before }()
	mine := map[*ir.Op]bool{}
	for _, in := range arm.Ops {
		mine[in] = true
	}
	for i, y := range arm.Yields {
		if _, there := fn.target[y]; !there && y.Def != nil && mine[y.Def] && fillsBuffer(y.Def) {
			fn.target[y] = fn.views[op.Results[i]].Buffer
		}
	}
	fn.block(arm)
	for i, y := range arm.Yields {
		to := fn.views[op.Results[i]].Buffer
		if w, ok := fn.view(y); !ok || w.Buffer != to {
			fn.copyInto(y, to)
		}
	}
}

// host lowers an operation for input or output.
func (fn *function) host(op *ir.Op) {
	h := &abi.HostCall{Name: op.Def.Name, Attrs: map[string]string{},
		Site: fn.u.siteAt("host", siteKey{0, op.Span, op.Def.Name})}
	for _, a := range op.Args {
		h.Args = append(h.Args, fn.buffered(a))
	}
	for i, a := range op.Def.Attrs {
		if op.Attrs[i] != nil {
			h.Attrs[a.Name] = attrText(op.Attrs[i])
		}
	}
	if returnsOperand(op) {
		fn.views[op.Result()] = h.Args[len(h.Args)-1]
	} else {
		for _, r := range op.Results {
			h.Out = append(h.Out, fn.allocate(r))
		}
	}
	fn.step(abi.Step{Host: h})
}

// attrText is an attribute for the runtime: shapes are extents with commas between them.
func attrText(v any) string {
	switch v := v.(type) {
	case types.Shape:
		return strings.Trim(v.String(), "[]")
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

// call lowers a call of a function of the plan.
func (fn *function) call(op *ir.Op) {
	name := instance(op.Str("callee"), op.Dims("dims"))
	index, ok := fn.u.indexOf[name]
	if !ok {
		f, err := fn.u.callee(op, op.Str("callee"), op.Dims("dims"))
		if err != nil {
			panic(failure{err})
		}
		index = fn.u.function(f, name, nil)
	}
	c := &abi.Call{Func: index, Site: fn.u.siteAt(scalar.CheckRecursion.String(),
		siteKey{scalar.CheckRecursion, fn.u.src.Func(op.Str("callee")).Span, op.Str("callee")})}
	for _, a := range op.Args {
		w := fn.buffered(a)
		if !fn.isWhole(w) && a.Type.Elem != types.String { // the callee's parameters are row-major
			i := fn.newBuffer(abi.Temp, a.Type)
			fn.copyInto(a, i)
			w = whole(i, a.Type.Shape)
		}
		c.Args = append(c.Args, w)
	}
	for _, r := range op.Results {
		c.Out = append(c.Out, fn.allocate(r))
	}
	fn.step(abi.Step{Call: c})
}
