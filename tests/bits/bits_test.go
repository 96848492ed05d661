// Package bits has the table of hashes of results. A line of it changes only with the order or the definition of an
// operation, which is part of the language: docs/numerics.md lists these changes.
package bits

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/tensor"
)

var update = flag.Bool("update", false, "rewrite hashes.txt, for a change of the language")

const (
	table  = "hashes.txt"
	inputs = 4096
)

var elements = []types.DType{types.Bool, types.I8, types.I16, types.I32, types.I64, types.U8, types.U16, types.U32,
	types.U64, types.F16, types.BF16, types.F32, types.F64}

// TestHashes computes each element-wise operation of the table of operations for each type, and what has an order of
// its own, on the interpreter, which every backend equals.
func TestHashes(t *testing.T) {
	var got strings.Builder
	for _, e := range elements {
		m := pointwise(e)
		code, err := engine.CompileIR(m, engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range m.Funcs {
			fmt.Fprintf(&got, "%s %s %s\n", f.Name, e, call(t, code, f.Name, operands(t, e, len(f.Body.Params))))
		}
		code.Close()
	}
	for _, e := range elements {
		for _, source := range orders(e) {
			text := strings.ReplaceAll(source, "$T", e.String())
			code, err := engine.CompileFile(diag.NewFile("orders.heal", text), engine.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range regexp.MustCompile(`(?m)^pub fn (\w+)`).FindAllStringSubmatch(text, -1) {
				fmt.Fprintf(&got, "%s %s %s\n", f[1], e, call(t, code, f[1], nil))
			}
			code.Close()
		}
	}
	if *update {
		if err := os.WriteFile(table, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(recorded)) {
		i := strings.LastIndexByte(line, ' ')
		want[line[:i]] = line[i:]
	}
	for line := range strings.Lines(got.String()) {
		i := strings.LastIndexByte(line, ' ')
		switch w, known := want[line[:i]]; {
		case !known:
			t.Errorf("%s is not in %s: go test ./tests/bits -update", line[:i], table)
		case w != line[i:]:
			t.Errorf("%s has other bits than %s says: a change of the language (docs/numerics.md), or a defect",
				line[:i], table)
		}
		delete(want, line[:i])
	}
	for name := range want {
		t.Errorf("%s of %s is gone", name, table)
	}
}

// pointwise has a function for each operation that takes operands of one type alone.
func pointwise(e types.DType) *ir.Module {
	m := &ir.Module{Name: "pointwise"}
	for _, d := range ir.Ops() {
		if d.Class != ir.Pointwise || d.Scalar == nil || len(d.Attrs) > 0 {
			continue
		}
		f := &ir.Func{Name: d.Name, Public: true, Body: &ir.Block{}}
		b := &ir.Builder{Block: f.Body}
		args, kinds := make([]*ir.Value, d.Arity), make([]types.Tensor, d.Arity)
		for i := range args {
			kinds[i] = types.Tensor{Elem: e, Shape: types.Shape{types.Lit(inputs)}}
			args[i] = f.Body.Param(string(rune('x'+i)), kinds[i], b.Span)
		}
		if _, err := d.Infer(kinds, d.MakeAttrs(ir.A{}), nil); err != nil {
			continue
		}
		f.Body.Yields = b.EmitOp(d, ir.A{}, args, nil).Results
		f.Results = []types.Tensor{f.Body.Yields[0].Type}
		m.Funcs = append(m.Funcs, f)
	}
	return m
}

// operands are values of all magnitudes, and every second one of a usual one. Integers are not 0, and those behind the
// first operand are not negative, so that they are divisors, exponents and moduli.
func operands(t *testing.T, e types.DType, n int) []*tensor.Tensor {
	r := rand.New(rand.NewPCG(uint64(e.Bytes()), 4))
	var out []*tensor.Tensor
	for k := range n {
		bits := make([]uint64, inputs)
		for i := range bits {
			bits[i] = r.Uint64() >> (64 - 8*e.Bytes())
			switch {
			case e == types.Bool:
				bits[i] &= 1
			case e.IsFloat() && i%2 == 0:
				bits[i] = scalar.FloatBits(e, 4*r.Float64()-2)
			case !e.IsFloat() && i%2 == 0:
				bits[i] = uint64(1 + r.IntN(7))
			case !e.IsFloat():
				bits[i] |= 1
				if k > 0 && e.IsSigned() {
					bits[i] &= 1<<(8*e.Bytes()-1) - 1
				}
			}
		}
		x, err := tensor.FromBits(e, []int64{inputs}, bits)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// call is the hash of what a function gives, or of its error.
func call(t *testing.T, code *engine.Module, name string, args []*tensor.Tensor) string {
	t.Helper()
	f, err := code.Func(name)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	out, err := f.CallAll(context.Background(), args...)
	if err != nil {
		t.Logf("%s: %v", name, err)
		fmt.Fprint(h, err)
	}
	for _, x := range out {
		fmt.Fprint(h, x.DType, x.Shape)
		for _, bits := range x.Bits() {
			if x.DType.IsFloat() && scalartest.IsNaNBits(x.DType, bits) { // its bits are nobody's promise
				bits = 1<<64 - 1
			}
			binary.Write(h, binary.LittleEndian, bits)
		}
		x.Close()
	}
	for _, x := range args {
		x.Close()
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// orders are programs whose results depend on an order of operations, for an element type.
func orders(e types.DType) []string {
	switch {
	case e.IsFloat():
		return []string{floats}
	case e == types.Bool:
		return nil
	}
	return []string{integers}
}

const floats = `
import linalg
import nn
import random
import signal

fn v[N]() -> $T[N] = tabulate(N, |i| (sin((i * 7 + 1) as f64) * 3.0) as $T)
fn a[M, N]() -> $T[M, N] = tabulate(M, N, |i, j| sin((i * 31 + j * 17 + 1) as f64) as $T)

pub fn sum_of() -> $T = sum(v[70001]())
pub fn sum_rows() -> $T[33] = sum(a[33, 1301](), axis = 1)
pub fn sum_columns() -> $T[33] = sum(a[1301, 33](), axis = 0)
pub fn prod_of() -> $T = prod(v[71]())
pub fn mean_of() -> $T = mean(v[5003]())
pub fn var_of() -> $T = var(v[5003]())
pub fn max_of() -> $T = max/(v[5003]())
pub fn fold_of() -> $T = (|x, y| x * 0.5 + y)/v[5003]()
pub fn cumsum_of() -> $T[301] = cumsum(v[301]())
pub fn product() -> $T[33, 19] = a[33, 170]() @ a[170, 19]()
pub fn product_vector() -> $T[33] = a[33, 517]() @ v[517]()
pub fn vector_product() -> $T[33] = v[517]() @ a[517, 33]()
pub fn product_split() -> $T[3, 5] = matmul(a[3, 9001](), a[9001, 5](), split = 32)
pub fn softmax_of() -> $T[7, 33] = nn.softmax(a[7, 33]())
pub fn sorted() -> $T[301] = sort(v[301]())
pub fn gradient() -> $T[7, 33] = grad(|x| sum(tanh(nn.softmax(x) .* x)))(a[7, 33]())
pub fn uniform_of() -> $T[301] = random.uniform[$T, 301](random.key(7))
pub fn normal_of() -> $T[301] = random.normal[$T, 301](random.key(7))
pub fn conv_of() -> $T[2, 9, 9] = signal.conv(reshape(v[363](), [3, 11, 11]), reshape(v[54](), [2, 3, 3, 3]))
pub fn fft_of() -> ($T[64], $T[64]) = signal.fft(v[64](), zeros[$T, 64]())
pub fn fourier_of() -> $T[2, 360, 3] = fourier(a[360, 3](), a[360, 3]() .* 2.0, axis = 0)
pub fn fourier_inverse() -> $T[2, 3, 120] = fourier(a[3, 120](), a[3, 120]() .* 2.0, inverse = true)
pub fn fourier_chirp() -> $T[2, 77] = fourier(v[77](), v[77]() .* 2.0)
pub fn inverse_of() -> $T[9, 9] = linalg.inverse(a[9, 9]() + expand(reshape(v[9](), [9, 1]), [9, 9]))
`

const integers = `
fn v[N]() -> $T[N] = tabulate(N, |i| (i * i * 7 + 3) as $T)
fn a[M, N]() -> $T[M, N] = tabulate(M, N, |i, j| (i * 31 + j * j * 17 + 1) as $T)

pub fn sum_of() -> $T = sum(v[7001]())
pub fn prod_of() -> $T = prod(v[71]())
pub fn product() -> $T[33, 19] = a[33, 70]() @ a[70, 19]()
pub fn cumsum_of() -> $T[301] = cumsum(v[301]())
pub fn sorted() -> $T[301] = sort(v[301]())
pub fn widened() -> i64 = sum(v[301]() as i64)
`
