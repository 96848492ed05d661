// Package lattigo gives the rings of Lattigo v6 the number theoretic transforms of healc. The results are Lattigo's
// own, bit for bit; where Lattigo lets results be lazy, multiples of the modulus above, these are in [0, q).
//
// A program that makes its own rings calls Ring. The schemes of Lattigo make theirs themselves, of a type that no other
// package can extend: for them the command patched writes a copy of Lattigo with a place where Transforms.For is set.
package lattigo

import (
	"context"
	_ "embed"
	"fmt"
	"math/bits"
	"sync"
	"unsafe"

	"github.com/tuneinsight/lattigo/v6/ring"

	heal "healc"
	"healc/runtime/tensor"
)

//go:embed transforms.heal
var source string

// Other lengths and moduli keep Lattigo's transforms: of shorter rows Lattigo has transformed one while a call begins,
// and larger moduli healc takes stage by stage (docs/modular.md).
const (
	shortest    = 256
	modulusBits = 60
)

// Transforms is the compiled program. Its rings, and calls of them, may be used by goroutines at once.
type Transforms struct {
	module                                                 *heal.Module
	forward, backward, forwardConjugate, backwardConjugate *heal.Func

	mu       sync.Mutex
	compiled map[size]error
}

// size is what machine code is compiled for.
type size struct {
	n         int
	conjugate bool
}

// New compiles the program, for goroutines of a caller that have a transform each. Code for a length is made with the
// first ring of it, and kept in the cache of healc. The error says what is missing, such as libLLVM.
func New() (*Transforms, error) {
	m, err := heal.Compile(source, heal.Options{Threads: 1, Cache: heal.DefaultCache()})
	if err != nil {
		return nil, err
	}
	t := &Transforms{module: m, compiled: map[size]error{}}
	for name, f := range map[string]**heal.Func{"forward": &t.forward, "backward": &t.backward,
		"forward_conjugate": &t.forwardConjugate, "backward_conjugate": &t.backwardConjugate} {
		if *f, err = m.Func(name); err != nil {
			m.Close()
			return nil, err
		}
	}
	if err := t.compile(size{n: shortest}); err != nil {
		m.Close()
		return nil, err
	}
	return t, nil
}

// Close frees the machine code, after the last call of a ring.
func (t *Transforms) Close() { t.module.Close() }

// Ring is the ring of Lattigo of that degree, with these moduli. Its method Type, which knows Lattigo's transforms
// alone, panics, unless Lattigo is a copy that the command patched wrote.
func (t *Transforms) Ring(n int, moduli []uint64, kind ring.Type) (*ring.Ring, error) {
	own, order := ring.NewNumberTheoreticTransformerStandard, 2*n
	if kind == ring.ConjugateInvariant {
		own, order = ring.NewNumberTheoreticTransformerConjugateInvariant, 4*n
	}
	if n >= shortest {
		if err := t.compile(size{n, kind == ring.ConjugateInvariant}); err != nil {
			return nil, err
		}
	}
	return ring.NewRingWithCustomNTT(n, moduli, func(s *ring.SubRing, n int) ring.NumberTheoreticTransformer {
		return t.For(s, own(s, n))
	}, order)
}

// For is the transformer of a ring modulo one prime, which has that of Lattigo and may still be without its tables. It
// is Lattigo's for degrees below 256 and moduli of more than 60 bits. It panics where no code for a length can be made.
func (t *Transforms) For(s *ring.SubRing, own ring.NumberTheoreticTransformer) ring.NumberTheoreticTransformer {
	kind := ring.Standard
	switch own.(type) {
	case ring.NumberTheoreticTransformerStandard:
	case ring.NumberTheoreticTransformerConjugateInvariant:
		kind = ring.ConjugateInvariant
	default:
		return own
	}
	if s.N < shortest || bits.Len64(s.Modulus) > modulusBits {
		return own
	}
	if err := t.compile(size{s.N, kind == ring.ConjugateInvariant}); err != nil {
		panic(fmt.Errorf("transforms of %d elements: %w", s.N, err))
	}
	r := &transformer{kind: kind}
	r.tables = sync.OnceValue(func() [2]*direction { return t.directions(s, kind) })
	return r
}

// compile makes code for a size, by calling it.
func (t *Transforms) compile(s size) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err, done := t.compiled[s]
	if !done {
		zeros, one := make([]uint64, s.n), []int64{1}
		for _, d := range t.pair(s.conjugate, one, make([]int64, s.n), make([]int64, s.n), one, one, one) {
			if err = d.call(zeros, zeros); err != nil {
				break
			}
			if err = d.call(zeros, make([]uint64, s.n)); err != nil {
				break
			}
		}
		t.compiled[s] = err
	}
	return err
}

// directions are the transforms with the tables of a ring.
func (t *Transforms) directions(s *ring.SubRing, kind ring.Type) [2]*direction {
	plain := func(x uint64) int64 { return int64(ring.IMForm(x, s.Modulus, s.MRedConstant)) }
	conjugate := kind == ring.ConjugateInvariant
	table := func(roots []uint64) []int64 {
		out := make([]int64, s.N)
		for groups := 1; groups < s.N; groups *= 2 { // of a stage
			from := groups
			if conjugate { // the first half of the stages of twice as many elements, after their first
				from = 2 * groups
			}
			for i := range groups {
				out[groups+i] = plain(roots[from+i])
			}
		}
		return out
	}
	return t.pair(conjugate, []int64{int64(s.Modulus)}, table(s.RootsForward), table(s.RootsBackward),
		[]int64{plain(s.NInv)}, []int64{plain(s.RootsForward[1])}, []int64{plain(s.RootsBackward[1])})
}

// pair is the transform and its inverse.
func (t *Transforms) pair(conjugate bool, q, w, v, scale, root, inverse []int64) [2]*direction {
	if conjugate {
		return [2]*direction{newDirection(t.forwardConjugate, len(w), q, w, root),
			newDirection(t.backwardConjugate, len(w), q, v, scale, inverse)}
	}
	return [2]*direction{newDirection(t.forward, len(w), q, w), newDirection(t.backward, len(w), q, v, scale)}
}

// direction is a function of the program with all its arguments but the first.
type direction struct {
	f     *heal.Func
	n     int
	calls sync.Pool // of *call: the arguments of a call each
}

type call struct {
	args []*tensor.Tensor // the first is put on the elements
	out  []*tensor.Tensor
}

func newDirection(f *heal.Func, n int, fixed ...[]int64) *direction {
	d := &direction{f: f, n: n}
	var rest []*tensor.Tensor
	for _, x := range fixed {
		if len(x) == n {
			rest = append(rest, tensor.Wrap(x, 1, n))
		} else {
			rest = append(rest, tensor.Wrap(x, 1))
		}
	}
	d.calls.New = func() any {
		var nowhere = make([]int64, n)
		return &call{append([]*tensor.Tensor{tensor.Wrap(nowhere, 1, n)}, rest...),
			[]*tensor.Tensor{tensor.Wrap(nowhere, 1, n)}}
	}
	return d
}

// call transforms the first n elements of from, which may be to.
func (d *direction) call(from, to []uint64) error {
	c := d.calls.Get().(*call)
	defer d.calls.Put(c)
	if err := tensor.Rewrap(c.args[0], signed(from[:d.n])); err != nil {
		return err
	}
	if err := tensor.Rewrap(c.out[0], signed(to[:d.n])); err != nil {
		return err
	}
	return d.f.CallInto(context.Background(), c.out, c.args...)
}

// signed is x as the elements of an i64.
func signed(x []uint64) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// transformer is a ring.NumberTheoreticTransformer. The tables are made by the first call, when Lattigo has its own.
type transformer struct {
	kind   ring.Type
	tables func() [2]*direction
}

// Type is that of the ring, which a copy of Lattigo that the command patched wrote asks for.
func (r *transformer) Type() ring.Type { return r.kind }

func (r *transformer) Forward(p1, p2 []uint64)      { must(r.tables()[0].call(p1, p2)) }
func (r *transformer) ForwardLazy(p1, p2 []uint64)  { r.Forward(p1, p2) }
func (r *transformer) Backward(p1, p2 []uint64)     { must(r.tables()[1].call(p1, p2)) }
func (r *transformer) BackwardLazy(p1, p2 []uint64) { r.Backward(p1, p2) }

// must panics, as Lattigo's transforms have no errors: code is compiled, so that memory is all that can be missing.
func must(err error) {
	if err != nil {
		panic(fmt.Errorf("number theoretic transform: %w", err))
	}
}
