package stdlib_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/stdlib"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// longestFirst are the modules: the longest, which take most of the time, stand beside each other, so that what goes by
// days has them on different ones.
func longestFirst() []string {
	names := stdlib.Names()
	slices.SortStableFunc(names, func(a, b string) int {
		textA, _ := stdlib.Source(a)
		textB, _ := stdlib.Source(b)
		return len(textB) - len(textA)
	})
	return names
}

// TestModules runs the `test` blocks of every module on the interpreter, of every eighth one on the CPU and of another
// eighth one on it in another way, the others on the next days, and some on a device. Compiling a module as the file
// itself types its generic functions for every type of their bounds.
func TestModules(t *testing.T) {
	names := longestFirst()
	if len(names) < 7 {
		t.Fatalf("the library has only %v", names)
	}
	day := sample.Today(t)
	for k, name := range names {
		t.Run(name, func(t *testing.T) {
			text, ok := stdlib.Source(name)
			if !ok {
				t.Fatal("listed, but not there")
			}
			for _, backend := range []string{heal.Interp, heal.CPU, devices.Backend()} {
				if backend == heal.CPU && (testing.Short() || !sample.Has(day, k+2, 8)) ||
					backend == devices.Backend() && !devices.Takes(1, 1) {
					continue
				}
				m, err := engine.CompileFile(diag.NewFile(name+".heal", text), engine.Options{
					Backend: backend, Threads: 1, Tests: true, Cache: cache.Default(),
					System: runtime.OS{Out: io.Discard},
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Program().Tests) == 0 {
					t.Error("there are no tests")
				}
				for i, test := range m.Program().Tests {
					if backend == devices.Backend() && !devices.Takes(i+day, 12) {
						continue
					}
					f, err := m.Func(test.Fn.Name)
					if err == nil {
						_, err = f.CallAll(context.Background())
					}
					if err != nil {
						t.Errorf("%s: %s: %v", backend, test.Name, err)
					}
				}
				m.Close()
			}
			if testing.Short() {
				return
			}
			for _, w := range ways.Usual(k, 8) {
				if w == ways.Least && !sample.All() {
					continue // as the module runs already, with less effort
				}
				if err := w.Run(t, engine.Options{Threads: 1, Tests: true, System: runtime.OS{Out: io.Discard}},
					func(o engine.Options) error { return blocks(name, text, o, every) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// every takes all of the blocks.
func every(int) bool { return true }

// blocks runs the test blocks of a module that are taken.
func blocks(name, text string, o engine.Options, take func(i int) bool) error {
	m, err := engine.CompileFile(diag.NewFile(name+".heal", text), o)
	if err != nil {
		return err
	}
	defer m.Close()
	for i, test := range m.Program().Tests {
		if !take(i) {
			continue
		}
		f, err := m.Func(test.Fn.Name)
		if err == nil {
			_, err = f.CallAll(context.Background())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", test.Name, err)
		}
	}
	return nil
}

// TestFormatted: the library has the layout of `healc fmt`.
func TestFormatted(t *testing.T) {
	for _, name := range stdlib.Names() {
		text, _ := stdlib.Source(name)
		if want, list := format.Source(diag.NewFile(name+".heal", text)); want != text || list.HasErrors() {
			t.Errorf("%s.heal is not formatted: run healc fmt -w", name)
		}
	}
}

// TestUnknown: only modules are found.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"", "nosuch", "../stdlib/math", "math.heal"} {
		if _, ok := stdlib.Source(name); ok {
			t.Errorf("there is a module %q", name)
		}
	}
}

// TestMisuse: what a function cannot do with its arguments stops the program, which says what is wrong and where it was
// called.
func TestMisuse(t *testing.T) {
	const adamWith = "{ let (p, _) = optim.adam_with([1.0], [0.5], optim.adam_start([1.0]), 0.1, "
	cases := []struct{ call, want string }{
		{"ring.bitrev[6]()[0] as i64", "the length of a transform is a power of two, not 6"},
		{"ring.twiddles[1, 12]([97], [5])[0, 0]", "the length of a transform is a power of two, not 12"},
		{"ring.inv_twiddles[1, 12]([97], [5])[0, 0]", "the length of a transform is a power of two, not 12"},
		{"+/(ring.bitrev[1]() as i64) + n", ""},
		{"ring.psi(13, 3)", "the length of a transform is a power of two, not 3"},
		{"ring.psi(13, 0)", "the length of a transform is a power of two, not 0"},
		{"ring.psi(91, 2)", "91 is no prime p with p = 1 modulo 2m for the length m = 2"},
		{"ring.checked(n, -4)", "the length of a transform is a power of two, not -4"},
		{"ring.prime_below(100, 3)", "the length of a transform is a power of two, not 3"},
		{"ring.prime_below(100, 0)", "the length of a transform is a power of two, not 0"},
		{"ring.prime_below(-9223372036854775807 - n, 4)", "no prime below -9223372036854775807 is 1 modulo 8"},
		{"ring.primes[2](4, 8)[0]", "no prime below 16 is 1 modulo 16"},
		{"ring.primes[2](63, 8)[0]", "a prime or a digit has 1 to 62 bits, not 63"},
		{"if ring.is_ntt_prime(13, 3) || ring.is_ntt_prime(17, -8) || ring.is_ntt_prime(17, 0) { 1 } else { 1 / n }",
			"integer division by zero"},
		{"ring.convert_fast[1, 2, 1, 1]([[[1], [2]]], [6, 9], [7])[0, 0, 0]", "has no inverse modulo"},
		{"ring.convert_exact[1, 2, 1, 1]([[[1], [2]]], [6, 9], [7])[0, 0, 0]",
			"6 has no inverse modulo 9: they share a factor"},
		{"ring.mod_switch[1, 2, 1]([[[1], [2]]], [6, 9])[0, 0, 0]", "9 has no inverse modulo 6: they share a factor"},
		{"ring.automorphism[1, 1, 4]([[[1, 2, 3, 4]]], 6, [17])[0, 0, 0]",
			"6 has no inverse modulo 8: they share a factor"},
		{"ring.automorphism_values[1, 1, 4]([[[1, 2, 3, 4]]], 2)[0, 0, 0]",
			"2 has no inverse modulo 8: they share a factor"},
		{"ring.automorphism_values_perm[6](5)[0] as i64", "the length of a transform is a power of two, not 6"},
		{"ring.digits[1, 1, 2, 1]([[[5]]], n as i32)[0, 0, 0, 0]", "a prime or a digit has 1 to 62 bits, not 0"},
		{"ring.digits[1, 1, 2, 1]([[[5]]], 63)[0, 0, 0, 0]", "a prime or a digit has 1 to 62 bits, not 63"},
		{"ring.digits[1, 1, 2, 1]([[[5]]], n as i32 + 62)[0, 0, 0, 0]", ""},
		{"ring.gadget[1, 2]([17], n as i32 + 63)[0, 0, 0]", "a prime or a digit has 1 to 62 bits, not 63"},
		{"signal.fft(zeros[f32, 0](), zeros[f32, 0]()) |> first", "an axis of 1 to 16777216 elements, not of 0"},
		{"signal.correlate([1], [1, 2, 3])[0] as i64", "extent -1 is out of range"},
		{"linalg.matrix_power([[2_i64]], n as i32 - 1)[0, 0]",
			"a matrix has no power -1 here: take one of its inverse"},
		{"{ let (q, r) = linalg.qr(zeros[f32, 2, 3]()); q[0, 0] as i64 }",
			"qr takes at least as many rows as columns, not 2 by 3"},
		{"random.integers[2](random.key(1), 3, n as i32 + 3)[0] as i64", "no integer is in [3, 3)"},
		{"random.integers[2](random.key(1), -2147483647, n as i32 + 2147483647)[0] as i64", ""},
		{"random.uniform_in[f32, 2](random.key(1), 1.0, n as f32)[0] as i64", "no number is in [lo, hi)"},
		{"random.uniform_in[f32, 2](random.key(1), 0.0, n as f32)[0] as i64", ""},
		{"random.uniform_in[f32, 2](random.key(1), 0.0, 1.0 / (n as f32))[0] as i64",
			"the ends of uniform numbers are finite"},
		{"random.bernoulli[2](random.key(1), n as f64 + 1.5)[0] as i64", "a probability is from 0 to 1"},
		{"nn.dropout(ones[f32, 1, 1](), n as f32 - 0.5, random.key(1))[0, 0] as i64", "a probability is from 0 to 1"},
		{"stats.quantile([1.0, 2.0], n as f32 + 50.0) as i64", "a quantile is from 0 to 1"},
		{"stats.histogram[f32, 2, 3]([1.0, 2.0], 1.0, n as f32 + 1.0)[0] as i64", "no number is in [lo, hi)"},
		{"optim.clip_norm([3.0], n as f32 - 1.0)[0] as i64", "a limit is not negative"},
		{"optim.clip_norm([0.0], n as f32 - 1.0)[0] as i64", "a limit is not negative"},
		{"optim.clip_value([3.0], n as f32 - 1.0)[0] as i64", "a limit is not negative"},
		{"optim.clip_norm([3.0], n as f32)[0] as i64", ""},
		{"{ let (p, _) = optim.adam([1.0_bf16], [0.5], optim.adam_start([1.0_bf16]), 0.1); p[0] as i64 }",
			"the usual constants of Adam need more than 16 bits"},
		{"{ let (p, _) = optim.adamw([1.0_f16], [0.5], optim.adam_start([1.0_f16]), 0.1, 0.1); p[0] as i64 }",
			"the usual constants of Adam need more than 16 bits"},
		{adamWith + "n as f32 + 1.0, 0.5, 0.001, 0.0); p[0] as i64 }",
			"the first mean of Adam keeps a part in [0, 1)"},
		{adamWith + "0.5, n as f32 + 1.0, 0.001, 0.0); p[0] as i64 }",
			"the second mean of Adam keeps a part in [0, 1)"},
		{adamWith + "0.5, n as f32 - 0.5, 0.001, 0.0); p[0] as i64 }",
			"the second mean of Adam keeps a part in [0, 1)"},
		{adamWith + "0.5, 0.5, n as f32 - 0.001, 0.0); p[0] as i64 }", "what Adam adds to the root is not negative"},
		{adamWith + "n as f32, 0.5, 0.0, 0.0); p[0] as i64 }", ""},
		{"signal.moving_mean[f32, 3, 0]([1.0, 2.0, 3.0])[0] as i64", "a mean is of at least 1 element, not 0"},
		{"signal.mean_pool[f32, 1, 1, 0](zeros[f32, 0, 0]())[0, 0] as i64", "a mean is of at least 1 element, not 0"},
		{"stats.normal_density(0.0, 0.0, n as f32 - 1.0) as i64", "a standard deviation is not negative"},
		{"stats.normal_below(0.0, 0.0, n as f32 - 1.0) as i64", "a standard deviation is not negative"},
		{"stats.histogram[f32, 1, 3]([1.0], 1.0, 1.0 / (n as f32))[0] as i64", "the bins of a histogram are finite"},
		{"linalg.matrix_power([[2_i64]], n as i32)[0, 0]", ""},
		{"nn.embedding(ones[f32, 3, 1](), [n as i32, 3])[0, 0] as i64",
			"index 3 is out of range for an axis of extent 3"},
		{"optim.stairs(3, 0.5, n as i32, 0.5) as i64", "a stair has at least 1 step, not 0"},
		{"math.binomial(n + 1000000, 50000)", "calls are nested"},
		{"math.binomial(n + 10, 5) + math.gcd(n + 2, 4) - 254 + (if n == 0 { 0 } else { 1 / n })", ""},
		{"optim.cosine(0, 0.5, 2.0, n as i32) as i64 - 2 + (optim.warm_up[f32](0, n as i32) as i64) - 1 + n", ""},
		{"stats.median(zeros[f32, 0]()) as i64", "index -1 is out of range"},
		{"math.logsumexp(zeros[f32, 0]()) as i64", "of no elements has no value"},
		{"math.factorial(n + 50000)", ""},
	}
	for _, c := range cases {
		src := `import linalg
import math
import nn
import optim
import random
import ring
import signal
import stats

fn first[T: float, N](x: (T[N], T[N])) -> i64 = { let (a, _) = x; a[0] as i64 }

fn f(n: i64) -> i64 = ` + c.call + "\n"
		check := func(o engine.Options) error {
			m, err := engine.CompileFile(diag.NewFile("user.heal", src), o)
			if err == nil {
				var f *engine.Func
				if f, err = m.Func("f"); err != nil {
					t.Fatal(err)
				}
				_, err = f.Call(context.Background(), tensor.Scalar(int64(0)))
				m.Close()
			}
			switch {
			case c.want == "":
				return err
			case err == nil:
				return errors.New("no error")
			case !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "user.heal:12:"):
				return fmt.Errorf("%w\nwant %s", err, c.want)
			}
			return nil
		}
		if err := check(engine.Options{Backend: heal.Interp}); err != nil {
			t.Errorf("%s on the interpreter: %v", c.call, err)
		}
		for _, w := range ways.Drawn(c.call) {
			if err := w.Run(t, engine.Options{Backend: heal.CPU, Threads: 1}, check); err != nil {
				t.Errorf("%s: %v", c.call, err)
			}
		}
	}
}
