package bufferize

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Kept rows of any length]: where the length of a row is a shape parameter, nobody knows whether it fits where
// kept rows lie. So the body stands in the kernel twice, behind a question that is asked when it runs:
//
//	%n = dim N
//	if %n <= 65536 { the body with kept rows } else { the body as it was }
//
// Rows that are longer are computed again, as they are with a length that is known. Devices do not ask: what they have
// for rows is a tenth of that.

// freeRows are the kept rows of a kernel whose lengths are not known.
type freeRows struct {
	params  []int       // of the kernel
	lengths []types.Dim // without repetition
	bytes   int64       // of one element of each
}

// add notes a row of n elements of type t.
func (f *freeRows) add(param int, n types.Dim, t types.DType) {
	f.params = append(f.params, param)
	f.bytes += int64(t.Bytes())
	if !slices.ContainsFunc(f.lengths, n.Equal) {
		f.lengths = append(f.lengths, n)
	}
}

// keepFreeRows keeps rows of k where lengths are not known. It reports whether there are any; k is as it was when not.
func keepFreeRows(k *kernel.Kernel) bool {
	short := *k
	short.Params = slices.Clone(k.Params)
	short.Body = k.Body.Clone()
	r := &keeper{k: &short, free: &freeRows{}}
	r.block(short.Body)
	if len(r.free.params) == 0 {
		return false
	}
	// The rows of known length are kept in either body, as other rows.
	long := short
	long.Body = k.Body
	other := &keeper{k: &long, count: r.count, bytes: r.bytes}
	other.block(long.Body)
	most := (keepBytes - other.bytes) / r.free.bytes
	for _, p := range r.free.params {
		long.Params[p].Shape = []abi.Extent{{Dim: types.Lit(most)}}
	}
	sweep(short.Body)
	sweep(long.Body)
	*k = long
	k.Body = r.free.choose(k, most, short.Body, long.Body)
	renumber(k)
	return true
}

// choose asks whether no row has more than most elements.
func (f *freeRows) choose(k *kernel.Kernel, most int64, short, long *kernel.Block) *kernel.Block {
	b := &kernel.Block{}
	define := func(t types.DType) kernel.Ref {
		k.Types = append(k.Types, t)
		return kernel.Ref(len(k.Types) - 1)
	}
	let := func(op scalar.Op, t types.DType, imm uint64, args ...kernel.Ref) kernel.Ref {
		in := scalar.Instr{Op: op, Type: t, Imm: imm, Args: [3]kernel.Ref{scalar.None, scalar.None, scalar.None}}
		copy(in.Args[:], args)
		id := define(in.Type)
		b.Stmts = append(b.Stmts, &kernel.Let{ID: id, In: in})
		return id
	}
	limit := let(scalar.Const, types.I64, uint64(most))
	fits := scalar.None
	for _, d := range f.lengths {
		n := define(types.I64)
		b.Stmts = append(b.Stmts, &kernel.DimValue{ID: n, Dim: d})
		one := let(scalar.Le, types.Bool, 0, n, limit)
		if fits == scalar.None {
			fits = one
		} else {
			fits = let(scalar.And, types.Bool, 0, fits, one)
		}
	}
	b.Stmts = append(b.Stmts, &kernel.If{Cond: fits, Then: short, Else: long})
	return b
}
