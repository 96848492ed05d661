package bufferize

import (
	"math/bits"
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// nominal stands for a shape parameter in estimates of work.
const nominal = 1024

func estimate(e abi.Extent) float64 {
	n := 0.0
	for _, t := range e.Dim.Terms() {
		p := float64(t.Coef)
		for range t.Vars {
			p *= nominal
		}
		n += p
	}
	if e.Div > 1 {
		n /= float64(e.Div)
	}
	return max(n, 1)
}

// work estimates the scalar operations for each index of the outermost axis.
func work(k *kernel.Kernel) int64 {
	n, last := 1.0, 1.0
	w := worker{k: k, varies: map[kernel.Ref]bool{}}
	for i, a := range k.Axes {
		last = estimate(a.Extent)
		if i > 0 {
			n *= last
		}
	}
	if len(k.Axes) > 0 {
		w.varies[k.Axes[len(k.Axes)-1].Var] = true
	}
	each, once := w.body(k.Body)
	return int64(min(n*(each+once/last), 1e18))
}

// worker counts operations. What does not depend on the last axis of a kernel is computed before its loop.
type worker struct {
	k      *kernel.Kernel
	rare   kernel.Rare
	varies map[kernel.Ref]bool
}

// body counts the operations of statements that stand directly in the loops of a kernel: those for each index, and
// those before the last loop.
func (w *worker) body(b *kernel.Block) (each, once float64) {
	for _, st := range b.Stmts {
		varies := true
		switch st := st.(type) {
		case *kernel.Let:
			varies = slices.ContainsFunc(st.In.Args[:], func(r kernel.Ref) bool { return w.varies[r] })
			w.varies[st.ID] = varies
		case *kernel.Load:
			varies = slices.ContainsFunc(st.At.Terms, func(t kernel.Term) bool { return w.varies[t.Var] })
			w.varies[st.ID] = varies
		case *kernel.DimValue:
			varies = false
		case *kernel.If:
			w.rare.Note(st)
			then, first := w.body(st.Then)
			other, second := w.body(st.Else)
			// a condition for all indices goes either way, as that between forms of a product by the size of the
			// modulus
			switch {
			case !w.varies[st.Cond]:
				each += (then + other) / 2
			case w.rare.First(st):
				each += 1 + other
			default:
				each += 1 + max(then, other)
			}
			once += first + second
			w.vary(st.IDs)
			continue
		case *kernel.Loop:
			w.vary(st.IDs)
		case *kernel.Iterate:
			w.vary(st.IDs)
		case *kernel.Reduce:
			w.varies[st.ID] = true
		case *kernel.Call:
			w.vary(st.IDs)
		case *kernel.Transform:
			w.varies[st.ID] = true
		}
		if n := w.statement(st); varies {
			each += n
		} else {
			once += n
		}
	}
	return each, once
}

func (w *worker) vary(ids []kernel.Ref) {
	for _, id := range ids {
		w.varies[id] = true
	}
}

// callWork is a guess at the work of a recursive function.
const callWork = 10000

// block counts the operations of a block each time it runs.
func (w *worker) block(b *kernel.Block) float64 {
	sum := 0.0
	for _, st := range b.Stmts {
		sum += w.statement(st)
	}
	return sum
}

func (w *worker) statement(st kernel.Stmt) float64 {
	w.rare.Note(st)
	switch st := st.(type) {
	case *kernel.Loop:
		return estimate(st.Axis.Extent) * w.block(st.Body)
	case *kernel.Iterate:
		return nominal * w.block(st.Body) // see assumedSteps in codegen/llvm
	case *kernel.Reduce:
		n := 1.0
		for _, a := range st.Axes {
			n *= estimate(a.Extent)
		}
		if st.Chunk != scalar.None {
			n = min(n, float64(st.Order.Chunk()))
		}
		return n * (1 + w.block(st.Body))
	case *kernel.If:
		then, other := w.block(st.Then), w.block(st.Else)
		if w.rare.First(st) {
			then = 0
		}
		return 1 + max(then, other)
	case *kernel.Call:
		return callWork
	case *kernel.Transform: // half a butterfly, of 8 operations, for each element and stage
		return 4 * float64(st.Size) * float64(bits.Len64(uint64(st.Size))-1)
	case *kernel.Load:
		return lanes(w.k.Params[st.Param].DType)
	case *kernel.Store:
		return lanes(w.k.Params[st.Param].DType)
	case *kernel.Let:
		if st.In.Op == scalar.Const {
			return 0
		}
		return lanes(st.In.Type)
	}
	return 1
}

// lanes is what an operation counts on numbers of which more than usual make a vector. A bool comes of others, mostly.
func lanes(t types.DType) float64 {
	switch {
	case t == types.I8 || t == types.U8:
		return 0.25
	case t == types.I16 || t == types.U16:
		return 0.5
	}
	return 1
}
