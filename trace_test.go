package heal_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
)

// TestTrace: every call, and in it every kernel, is recorded, and no event of a track begins in another and ends behind
// it. Results are the same.
func TestTrace(t *testing.T) {
	const src = `fn f(n: i32) -> i32[300] = iterate(n, tabulate(300, |i| i * 7 % 300), |x| sort(x .* 3 .- sum(x)) % 1000)`
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	var want string
	for _, backend := range []string{heal.Interp, heal.CPU, heal.PTXSim} {
		to := heal.NewTrace()
		m, err := heal.Compile(src, heal.Options{Backend: backend, Trace: to})
		if err != nil {
			t.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			y, err := f.Call(context.Background(), heal.Scalar(int32(3)))
			if err != nil {
				t.Fatal(err)
			}
			if want == "" {
				want = y.String()
			}
			if y.String() != want {
				t.Errorf("%s: %s, want %s", backend, y, want)
			}
			y.Close()
		}
		m.Close()
		var text strings.Builder
		if err := to.Write(&text); err != nil {
			t.Fatal(err)
		}
		var file struct {
			TraceEvents []struct {
				Ph, Name, Cat string
				Tid           int
				Ts, Dur       float64
			}
		}
		if err := json.Unmarshal([]byte(text.String()), &file); err != nil {
			t.Fatal(err)
		}
		found := map[string]int{}
		for i, e := range file.TraceEvents {
			if e.Ph != "X" {
				continue
			}
			found[e.Cat]++
			for _, o := range file.TraceEvents[:i] {
				const slack = 0.002 // of rounding
				if o.Ph == "X" && o.Tid == e.Tid && o.Ts+slack < e.Ts && e.Ts+slack < o.Ts+o.Dur &&
					o.Ts+o.Dur+slack < e.Ts+e.Dur {
					t.Errorf("%s: %+v and %+v overlap", backend, o, e)
				}
			}
		}
		if backend == heal.Interp {
			if len(found) > 0 {
				t.Errorf("the interpreter has recorded %v", found)
			}
		} else if found["call"] != 2 || found["kernel"] < 2*4 || found["loop"] != 2 {
			t.Errorf("%s: %v", backend, found)
		}
	}
	if _, err := heal.Compile(src, heal.Options{Sandbox: &heal.Sandbox{}, Trace: heal.NewTrace()}); err == nil ||
		!strings.Contains(err.Error(), "Trace") {
		t.Errorf("in a sandbox: %v", err)
	}
}
