package bufferize

import (
	"math/bits"

	"healc/ir/kernel"
	"healc/ir/scalar"
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
	n := workIn(k.Body)
	for _, a := range k.Axes[min(1, len(k.Axes)):] {
		n *= estimate(a.Extent)
	}
	return int64(min(n, 1e18))
}

// callWork is a guess at the work of a recursive function.
const callWork = 10000

func workIn(b *kernel.Block) float64 {
	sum := 0.0
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Loop:
			sum += estimate(st.Axis.Extent) * workIn(st.Body)
		case *kernel.Iterate:
			sum += nominal * workIn(st.Body) // see assumedSteps in codegen/llvm
		case *kernel.Reduce:
			n := 1.0
			for _, a := range st.Axes {
				n *= estimate(a.Extent)
			}
			if st.Chunk != scalar.None {
				n = min(n, float64(st.Order.Chunk()))
			}
			sum += n * (1 + workIn(st.Body))
		case *kernel.If:
			sum += 1 + max(workIn(st.Then), workIn(st.Else))
		case *kernel.Call:
			sum += callWork
		case *kernel.Transform: // half a butterfly, of 8 operations, for each element and stage
			sum += 4 * float64(st.Size) * float64(bits.Len64(uint64(st.Size))-1)
		case *kernel.Let:
			if st.In.Op != scalar.Const {
				sum++
			}
		default:
			sum++
		}
	}
	return sum
}
