package stdlib_test

import (
	"context"
	"io"
	"testing"

	"healc"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/runtime"
	"healc/stdlib"
	"healc/tests/devices"
)

// TestModules runs the `test` blocks of every module on the interpreter, the CPU and, some of them, on a device. Compiling a module as
// the file itself types its generic functions for every type of their bounds.
func TestModules(t *testing.T) {
	names := stdlib.Names()
	if len(names) < 7 {
		t.Fatalf("the library has only %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, ok := stdlib.Source(name)
			if !ok {
				t.Fatal("listed, but not there")
			}
			for _, backend := range []string{heal.Interp, heal.CPU, devices.Backend()} {
				if backend == heal.CPU && testing.Short() || backend == devices.Backend() && !devices.Takes(1, 1) {
					continue
				}
				m, err := heal.CompileFile(diag.NewFile(name+".heal", text), heal.Options{
					Backend: backend, Threads: 1, Tests: true, Cache: heal.DefaultCache(), System: runtime.OS{Out: io.Discard},
				})
				if err != nil {
					t.Fatal(err)
				}
				if len(m.Program().Tests) == 0 {
					t.Error("there are no tests")
				}
				for i, test := range m.Program().Tests {
					if backend == devices.Backend() && !devices.Takes(i, 12) {
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
		})
	}
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
