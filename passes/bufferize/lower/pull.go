package lower

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/lang/types"
)

// A frame is one evaluation of a block: its parameters are bound to scalars. The frame of a kernel's own
// block has none; its parameters are read by body.leaf.
type frame struct {
	id     int
	parent *frame
	block  *ir.Block
	args   []kernel.Ref
	state  func(v *ir.Value, at []kernel.Ref) kernel.Ref // gives the parameters, of a step of a loop; else args does
	// the fusion operation whose region it is, in a scalar function; its parameters are its operands
	fusion *ir.Op
	inner  map[string]*frame
}

// pulled names an element: a value in a frame, at an index.
type pulled struct {
	value *ir.Value
	frame *frame
	at    []kernel.Ref
}

// pulledRef is a scalar that a pull gave, and the depth of the deepest check that guards it.
type pulledRef struct {
	ref    kernel.Ref
	checks int
}

func refsKey(refs []kernel.Ref) string {
	var s strings.Builder
	for _, r := range refs {
		fmt.Fprintf(&s, " %d", r)
	}
	return s.String()
}

// enter makes the frame of block, bound to args, below parent.
func (b *body) enter(parent *frame, block *ir.Block, args []kernel.Ref) *frame {
	key := fmt.Sprintf("%p%s", block, refsKey(args))
	if parent != nil {
		if f := parent.inner[key]; f != nil {
			return f
		}
	}
	b.frames++
	f := &frame{id: b.frames, parent: parent, block: block, args: args, inner: map[string]*frame{}}
	if parent != nil {
		parent.inner[key] = f
	}
	if _, known := b.owner[firstValue(block)]; !known {
		ir.WalkBlocks(block, func(in *ir.Block) {
			for _, p := range in.Params {
				b.owner[p] = in
			}
			for _, op := range in.Ops {
				for _, r := range op.Results {
					b.owner[r] = in
				}
			}
		})
	}
	return f
}

func firstValue(block *ir.Block) *ir.Value {
	if len(block.Params) > 0 {
		return block.Params[0]
	}
	for _, op := range block.Ops {
		if len(op.Results) > 0 {
			return op.Results[0]
		}
	}
	return nil
}

// pull gives the element of v at index at, one I64 an axis.
func (b *body) pull(v *ir.Value, at []kernel.Ref) kernel.Ref {
	f := b.frame
	for block, ok := b.owner[v]; f != nil && (!ok || f.block != block); {
		f = f.parent
	}
	if f == nil {
		return b.leaf(v, at)
	}
	if v.Def == nil {
		if f.parent == nil && f.args == nil {
			return b.leaf(v, at)
		}
		if f.fusion != nil {
			saved := b.frame
			b.frame = f.parent
			r := b.pull(f.fusion.Args[v.Index], at)
			b.frame = saved
			return r
		}
		if f.state != nil {
			return f.state(v, at)
		}
		return f.args[v.Index]
	}
	key := fmt.Sprintf("%p %d%s", v, f.id, refsKey(at))
	if m, ok := lookup(b, len(b.stack)-1, func(s *scope) map[string]pulledRef { return s.memo }, key); ok {
		b.checkDepth = max(b.checkDepth, m.checks)
		return m.ref
	}
	savedFrame, savedOp, savedDepth := b.frame, b.op, b.checkDepth
	b.frame, b.op, b.checkDepth = f, v.Def, 0
	b.current = append(b.current, pulled{v, f, at})
	r := b.element(v, at)
	b.current = b.current[:len(b.current)-1]
	b.remember(key, r)
	b.frame, b.op, b.checkDepth = savedFrame, savedOp, max(savedDepth, b.checkDepth)
	return r
}

// remember notes the outcome of a pull in the outermost scope where it and its checks are visible.
func (b *body) remember(key string, r kernel.Ref) {
	d := max(b.refs[r].at.depth, b.checkDepth)
	b.stack[d].memo[key] = pulledRef{r, b.checkDepth}
}

// element writes the scalar program of one element of v, in v's frame.
func (b *body) element(v *ir.Value, at []kernel.Ref) kernel.Ref {
	op := v.Def
	switch {
	case op.Def == ops.Const && op.Array("value").Len() != 1:
		return b.constant(op, at)
	case op.Def == ops.If && AllScalar(op.Results):
		return b.ifScalars(op, v.Index)
	case op.IsLoop():
		return b.loopElement(op, v.Index, at)
	case op.Def == ops.Fusion:
		b.frame = b.enter(b.frame, op.Regions[0], []kernel.Ref{})
		b.frame.fusion = op
		return b.pull(op.Regions[0].Yields[v.Index], at)
	case op.Def.Scalar != nil:
		args := make([]kernel.Ref, len(op.Args))
		for i, a := range op.Args {
			args[i] = b.pull(a, at)
		}
		b.op = op
		x := op.Def.Scalar(b.E(), op, args)
		if b.computed != nil {
			b.computed(op, args, x)
		}
		return x
	case op.Def.Element == nil && op.Def.Class == ir.Host:
		Fail(op.Span, "an operation on strings that depends on the parameters of a lambda")
	case op.Def.Element == nil && op.Def.Expand != nil:
		Fail(op.Span, "`%s` over an extent that is not known when the program is compiled", op.Def.Spelling())
	case op.Def.Element == nil:
		panic("BUG: " + op.Def.Name + " cannot stand in a kernel")
	}
	return op.Def.Element(b, op, v.Index, at)
}

func AllScalar(vs []*ir.Value) bool {
	for _, v := range vs {
		if !v.Type.IsScalar() {
			return false
		}
	}
	return true
}

// constant reads a constant tensor: one whose elements are all the same is a literal, another one is data.
func (b *body) constant(op *ir.Op, at []kernel.Ref) kernel.Ref {
	a := op.Array("value")
	for i, bits := range a.Bits {
		if bits != a.Bits[0] {
			if b.plan == nil {
				return b.chooseConstant(a, b.linear(a, at), 0, int64(len(a.Bits)))
			}
			return b.load(Whole(b.plan.Data(a), op.Type().Shape), a.DType, at)
		}
		if i == len(a.Bits)-1 {
			return b.E().Bits(a.DType, bits)
		}
	}
	panic("BUG: an element of an empty constant is read")
}

// linear is the row-major position of an index into a.
func (b *body) linear(a *ir.Array, at []kernel.Ref) kernel.Ref {
	e := b.E()
	sum := e.Int(types.I64, 0)
	for k, i := range at {
		sum = e.Add(e.Mul(sum, e.Int(types.I64, a.Shape[k])), i)
	}
	return sum
}

// chooseConstant finds element i of a in [lo, hi) by halving: a scalar function has no buffers.
func (b *body) chooseConstant(a *ir.Array, i kernel.Ref, lo, hi int64) kernel.Ref {
	if hi-lo == 1 {
		return b.E().Bits(a.DType, a.Bits[lo])
	}
	mid := (lo + hi) / 2
	return b.E().Select(b.E().Lt(i, b.E().Int(types.I64, mid)), b.chooseConstant(a, i, lo, mid),
		b.chooseConstant(a, i, mid, hi))
}

// Arg implements ir.Pull.
func (b *body) Arg(op *ir.Op, i int, at []kernel.Ref) kernel.Ref {
	r := b.pull(op.Args[i], at)
	b.op = op
	return r
}

// Region implements ir.Pull. What can fail in the region is evaluated whether its value is used or not.
func (b *body) Region(op *ir.Op, r, yield int, args, at []kernel.Ref) kernel.Ref {
	saved := b.frame
	b.frame = b.enter(b.frame, op.Regions[r], append([]kernel.Ref{}, args...))
	b.force(op.Regions[r])
	v := b.pull(op.Regions[r].Yields[yield], at)
	b.frame, b.op = saved, op
	return v
}

// force evaluates every operation of the current frame's block that can fail.
func (b *body) force(block *ir.Block) {
	var full map[*ir.Value]bool
	for _, op := range block.Ops {
		if !b.failing.May(op) {
			continue
		}
		if full == nil {
			full = ir.FullyRead(block)
		}
		switch { // what is left for what its regions check
		case len(op.Results) > 0:
		case op.IsLoop():
			b.loopOnce(op)
		default:
			b.ifOnce(op)
		}
		for _, r := range op.Results {
			switch {
			case r.Type.IsScalar():
				b.pull(r, nil)
			case !full[r]:
				b.forceAll(r)
			}
		}
	}
}

// forceAll evaluates every element of v for its checks alone.
func (b *body) forceAll(v *ir.Value) {
	b.loops(v.Type.Shape, 0, nil, func(at, _ []kernel.Ref) []kernel.Ref {
		b.pull(v, at)
		return nil
	})
}

// Call implements ir.Pull.
func (b *body) Call(op *ir.Op, callee string, args []kernel.Ref, result int) kernel.Ref {
	name := b.unit.ScalarFunc(op, callee)
	d := max(b.depthOf(args...), b.armDepth(), b.sureDepth())
	s := b.stack[d]
	st := &kernel.Call{Func: name, Args: slices.Clone(args)}
	for _, r := range op.Results {
		st.IDs = append(st.IDs, b.define(r.Type.Elem, s))
	}
	s.checks = true
	b.add(s, st, args...)
	b.checkDepth = max(b.checkDepth, d)
	for i, r := range op.Results {
		if i != result {
			b.remember(fmt.Sprintf("%p %d%s", r, b.frame.id, ""), st.IDs[i])
		}
	}
	return st.IDs[result]
}
