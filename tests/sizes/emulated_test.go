package sizes

import (
	"errors"
	"testing"
	"time"

	"healc"
	"healc/tests/emulated"
	"healc/tests/random"
)

// TestAArch64 compiles every program for any size and strides for AArch64, and runs it under qemu. With -short it is a fifth
// of them, another one every day.
func TestAArch64(t *testing.T) {
	m := compile(t, heal.Options{Threads: 1})
	defer m.Close()
	names, every := m.Names(), 11
	if testing.Short() {
		var some []string
		for i, name := range names {
			if (int64(i)+time.Now().Unix()/86400)%5 == 0 {
				some = append(some, name)
			}
		}
		names, every = some, 97
	}
	l, err := m.Library("t", names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	lib, err := emulated.Build(t.TempDir(), l, emulated.AArch64)
	var missing *emulated.Missing
	if errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
	}()
	interp := compile(t, heal.Options{Backend: heal.Interp})
	for i, name := range names {
		f := m.IR().Func(name)
		for k, n := range sizes(every) {
			if n > 2048 && k%4 > 0 {
				continue // qemu is slow
			}
			seed := uint64(n)<<8 + uint64(i)
			bind := map[string]int64{"N": n, "M": small(n, int64(i))}
			input := arguments(f, n, bind["M"], seed)
			want := run(t, interp, name, input, seed)
			th := threads[(i+k)%len(threads)]
			got, err := lib.Run(name, bind, input, seed, th)
			if err != nil {
				t.Fatalf("%s, N = %d: %v", name, n, err)
			}
			if d := random.Diff(want, got); d != "" {
				t.Errorf("%s, N = %d, %d threads, seed %d: %s", name, n, th, seed, d)
			}
		}
	}
}
