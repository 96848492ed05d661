package sources

import (
	"fmt"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/ops"
	"healc/passes"
)

// TestOneRankPaysNothing: what a program says to ranks is gone when it is fused, and has changed nothing by then.
func TestOneRankPaysNothing(t *testing.T) {
	n, said := 150, 0
	if testing.Short() {
		n = 30
	}
	for i := range uint64(n) {
		p := New(ranked+i, nil)
		m, err := engine.Compile(p.Text(), engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Text())
		}
		with, without := m.IR(), m.IR().Clone()
		m.Close()
		if !silence(without) {
			continue
		}
		said++
		for k := range int64(3) { // the first is for any shape
			bind := map[string]int64{}
			for _, d := range p.Dims {
				bind[d] = p.Bind[d] + k - 1
			}
			if k == 0 {
				bind = nil
			}
			if got, want := fused(with.Clone(), bind), fused(without.Clone(), bind); got != want {
				t.Errorf("seed %d, %v:\n%s\nis\n%s\nand without what it says to ranks\n%s", p.Seed, bind, p.Text(), got,
					want)
				return
			}
		}
	}
	if said < n/5 {
		t.Errorf("%d of %d programs say something to ranks", said, n)
	}
}

// silence removes what a module says to ranks, and reports whether there was something.
func silence(m *ir.Module) bool {
	with := map[*ir.Value]*ir.Value{}
	for _, f := range m.Funcs {
		ir.WalkBlocks(f.Body, func(b *ir.Block) {
			kept := b.Ops[:0]
			for _, op := range b.Ops {
				if op.Def == ops.Shard || op.Def == ops.Replicate {
					with[op.Result()] = op.Args[0]
					continue
				}
				kept = append(kept, op)
			}
			b.Ops = kept
		})
		ir.Replace(f.Body, with)
	}
	return len(with) > 0
}

// fused is the function f as fusion operations, or why it is not.
func fused(m *ir.Module, bind map[string]int64) string {
	if err := passes.Run(m, passes.Standard("f", bind), passes.Options{}); err != nil {
		return fmt.Sprint(err)
	}
	return strings.TrimSpace(m.String())
}
