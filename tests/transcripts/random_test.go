package transcripts

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	heal "healc"
	"healc/tests/devices"
	"healc/tests/sample"
)

var (
	randomN = flag.Int("random.n", 0,
		"how many random transcripts; 0 is a third of 1000, in turns by the day, or 60 with -short")
	randomCPU  = flag.Uint64("random.cpu", 4, "one of how many also runs on the CPU, which takes most of the time")
	randomSeed = flag.Uint64("random.seed", 0, "the first seed")
)

// TestRandom runs random transcripts, and compares what goes to the host with the plain evaluator. Each runs fused on
// the interpreter, and some on the CPU, operation by operation, and on several threads.
func TestRandom(t *testing.T) {
	n, parts, day := *randomN, 1, sample.Today(t)
	switch {
	case n == 0 && testing.Short():
		n = 60
	case n == 0:
		n, parts = 1000, sample.Part(3)
	}
	for i := range uint64(n) {
		if (int(i)+day)%parts > 0 {
			continue
		}
		seed := *randomSeed + i
		g := generate(seed)
		todo := []how{{heal.Interp, seed%8 == 1, 1, ""}}
		if i%*randomCPU == 0 {
			todo = append(todo, how{heal.CPU, i/(*randomCPU)%4 == 0, []int{1, 2, 3, 7}[i/(*randomCPU)/4%4],
				[]string{"", "x86-64", "x86-64-v3"}[i/(*randomCPU)%3]})
		}
		if devices.Takes(int(i), 125) {
			todo = append(todo, how{devices.Backend(), i/125%2 == 1, 1, ""})
		}
		for _, h := range todo {
			got, err := execute(t, g.json(), h, true)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, h, err)
			}
			if !reflect.DeepEqual(got, g.want) {
				t.Fatalf("seed %d, %s:\n got %v\nwant %v", seed, h, got, g.want)
			}
		}
	}
}

// generator makes a transcript and evaluates it on the way.
type generator struct {
	record
	*rand.Rand
	named map[any]*ten
	names []any // of named, in order
	next  int
	depth int
	older bool // the order of the arguments of expand
	want  [][]int64
}

func generate(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 5)), named: map[any]*ten{}}
	g.older = g.IntN(3) == 0
	for range 2 + g.IntN(3) {
		g.upload(g.shape(), g.some())
	}
	for range 4 + g.IntN(14) {
		g.step()
	}
	for g.depth > 0 {
		g.end()
		g.depth--
	}
	for _, n := range g.names {
		if g.IntN(2) == 0 || len(g.want) == 0 {
			g.fetch(n)
		}
	}
	return g
}

func (g *generator) some() string { return []string{"int64", "int64", "int32"}[g.IntN(3)] }

// shape is a random one, of few elements most of the time.
func (g *generator) shape() []int64 {
	s := make([]int64, g.IntN(4))
	for i := range s {
		s[i] = []int64{1, 1, 2, 3, 4, 5, 0}[g.IntN(6+g.IntN(20)/19)]
	}
	if len(s) > 0 && g.IntN(6) == 0 { // around the lengths of vectors and pieces
		s[g.IntN(len(s))] = g.Int64N(300)
	}
	return s
}

// name is a new name, or one that moves from what it meant.
func (g *generator) name() any {
	if len(g.names) > 0 && g.IntN(10) == 0 {
		return g.names[g.IntN(len(g.names))]
	}
	g.next++
	if g.IntN(2) == 0 {
		return g.next
	}
	return fmt.Sprint("t", g.next)
}

func (g *generator) bind(n any, x *ten) {
	if g.named[n] == nil {
		g.names = append(g.names, n)
	}
	g.named[n] = x
}

func (g *generator) pick() any { return g.names[g.IntN(len(g.names))] }

// element is a random number of a type: small, near a power of two, or any.
func (g *generator) element(d string) int64 {
	v := g.Int64() - g.Int64()
	switch g.IntN(4) {
	case 0, 1:
		v %= 20
	case 2:
		v = 1<<g.IntN(64) - g.Int64N(2)
	}
	return wrap(d, v)
}

// modulus is a random number above 0.
func (g *generator) modulus(d string) int64 {
	for {
		p := g.element(d)
		if g.IntN(3) == 0 {
			p %= 50
		}
		if p > 0 {
			return p
		}
	}
}

// upload sends random elements to the device, sometimes in Fortran order or from a narrower type.
func (g *generator) upload(shape []int64, d string) any {
	x := newTen(d, shape)
	from := d
	if d == "int64" && g.IntN(6) == 0 {
		from = "int32"
	}
	x.fill(func([]int64) int64 { return g.element(from) })
	return g.send(x, from)
}

// send puts the elements of x on the device.
func (g *generator) send(x *ten, from string) any { return g.sendAs(g.name(), x, from) }

func (g *generator) sendAs(n any, x *ten, from string) any {
	fortran := g.IntN(4) == 0 && len(x.shape) > 0
	g.op("host_to_device", dev(n, x.d), host(from, x.shape, fortran, x.values()))
	y := x
	if fortran && from == x.d {
		mem := columnMajor(x.shape, x.values())
		y = &ten{d: x.d, mem: &mem, shape: x.shape, strides: make([]int64, len(x.shape))}
		s := int64(1)
		for i, e := range x.shape {
			y.strides[i] = s
			s *= max(e, 1)
		}
	}
	g.bind(n, y)
	return n
}

// fresh makes an empty tensor for a result.
func (g *generator) fresh(shape []int64, d string) any {
	n := g.name()
	g.op([]string{"empty", "zeros"}[g.IntN(2)], dev(n, d), extents(shape), dtype(d))
	g.bind(n, newTen(d, shape))
	return n
}

// output finds a tensor of a type and shape that can be written, or makes one.
func (g *generator) output(shape []int64, d string) any {
	if g.IntN(3) > 0 {
		for _, i := range g.Perm(len(g.names)) {
			x := g.named[g.names[i]]
			if x.d == d && slices.Equal(x.shape, shape) && x.writable() {
				return g.names[i]
			}
		}
	}
	return g.fresh(shape, d)
}

func (t *ten) writable() bool {
	for i, n := range t.shape {
		if n > 1 && t.strides[i] == 0 {
			return false
		}
	}
	return true
}

// fetch brings a tensor to the host.
func (g *generator) fetch(n any) {
	x := g.named[n]
	vs := x.values()
	args := []obj{dev(n, x.d)}
	if g.IntN(2) == 0 {
		args = append(args, none())
	}
	g.op("device_to_host", host(x.d, x.shape, g.IntN(3) == 0 && len(x.shape) > 0, vs), args...)
	g.want = append(g.want, vs)
}

func (g *generator) tensor(n any) obj { return dev(n, g.named[n].d) }

// result records an operation whose last tensor is the output n, and sometimes gives the result another name.
func (g *generator) result(name string, n any, args ...obj) {
	out := n
	if g.IntN(5) == 0 {
		out = g.name()
		g.bind(out, g.named[n])
	}
	g.op(name, dev(out, g.named[n].d), args...)
}

// view records an operation that gives a new tensor.
func (g *generator) view(name string, x *ten, args ...obj) {
	n := g.name()
	g.op(name, dev(n, x.d), args...)
	g.bind(n, x)
}

func (g *generator) step() {
	makers := []func(){
		g.modular, g.modular, g.modular, g.remainder, g.axisSum, g.productSum, g.productSum, g.transform, g.transform,
		g.takeAlong,
		g.digits, g.digitsFull, g.absolute, g.pad, g.constant, g.moveAxis, g.expand, g.contiguous, g.slice, g.slice,
		g.reference, g.flatten,
		g.squeeze, g.unsqueeze, g.reshape,
	}
	switch g.IntN(12) {
	case 0:
		if g.depth > 0 && g.IntN(2) == 0 {
			g.depth--
			g.end()
		} else {
			g.depth++
			g.start("s")
		}
	case 1:
		if len(g.names) > 2 {
			i := g.IntN(len(g.names))
			g.free(g.names[i])
			delete(g.named, g.names[i])
			g.names = slices.Delete(g.names, i, i+1)
		}
	case 2:
		g.fetch(g.pick())
	case 3:
		g.upload(g.shape(), g.some())
	default:
		if g.IntN(30) == 0 {
			g.add("", "a note")
		}
		makers[g.IntN(len(makers))]()
	}
}
