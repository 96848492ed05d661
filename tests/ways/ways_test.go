package ways

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/runtime/tensor"
	"healc/tests/sample"
)

// TestUsual: in enough days each case is compiled in each way, on most days in the usual one; the long tests compile it
// in all.
func TestUsual(t *testing.T) {
	const of = 4
	t.Setenv(sample.Long, "")
	t.Setenv(Env, "")
	for i := range 20 {
		seen := map[string]int{}
		days := of * (len(All) - 1)
		for day := range days {
			t.Setenv(sample.DayEnv, strconv.Itoa(100+day))
			ways, thorough := Usual(i, of), Thorough(i, of)
			if len(ways) != 1 || len(thorough) != 1 {
				t.Fatalf("%d and %d ways", len(ways), len(thorough))
			}
			seen[ways[0].Name]++
			seen["thorough "+thorough[0].Name]++
		}
		if len(seen) != 2*len(All) || seen[Least.Name] != days-days/of || seen["thorough "+Full.Name] != days-days/of {
			t.Errorf("case %d: %v in %d days", i, seen, days)
		}
	}
	t.Setenv(Env, "full")
	if ways := Usual(3, of); len(ways) != 1 || ways[0].Name != "full" {
		t.Errorf("%v", ways)
	}
	t.Setenv(Env, "")
	t.Setenv(sample.Long, "1")
	if !slices.Equal(Usual(3, of), All) || !slices.Equal(Each(3), All) {
		t.Error("the long tests leave ways out")
	}
}

// TestDrawn: a text draws each of the ways, with about the same chance, always the same one on a day.
func TestDrawn(t *testing.T) {
	t.Setenv(sample.Long, "")
	t.Setenv(Env, "")
	seen := map[string]int{}
	for day := range 800 {
		t.Setenv(sample.DayEnv, strconv.Itoa(day))
		w := Drawn("fn f() -> i32 = 1")
		if len(w) != 1 || !slices.Equal(w, Drawn("fn f() -> i32 = 1")) {
			t.Fatalf("%v", w)
		}
		seen[w[0].Name]++
	}
	for _, w := range All {
		if n := seen[w.Name]; n < 50 || n > 200 {
			t.Errorf("%s is drawn %d times of 800", w, n)
		}
	}
	t.Setenv(sample.Long, "1")
	if !slices.Equal(Drawn(""), All) {
		t.Error("the long tests leave ways out")
	}
}

// TestRun: a cached way runs twice, what the second run has compiled is in the cache, and an error names the way.
func TestRun(t *testing.T) {
	for _, w := range All {
		runs, cached := 0, 0
		err := w.Run(t, engine.Options{Backend: heal.CPU}, func(o engine.Options) error {
			if runs++; o.Cache != nil {
				cached = len(o.Cache.Entries())
			}
			m, err := engine.Compile("fn f[N](x: f32[N]) -> f32[N] = x + 1.0\n", o)
			if err != nil {
				return err
			}
			defer m.Close()
			f, err := m.Func("f")
			if err != nil {
				return err
			}
			x := tensor.FromSlice([]float32{1, 2, 3})
			defer x.Close()
			y, err := f.Call(t.Context(), x)
			if err != nil {
				return err
			}
			defer y.Close()
			if got, _ := tensor.Slice[float32](y); !slices.Equal(got, []float32{2, 3, 4}) {
				t.Errorf("%s gives %v", w.Name, got)
			}
			return nil
		})
		if want := map[bool]int{false: 1, true: 2}[w.Cached]; err != nil || runs != want || cached != want-1 {
			t.Errorf("%s: %d runs, %d entries of the cache before the last one, %v", w.Name, runs, cached, err)
		}
	}
	err := All[1].Run(t, engine.Options{}, func(engine.Options) error { return errors.New("here") })
	if err == nil || err.Error() != Env+"=full: here" {
		t.Error(err)
	}
}
