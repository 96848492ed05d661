package schedule

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
)

// TestStreams: rows that are reduced go side by side and fetch ahead where the profile says so and they come from
// memory; what goes over a row twice does not.
func TestStreams(t *testing.T) {
	of := func(file string) *kernel.Kernel {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, string(txtar.Parse(data).Files[0].Data)).Kernels[0]
	}
	with := func(streams, ahead, large int) target.Machine {
		p := profile.Base().Clone()
		p.Reduce.Streams, p.Reduce.FreeStreams = streams, 1
		p.Reduce.Ahead, p.Prefetch.LargeInput = ahead, large
		return target.Machine{}.With(p)
	}
	streams := func(k *kernel.Kernel, m target.Machine) int64 {
		s := For(k, m, Options{})
		if err := Check(k, m, s); err != nil {
			t.Error(err)
		}
		if d := kernel.Directives(s.Directives).OfKind("streams"); d != nil {
			return d.Get("count")
		}
		return 0
	}
	rows := of("rows.txtar")
	for _, c := range []struct {
		m    target.Machine
		want int64
	}{{with(1, 0, 0), 0}, {with(2, 0, 1<<20), 2}, {with(4, 0, 1<<20), 4}, {with(4, 0, 1<<30), 0}} {
		if got := streams(rows, c.m); got != c.want {
			t.Errorf("rows have %d streams, want %d", got, c.want)
		}
	}
	free := with(1, 0, 0)
	free.Profile.Reduce.FreeStreams = 4
	if got := streams(rows, free); got != 0 {
		t.Errorf("sums of rows have %d streams, those of reductions whose order is free", got)
	}
	text := strings.ReplaceAll(rows.String(), "reduce sum lanes", "reduce max any")
	if got := streams(parse(t, "kernels \"m\"\n\n"+text).Kernels[0], free); got != 4 {
		t.Errorf("maxima of rows have %d streams, want 4", got)
	}
	if got := streams(of("softmax.txtar"), with(4, 0, 0)); got != 0 {
		t.Errorf("a softmax has %d streams", got)
	}
	for ahead, want := range map[int]bool{0: false, 4096: true} {
		got := false
		kernel.Directives(For(rows, with(1, ahead, 0), Options{}).Directives).Walk(func(d *kernel.Directive) {
			got = got || d.Kind == "prefetch" && d.Get("ahead") == int64(ahead)
		})
		if got != want {
			t.Errorf("with reduce.ahead = %d the rows fetch ahead: %t, want %t", ahead, got, want)
		}
	}
}
