package fusion

import (
	"strconv"
	"sync"

	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Recompute or materialise]: a value that several consumers want, or one consumer at more indices than it has,
// can be computed anew each time or written to memory once. Cost is counted in scalar operations. Memory costs
// byte_cost for each byte that moves: a written line is fetched first, so twice the size for writing and once for
// each kernel that reads it back, plus launch_cost for a kernel more. Computing anew costs the operations behind one
// element (as far // as they are not materialised themselves) times the number of evaluations but one; one on indices
// costs nothing, because reading it back would be one, too. Evaluations are not the consumers' elements: a kernel
// computes what depends on its outer axes alone once for these (Note [Placement] in passes/bufferize/lower), so the
// mean of a row costs one row however often it is read.
//
// A reduction inside of a kernel with few outer indices is materialised whatever the cost says: in a kernel of its
// own it can be cut into chunks for all threads.
//
// Note [One after another]: so is a long reduction whose result another long one with few outer indices needs for
// each element, as the variance of a vector needs its mean, and the two share no kernel: there one would follow the
// other on one thread, while the chunks of each can be computed on all.
const (
	nominalSize = 1024  // stands for a shape parameter
	callCost    = 10000 // a recursive call
)

// costs are what the estimates rest on. A plan serves several processors, so they are those of the base profile
// (docs/tuning/fusion-costs.md).
var costs = sync.OnceValue(func() (c struct {
	profile.Fusion
	byteCost, launchCost, fewThreads, smallWork float64
	longLoop                                    float64 // from here on a reduction is cut into chunks
}) {
	c.Fusion = profile.Base().Fusion
	c.byteCost = float64(c.ByteCost) / 10
	c.launchCost, c.fewThreads, c.smallWork = float64(c.LaunchCost), float64(c.FewThreads), float64(c.SmallWork)
	c.longLoop = float64(profile.Base().Plan.SplitLeast)
	return c
})

// sizeOf estimates an extent.
func sizeOf(d types.Dim) float64 {
	n := 0.0
	for _, t := range d.Terms() {
		p := float64(t.Coef)
		for range t.Vars {
			p *= nominalSize
		}
		n += p
	}
	return max(n, 0)
}

// elems estimates the number of elements.
func elems(s types.Shape) float64 {
	n := 1.0
	for _, d := range s {
		n *= sizeOf(d)
	}
	return n
}

func bytesOf(t types.Tensor) float64 { return elems(t.Shape) * float64(t.Elem.Bytes()) }

// storeCost is what writing the results of op costs, and reading them in so many kernels.
func storeCost(op *ir.Op, kernels int) float64 {
	bytes := 0.0
	for _, r := range op.Results {
		bytes += bytesOf(r.Type)
	}
	return (2+float64(kernels))*bytes*costs().byteCost + costs().launchCost
}

// figure prints a cost, in three digits: it is an estimate.
func figure(cost float64) string {
	for _, unit := range []string{"", "k", "M", "G"} {
		if cost < 999.5 {
			return strconv.FormatFloat(cost, 'g', 3, 64) + unit
		}
		cost /= 1000
	}
	return strconv.FormatFloat(cost, 'g', 3, 64) + "T"
}

// opCount is the number of scalar instructions of a pointwise operation.
func opCount(op *ir.Op) float64 {
	if op.Def.Scalar == nil {
		return 1
	}
	var params []types.DType
	for _, a := range op.Args {
		params = append(params, a.Type.Elem)
	}
	rec, refs := scalar.NewRecorder(params...)
	op.Def.Scalar(scalar.Emitter{Sink: rec}, op, refs)
	// Equal instructions are computed once.
	n := 0.0
	first := map[scalar.Instr]scalar.Ref{}
	now := make([]scalar.Ref, len(rec.Func.Instrs))
	for i, in := range rec.Func.Instrs {
		for k, a := range in.Args {
			if a != scalar.None {
				in.Args[k] = now[a]
			}
		}
		if r, ok := first[in]; ok {
			now[i] = r
			continue
		}
		first[in], now[i] = scalar.Ref(i), scalar.Ref(i)
		if in.Op != scalar.Const && in.Op != scalar.Param {
			n++
		}
	}
	return n
}

// ownWork estimates the scalar operations of op itself for all elements of its results.
func ownWork(op *ir.Op) float64 {
	out := 1.0
	if len(op.Results) > 0 {
		out = elems(op.Results[0].Type.Shape)
	}
	switch op.Def.Class {
	case ir.Pointwise:
		return out * opCount(op)
	case ir.Reduce:
		return elems(op.Args[0].Type.Shape)
	case ir.Contract:
		s := op.Args[0].Type.Shape
		return out * 2 * sizeOf(s[len(s)-1])
	case ir.Rows:
		return out * op.Def.RowWork(op, sizeOf) // a kernel of its own is materialised whatever its work is
	case ir.Source:
		return 0
	case ir.Host:
		return callCost
	case ir.Scope:
		sum := 0.0
		for _, r := range op.Regions {
			sum += blockWork(r)
		}
		switch {
		case op.Def.Space != nil:
			return sum * elems(op.Def.Space(op))
		case op.IsLoop():
			return sum * steps(op)
		}
		return sum
	}
	if op.Def.Traits.Has(ir.View) {
		return 0
	}
	return out * 2
}

func blockWork(b *ir.Block) float64 {
	sum := 0.0
	for _, op := range b.Ops {
		sum += ownWork(op)
	}
	return sum
}

// loops reports that an element of op is more than straight-line code.
func loops(op *ir.Op) bool {
	switch op.Def.Class {
	case ir.Reduce, ir.Contract, ir.Host:
		return true
	case ir.Scope:
		if op.Def != ops.Tabulate {
			return true
		}
		for _, r := range op.Regions {
			for _, in := range r.Ops {
				if loops(in) {
					return true
				}
			}
		}
	}
	return false
}
