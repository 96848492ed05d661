package fusion

import (
	"slices"
	"strconv"

	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Mirror computes one half of the product of a matrix with its own transpose, and copies the other: an element and the
// one across the diagonal are the same chain, since x * y is y * x, bit for bit (of two NaNs, which one is a product is
// not specified). Tiles beyond the diagonal are left out where a product goes on from a matrix in place
// (analysis.Guard), so the half is a loop of one step. Axes of a batch stand before those of the matrices.
//
// Requires: cse, so that both factors are one value. Establishes: nothing; processors gain from it, devices do not.
//
//	%0: f32[K, N] = permute %a {perm = [1, 0]}
//	%1: f32[N, N] = matmul %a, %0
//
// becomes, with %z a matrix of zeros,
//
//	%1: f32[N, N] = iterate 1, %z ^(%step: i32, %m: f32[N, N]) {
//	  %2: f32[N, N] = tabulate {shape = [N, N]} ^(%i: i32, %j: i32) {
//	    %3: f32 = index %m, %i, %j {axes = [0, 1]}
//	    %4: i32[K] = iota {start = 0, extent = K}
//	    %5: f32 = fold %3, %4 {axes = [0], init = true} ^(%x: f32, %t: i32) {
//	      %6: f32 = index %a, %i, %t {axes = [0, 1]}
//	      %7: f32 = index %a, %j, %t {axes = [0, 1]}
//	      %8: f32 = fma %6, %7, %x
//	      yield %8
//	    }
//	    %9: bool = le %j, %i
//	    %10: f32 = select %9, %5, %3
//	    yield %10
//	  }
//	  yield %2
//	}
//	%11: f32[N, N] = tabulate {shape = [N, N]} ^(%i: i32, %j: i32) {
//	  %12: bool = le %j, %i
//	  %13: f32 = index %1, %i, %j {axes = [0, 1]}
//	  %14: f32 = index %1, %j, %i {axes = [0, 1]}
//	  %15: f32 = select %12, %13, %14
//	  yield %15
//	}
func Mirror(m *ir.Module, remark func(format string, args ...any)) error {
	from := profile.Base().Fusion
	return MirrorFrom(m, from.MirrorRows, from.MirrorSteps, remark)
}

// MirrorFrom does so from this many rows and steps of a chain on.
func MirrorFrom(m *ir.Module, rows, steps int, remark func(format string, args ...any)) error {
	for _, f := range m.Funcs {
		c := &mirrorer{rows: int64(rows), steps: int64(steps), remark: remark}
		c.block(f.Body, func() map[*ir.Value][]ir.Use {
			if c.uses == nil {
				c.uses = ir.Uses(f.Body)
			}
			return c.uses
		})
	}
	return nil
}

type mirrorer struct {
	rows, steps int64
	uses        map[*ir.Value][]ir.Use // once they are asked for
	remark      func(format string, args ...any)
}

// block looks for products in a block that is steps of a plan, and in the steps of its loops and branches.
func (c *mirrorer) block(b *ir.Block, uses func() map[*ir.Value][]ir.Use) {
	with := map[*ir.Value]*ir.Value{}
	var out []*ir.Op
	for _, op := range b.Ops {
		if op.Def == ops.Iterate || op.Def == ops.IterateUntil || op.Def == ops.If {
			for _, r := range op.Regions {
				c.block(r, uses)
			}
		}
		a, rows := c.ownTranspose(op)
		if a == nil || !wholly(uses()[op.Result()], op.Type()) {
			out = append(out, op)
			continue
		}
		n := ir.Builder{Block: &ir.Block{}, Span: op.Span}
		with[op.Result()] = mirrored(&n, op.Type(), half(&n, a, rows, op.Type()))
		out = append(out, n.Block.Ops...)
		c.remark("one half of %s is computed, and copied to the other", op.Def.Name)
	}
	b.Ops = out
	ir.Replace(b, with)
}

// mirrorable are the types whose chains can begin with what is in memory; narrower integers are computed in i32.
var mirrorable = []types.DType{types.F32, types.F64, types.I32, types.U32, types.I64, types.U64}

// ownTranspose is the matrix that op multiplies with its own transpose, and whether the elements of the product are
// those of its rows with each other; nil where op is no such product, or too small.
func (c *mirrorer) ownTranspose(op *ir.Op) (a *ir.Value, rows bool) {
	if op.Def != ops.Matmul || !slices.Contains(mirrorable, op.Type().Elem) {
		return nil, false
	}
	x, y := op.Args[0], op.Args[1]
	n, known := op.Type().Shape[op.Type().Rank()-1].Const()
	steps, long := x.Type.Shape[x.Type.Rank()-1].Const()
	if !known || !long || n < c.rows || steps < c.steps || !countable(op.Type().Shape) || !countable(x.Type.Shape) {
		return nil, false
	}
	switch {
	case isTranspose(y, x):
		return x, true
	case isTranspose(x, y):
		return y, false
	}
	return nil, false
}

// countable reports that positions along the axes are known to be of type i32.
func countable(s types.Shape) bool {
	for _, d := range s {
		if n, known := d.Const(); !known || n >= 1<<31 {
			return false
		}
	}
	return true
}

// isTranspose reports that t is a matrix, or a batch of them, whose rows are the columns of another.
func isTranspose(t, of *ir.Value) bool {
	d := t.Def
	if d == nil || d.Def != ops.Permute || d.Args[0] != of {
		return false
	}
	perm := d.Ints("perm")
	r := len(perm)
	for i, p := range perm[:r-2] {
		if int64(i) != p {
			return false
		}
	}
	return perm[r-2] == int64(r-1) && perm[r-1] == int64(r-2)
}

// wholly reports that all of a matrix is read, and not a few elements, which are better computed alone.
func wholly(uses []ir.Use, t types.Tensor) bool {
	for _, u := range uses {
		switch {
		case u.Op == nil:
		case u.Op.Def == ops.Iterate || u.Op.Def == ops.IterateUntil || u.Op.Def == ops.Matmul:
		case len(u.Op.Regions) == 0 && len(u.Op.Results) == 1 && u.Op.Type().Shape.Equal(t.Shape):
		default:
			return false
		}
	}
	return len(uses) > 0
}

// half has the elements on the diagonal and below it of the product of the rows of a, or its columns, with each other.
func half(b *ir.Builder, a *ir.Value, rows bool, t types.Tensor) *ir.Value {
	along := a.Type.Rank() - 1
	if !rows {
		along--
	}
	scalar := types.Scalar(t.Elem)
	step := ir.Builder{Block: &ir.Block{}, Span: b.Span}
	step.Block.Param("step", types.Scalar(types.I32), b.Span)
	m := step.Block.Param("m", t, b.Span)
	next := tabulate(&step, t, func(in *ir.Builder, batch []*ir.Value, i, j *ir.Value) *ir.Value {
		old := element(in, m, batch, i, j)
		k := in.Emit(ops.Iota, ir.A{"start": types.Dim{}, "extent": a.Type.Shape[along]})
		chain := ir.Builder{Block: &ir.Block{}, Span: b.Span}
		sum := chain.Block.Param("x", scalar, b.Span)
		at := chain.Block.Param("t", types.Scalar(types.I32), b.Span)
		factor := func(of *ir.Value) *ir.Value {
			if rows {
				return element(&chain, a, batch, of, at)
			}
			return element(&chain, a, batch, at, of)
		}
		x, y := factor(i), factor(j)
		if t.Elem.IsFloat() {
			sum = chain.Emit(ops.Fma, nil, x, y, sum)
		} else {
			sum = chain.Emit(ops.Add, nil, sum, chain.Emit(ops.Mul, nil, x, y))
		}
		chain.Block.Yields = []*ir.Value{sum}
		whole := in.EmitOp(ops.Fold, ir.A{"axes": []int64{0}, "init": true}, []*ir.Value{old, k},
			[]*ir.Block{chain.Block}).Result()
		return in.Emit(ops.Select, nil, in.Emit(ops.Le, nil, j, i), whole, old)
	})
	step.Block.Yields = []*ir.Value{next}
	one := ir.NewArray(types.I32)
	one.Bits[0] = 1
	zeros := b.Emit(ops.Broadcast, ir.A{"shape": t.Shape}, b.Emit(ops.Const, ir.A{"value": ir.NewArray(t.Elem)}))
	args := []*ir.Value{b.Emit(ops.Const, ir.A{"value": one}), zeros}
	return b.EmitOp(ops.Iterate, nil, args, []*ir.Block{step.Block}).Result()
}

// mirrored is a matrix with what is below the diagonal of m above it, too.
func mirrored(b *ir.Builder, t types.Tensor, m *ir.Value) *ir.Value {
	return tabulate(b, t, func(in *ir.Builder, batch []*ir.Value, i, j *ir.Value) *ir.Value {
		below := in.Emit(ops.Le, nil, j, i)
		return in.Emit(ops.Select, nil, below, element(in, m, batch, i, j), element(in, m, batch, j, i))
	})
}

// element is an element of a matrix of a batch.
func element(b *ir.Builder, m *ir.Value, batch []*ir.Value, i, j *ir.Value) *ir.Value {
	axes := make([]int64, len(batch)+2)
	for i := range axes {
		axes[i] = int64(i)
	}
	return b.Emit(ops.Index, ir.A{"axes": axes}, slices.Concat([]*ir.Value{m}, batch, []*ir.Value{i, j})...)
}

func tabulate(b *ir.Builder, t types.Tensor,
	at func(in *ir.Builder, batch []*ir.Value, i, j *ir.Value) *ir.Value) *ir.Value {
	in := ir.Builder{Block: &ir.Block{}, Span: b.Span}
	var batch []*ir.Value
	for n := range t.Rank() - 2 {
		batch = append(batch, in.Block.Param("b"+strconv.Itoa(n), types.Scalar(types.I32), b.Span))
	}
	i := in.Block.Param("i", types.Scalar(types.I32), b.Span)
	j := in.Block.Param("j", types.Scalar(types.I32), b.Span)
	in.Block.Yields = []*ir.Value{at(&in, batch, i, j)}
	return b.EmitOp(ops.Tabulate, ir.A{"shape": t.Shape}, nil, []*ir.Block{in.Block}).Result()
}
