package mpi

import (
	"bytes"
	"testing"

	"github.com/ebitengine/purego"

	"healc/runtime/dynlib"
)

// libc is a function of the C library.
func libc(t testing.TB, name string) uintptr {
	t.Helper()
	dl, err := dynlib.Open("libc.so.6", dynlib.Now|dynlib.Global)
	if err != nil {
		t.Skip(err)
	}
	f, err := dynlib.Symbol(dl, name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSeries: calls get all of their arguments, and end with the first whose result, an int, is not 0.
func TestSeries(t *testing.T) {
	s := &series{}
	abs, write := libc(t, "abs"), libc(t, "snprintf")
	text, format := make([]byte, 64), []byte("%d %d %d %d %d %d %d %d %d\x00")
	first := call{fn: write, args: [...]uintptr{data0(text), uintptr(len(text)), data0(format),
		1, 2, 3, 4, 5, 6, 7, 8, 9}}
	minus := call{fn: abs, args: [...]uintptr{^uintptr(0) &^ 4, 11: 0}}
	none := call{fn: abs, args: [mostArgs]uintptr{}}
	for _, c := range []struct {
		calls []call
		want  uintptr
		made  string // what was written
	}{
		{[]call{none, minus}, 5, ""},
		{[]call{minus, first}, 5, ""},
		{[]call{none, first}, 17, "1 2 3 4 5 6 7 8 9"},
		{[]call{none}, 0, ""},
	} {
		clear(text)
		for _, one := range c.calls {
			*s.next(one.fn) = one.args
		}
		got := s.run()
		if written := string(bytes.TrimRight(text, "\x00")); got != c.want || written != c.made {
			t.Errorf("%v: the result is %d, not %d, and %q was written, not %q", c.calls, got, c.want, written, c.made)
		}
	}
}

// BenchmarkCall is what it costs to be in C and back, which no call of MPI can do without, and what two calls in a
// series cost, and two by purego.
func BenchmarkCall(b *testing.B) {
	s := &series{}
	abs := libc(b, "abs")
	two := func() {
		s.next(abs)[0] = 0
		s.next(abs)[0] = 0
	}
	two()
	b.Run("the way alone", func(b *testing.B) {
		for range b.N {
			s.n = 1
			s.run()
		}
	})
	b.Run("series", func(b *testing.B) {
		for range b.N {
			two()
			s.run()
		}
	})
	b.Run("purego", func(b *testing.B) {
		for range b.N {
			purego.SyscallN(abs, 0)
			purego.SyscallN(abs, 0)
		}
	})
}

// BenchmarkExchange is what an exchange costs beside MPI: the library's functions do nothing here.
func BenchmarkExchange(b *testing.B) {
	nothing := libc(b, "pthread_condattr_destroy")
	m := &mpi{lib: &library{allgather: nothing, sendrecv: nothing, getCount: nothing}, size: 2, most: mostBytes, got: 8}
	all, counts := make([]byte, 16), []int{8, 8}
	for name, exchange := range map[string]func() error{
		"all-gather":   func() error { return m.AllGather(all, counts) },
		"all-to-all":   func() error { return m.AllToAll(all, counts, all, counts) },
		"send-receive": func() error { return m.SendRecv(all[:8], 1, all[8:], 1) },
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if err := exchange(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
