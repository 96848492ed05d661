package transcripts

import (
	"math/big"
	"slices"
)

// The plain evaluator: memory with strided tensors, one element at a time, all arithmetic in big integers, transforms
// by their definition. It shares nothing with the compiler.

// ten is a tensor: a view of memory.
type ten struct {
	d              string
	mem            *[]int64
	off            int64
	shape, strides []int64
}

func dense(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, e := range shape {
		n *= e
	}
	return n
}

func newTen(d string, shape []int64) *ten {
	mem := make([]int64, count(shape))
	return &ten{d: d, mem: &mem, shape: slices.Clone(shape), strides: dense(shape)}
}

// each visits all indices of a shape in row-major order.
func each(shape []int64, f func(at []int64)) {
	if count(shape) == 0 {
		return
	}
	at := make([]int64, len(shape))
	for {
		f(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (t *ten) place(at []int64) int64 {
	p := t.off
	for i, n := range at {
		p += n * t.strides[i]
	}
	return p
}

func (t *ten) get(at ...int64) int64    { return (*t.mem)[t.place(at)] }
func (t *ten) set(v int64, at ...int64) { (*t.mem)[t.place(at)] = wrap(t.d, v) }

// wide reads with broadcasting: axes are aligned from the last.
func (t *ten) wide(at []int64) int64 {
	at = slices.Clone(at[len(at)-len(t.shape):])
	for i, n := range t.shape {
		if n == 1 {
			at[i] = 0
		}
	}
	return t.get(at...)
}

func wrap(d string, v int64) int64 {
	switch d {
	case "int8":
		return int64(int8(v))
	case "int32":
		return int64(int32(v))
	}
	return v
}

// values are the elements in row-major order.
func (t *ten) values() []int64 {
	out := []int64{}
	each(t.shape, func(at []int64) { out = append(out, t.get(at...)) })
	return out
}

// fill writes a function of the index. All of it is computed before any of it is stored.
func (t *ten) fill(f func(at []int64) int64) {
	var vs []int64
	each(t.shape, func(at []int64) { vs = append(vs, f(slices.Clone(at))) })
	i := 0
	each(t.shape, func(at []int64) { t.set(vs[i], at...); i++ })
}

func (t *ten) copied() *ten {
	c := newTen(t.d, t.shape)
	c.fill(func(at []int64) int64 { return t.get(at...) })
	return c
}

func (t *ten) contiguous() bool {
	want := dense(t.shape)
	for i, n := range t.shape {
		if n == 0 {
			return true
		}
		if n != 1 && t.strides[i] != want[i] {
			return slices.Contains(t.shape, 0)
		}
	}
	return true
}

func (t *ten) view(off int64, shape, strides []int64) *ten {
	return &ten{t.d, t.mem, off, slices.Clone(shape), slices.Clone(strides)}
}

func (t *ten) reshape(shape []int64) *ten {
	if !t.contiguous() {
		t = t.copied()
	}
	return t.view(t.off, shape, dense(shape))
}

// modulo is x mod p in [0, p).
func modulo(x *big.Int, p int64) int64 { return new(big.Int).Mod(x, big.NewInt(p)).Int64() }

func mulMod(a, b, p int64) int64 { return modulo(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), p) }

func addMod(a, b, p int64) int64 { return modulo(new(big.Int).Add(big.NewInt(a), big.NewInt(b)), p) }

func powMod(a, e, p int64) int64 {
	return new(big.Int).Exp(big.NewInt(a), big.NewInt(e), big.NewInt(p)).Int64()
}

func bitrev(i int64, m int64) int64 {
	r := int64(0)
	for ; m > 1; m /= 2 {
		r, i = r<<1|i&1, i>>1
	}
	return r
}

// transformed is the negacyclic transform by its definition, bit-reversed and then gathered by perm.
func transformed(a []int64, psi, p int64, perm []int64) []int64 {
	m := int64(len(a))
	natural := make([]int64, m)
	for i := range natural {
		for j := range a {
			natural[i] = addMod(natural[i], mulMod(a[j], powMod(psi, (2*int64(i)+1)*int64(j)%(2*m), p), p), p)
		}
	}
	out := make([]int64, m)
	for i := range out {
		out[i] = natural[bitrev(perm[i], m)]
	}
	return out
}

// restored undoes transformed.
func restored(y []int64, psi, p int64, perm []int64) []int64 {
	m := int64(len(y))
	natural := make([]int64, m)
	for i := range y {
		natural[bitrev(perm[i], m)] = y[i]
	}
	inverse := powMod(psi, 2*m-1, p)
	out := make([]int64, m)
	for j := range out {
		for i := range natural {
			out[j] = addMod(out[j], mulMod(natural[i], powMod(inverse, (2*int64(i)+1)*int64(j)%(2*m), p), p), p)
		}
		out[j] = mulMod(out[j], powMod(m, p-2, p), p)
	}
	return out
}
