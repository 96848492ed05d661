package lower

import (
	"fmt"
	"slices"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// load reads one element of a view.
func (b *body) load(w abi.View, t types.DType, at []kernel.Ref) kernel.Ref {
	p := b.param(w.Buffer, false)
	risky := b.anyRisky(at...)
	for k, r := range at {
		if c, ok := b.refs[r].affine.constant(); ok { // a fixed index may be one of no elements
			room, err := w.Shape[k].Sub(c)
			if err == nil {
				room, err = room.Sub(types.Lit(1))
			}
			risky = risky || err != nil || !nonNegative(room) || !nonNegative(c)
		}
	}
	acc := b.access(w.Offset, w.Strides, at)
	var vars []kernel.Ref
	for _, t := range acc.Terms {
		vars = append(vars, t.Var)
	}
	d := max(b.depthOf(vars...), b.armDepth())
	if risky {
		d = max(d, b.guardDepth())
	}
	key := fmt.Sprint(p, " ", AccessKey(acc))
	if r, ok := lookup(b, d, func(s *scope) map[string]kernel.Ref { return s.loads }, key); ok {
		return r
	}
	s := b.stack[d]
	s.guarded = s.guarded || risky
	r := b.define(t, s)
	s.loads[key] = r
	b.add(s, &kernel.Load{ID: r, Param: p, At: acc}, vars...)
	return r
}

func AccessKey(a kernel.Access) string {
	key := a.Offset.String()
	for _, t := range a.Terms {
		key += fmt.Sprintf("|%s %d", t.Coef, t.Var)
	}
	return key
}

// store writes one element of a row-major output in the innermost scope.
func (b *body) store(buffer int, strides []types.Dim, at []kernel.Ref, val kernel.Ref) {
	b.storeIn(b.top(), buffer, strides, at, val)
}

// storeIn is store in scope s, which is open.
func (b *body) storeIn(s *scope, buffer int, strides []types.Dim, at []kernel.Ref, val kernel.Ref) {
	acc := b.access(types.Dim{}, strides, at)
	reads := []kernel.Ref{val}
	for _, t := range acc.Terms {
		reads = append(reads, t.Var)
	}
	b.add(s, &kernel.Store{Param: b.param(buffer, true), At: acc, Val: val}, reads...)
}

// access is off + sum(strides[k] * at[k]) over loop variables where that is possible.
func (b *body) access(off types.Dim, strides []types.Dim, at []kernel.Ref) kernel.Access {
	sum := constAffine(off)
	for k, r := range at {
		f := b.refs[r].affine
		if f == nil {
			f = varAffine(r)
		}
		next := sum.plus(f, strides[k])
		if next == nil { // the coefficients of the form overflow: take the scalar itself
			if next = sum.plus(varAffine(r), strides[k]); next == nil {
				panic("BUG: the address of an element overflows")
			}
		}
		sum = next
	}
	sum = b.recombine(sum)
	return kernel.Access{Offset: sum.off, Terms: sum.terms}
}

// param is the kernel parameter for a buffer.
func (b *body) param(buffer int, out bool) int {
	if i, ok := b.paramOf[buffer]; ok {
		if p := &b.params[i]; p.Out != out && slices.Contains(b.inPlace, buffer) {
			p.Out, p.Work = true, true
		} else if p.Out != out {
			panic("BUG: a kernel reads and writes one buffer")
		}
		return i
	}
	buf := b.plan.Buffer(buffer)
	b.params = append(b.params, kernel.Param{
		Name: BufferName(buffer), DType: buf.DType, Out: out, Shape: buf.Shape, Elems: buf.Strides,
	})

	b.bufferOf = append(b.bufferOf, buffer)
	b.paramOf[buffer] = len(b.params) - 1
	return len(b.params) - 1
}

// BufferName is how kernels call a buffer of the plan.
func BufferName(buffer int) string { return fmt.Sprintf("b%d", buffer) }
