package tune

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/cmd/healc/measure"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
)

func testLab(t *testing.T) *lab {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	l := newLab(context.Background(), []int{1, 2})
	t.Cleanup(l.close)
	return l
}

// TestExperiments: each number that is tried is one that its field may have, and may be measured; each function is
// there, and is of use.
func TestExperiments(t *testing.T) {
	l := testLab(t)
	m, err := l.module(profile.Base(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	used := []string{"tiny"}
	for _, e := range experiments {
		for _, name := range e.set {
			f := profile.FieldNamed(name)
			if f.Fixed() {
				t.Errorf("%s is the same for every processor", name)
			}
			for _, x := range e.values {
				if err := f.Set(profile.Base().Clone(), x); err != nil {
					t.Error(err)
				}
			}
		}
		for _, name := range e.by {
			if _, err := m.Func(name); err != nil {
				t.Error(err)
			}
			used = append(used, name)
		}
	}
	for _, f := range m.IR().Funcs {
		if name := strings.TrimSuffix(f.Name, "_in"); f.Public && !slices.Contains(used, name) {
			t.Errorf("no experiment needs %s", f.Name)
		}
	}
}

// TestTry: an experiment tells values that make other code from those that do not, and leaves a profile that is
// one of those it tried.
func TestTry(t *testing.T) {
	l := testLab(t)
	p := profile.Named("generic-avx512").Clone()
	f, err := l.try(experiment{[]string{"loops.speculated"}, []int{1, 4, 8}, []string{"near_sin"}}, p, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if f.From != 4 || p.Loops.Speculated != f.To || !f.Neutral && len(f.Tried) == 0 {
		t.Errorf("%+v, and the profile has %d", f, p.Loops.Speculated)
	}
	for _, x := range f.Tried {
		if x.Value == 4 || x.Time <= 0 {
			t.Errorf("%d took %g", x.Value, x.Time)
		}
	}
	f, err = l.try(experiment{[]string{"gpu.unrolled"}, []int{4, 8, 16}, []string{"near_sin"}}, p, time.Millisecond)
	if err != nil || !f.Neutral || f.To != f.From {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestRegion: what a region of threads costs is measured, and lies in the range of its field.
func TestRegion(t *testing.T) {
	l := testLab(t)
	p := profile.Base().Clone()
	r, err := l.region(p, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Op <= 0 || r.Byte <= 0 {
		t.Errorf("%+v", r)
	}
	r.set(p)
	if want := min(max(2*r.Cost.Nanoseconds(), 1), 1e6); int64(p.Threads.RegionTime) != want {
		t.Errorf("a region of %v counts %d ns", r.Cost, p.Threads.RegionTime)
	}
	if most := 2 * time.Second; r.Wake < 0 || r.Wake > most || r.Moved < 0 {
		t.Errorf("%+v", r)
	}
	r.Wake, r.Moved = 20*time.Microsecond, 25
	if r.set(p); p.Threads.WakeTime != 40 || p.Threads.MovedTime != 50 {
		t.Errorf("threads that come after 20us, and bytes of 25 ps, count %d us and %d ps", p.Threads.WakeTime,
			p.Threads.MovedTime)
	}
}

// TestText: the file that is written is a profile, of this machine, with what was found.
func TestText(t *testing.T) {
	shipped, _ := profile.For(profile.Here())
	p := shipped.Clone()
	p.Rows.Many, p.Rows.Some, p.Threads.RegionTime = 2, 2, 777
	figures := measure.Figures{Threads: 2, Read: 12.5, Copy: 10, F32: 100.25, F64: 50, I32: 1e5}
	r := &Report{Healc: "1.2",
		Host: measure.Host{CPU: "a processor", Cores: 2, Load: "0.5", Time: "2026-11-24T10:00:00Z"},
		Like: shipped.Name, Profile: p, Region: Region{Cost: 388, Wake: 5000, Op: 1.5, Byte: 2},
		Figures: []measure.Figures{figures}, Findings: []Finding{
			{Fields: []string{"rows.many", "rows.some"}, By: []string{"shared_row"}, From: 8, To: 2, Gain: 1.25,
				Tried: []Tried{{2, 0.8}, {4, 0.9}}},
			{Fields: []string{"columns.rows"}, By: []string{"column_sums"}, From: 4, To: 4, Gain: 1, Neutral: true},
			{Fields: []string{"ntt.ahead"}, By: []string{"transforms"}, From: 1024, To: 1024, Gain: 1, Skipped: true}}}
	path := filepath.Join(t.TempDir(), "folder", "that.profile")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	f, err := profile.Read(path, profile.Here())
	if err != nil {
		t.Fatal(err)
	}
	got := f.Profile.Clone()
	got.Name = shipped.Name
	if *got != *p {
		t.Errorf("%+v is written as %+v", p, got)
	}
	back, ok := ParseFigure(f.Figures[0])
	if !ok || back.Threads != 2 || back.Read != 12.5 || back.F32 != 100.2 || back.I32 != 1e5 {
		t.Errorf("%+v, %v of %q", back, ok, f.Figures[0])
	}
	if _, ok := ParseFigure("nothing"); ok {
		t.Error("`nothing` is a figure")
	}
	if !strings.HasPrefix(f.Measured, "2026-11-24T10:00:00Z, healc 1.2, a processor") {
		t.Errorf("measured %q", f.Measured)
	}
	text, _ := os.ReadFile(path)
	for _, want := range []string{
		"rows.many, rows.some, by shared_row: beside 8, 2 takes 0.800, 4 takes 0.900 of the time; " +
			"again 2 takes 0.800\n",
		"columns.rows, by column_sums: 4; other values make the same code here\n",
		"ntt.ahead, by transforms: 1024; there was no time left to measure it\n", "threads.region_time = 777\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 1 {
		t.Errorf("%d files are left", len(list))
	}
}
