package plan

import (
	"fmt"
	"maps"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

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
		case op.Def == ops.Stop:
			fn.step(abi.Step{Fail: &abi.Fail{Where: op.Dims("where"), Site: fn.u.Site(scalar.CheckRequire, op)}})
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
	if fn.u.effects.Has(op) || len(op.Results) == 0 || !lower.AllScalar(op.Results) {
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
func (fn *function) callsHost(op *ir.Op) bool { return fn.u.steps.Needs(op) }

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
		if w, ok := fn.View(y); !ok || w.Buffer != to {
			fn.copyInto(y, to)
		}
	}
}

// host lowers an operation for input or output.
func (fn *function) host(op *ir.Op) {
	h := &abi.HostCall{Name: op.Def.Name, Attrs: map[string]string{},
		Site: fn.u.siteAt("host", siteKey{at: op.Span, op: op.Def.Name})}
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
			i := fn.allocate(r)
			h.Out = append(h.Out, i)
			if fn.plan.Buffers[i].Kind == abi.Temp {
				if _, chosen := fn.target[r]; !chosen {
					fn.holds(r, i)
				}
			}
		}
	}
	fn.step(abi.Step{Host: h})
}

// guards are the extents that f stops at where they are too large.
func guards(f *ir.Func) []types.Dim {
	var out []types.Dim
	ir.Walk(f.Body, func(op *ir.Op) {
		if op.Def != ops.Stop {
			return
		}
		for _, over := range op.Dims("where") {
			if d, err := over.Add(types.Lit(types.MaxExtent)); err == nil {
				out = append(out, d)
			}
		}
	})
	return out
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
		index = fn.u.function(fn.u.callee(op), name, nil)
	}
	c := &abi.Call{Func: index, Site: fn.u.siteAt(scalar.CheckRecursion.String(),
		siteKey{kind: scalar.CheckRecursion, at: fn.u.src.Func(op.Str("callee")).Span, op: op.Str("callee")})}
	for _, a := range op.Args {
		w := fn.buffered(a)
		if !fn.isWhole(w) && a.Type.Elem != types.String { // the callee's parameters are row-major
			i := fn.newBuffer(abi.Temp, a.Type)
			fn.copyInto(a, i)
			w = lower.Whole(i, a.Type.Shape)
		}
		c.Args = append(c.Args, w)
	}
	for _, r := range op.Results {
		c.Out = append(c.Out, fn.allocate(r))
	}
	fn.step(abi.Step{Call: c})
}
