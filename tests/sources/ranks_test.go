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
		if p := New(ranked+i, nil); compareSilent(t, p.Text(), p.Dims, p.Bind) {
			said++
		}
		if t.Failed() {
			return
		}
	}
	if said < n/5 {
		t.Errorf("%d of %d programs say something to ranks", said, n)
	}
}

// gradients are functions whose derivatives cut cotangents, in loops too.
var gradients = []string{
	"fn f[N](x: f32[N] sharded(0)) -> f32[N] = replicate(grad(|x| +/(iterate(3, x, |s| reshard(sin(s) * s, 0))))(x))",
	"fn f[N](x: f32[N] sharded(0), y: f32[N] sharded(0)) -> f32[N] =\n" +
		"    replicate(grad(|x| +/(iterate(5, x, |s| reshard(s * y, 0))))(x))",
	"fn f[N](x: f32[N], y: f32[N] sharded(0)) -> f32[N] =\n" +
		"    grad(|x| +/(iterate_until(x, |s| replicate(reshard(cos(s), 0) * y), |s| s[0] > 0.5, 9)))(x)",
	"fn f[N](x: f32[N, N] sharded(0), c: bool) -> f32[N, N] sharded(0) =\n" +
		"    grad(|x| +/(if c { let y: f32[N, N] sharded(1) = reshard(x * x, 1); replicate(y) * x } else { x }))(x)",
	"fn f[N](x: f32[N] sharded(0)) -> f32[N] = replicate(grad(checkpoint(|x| +/(replicate(exp(x)) * x)))(x))",
}

// TestGradientsPayNothing is TestOneRankPaysNothing for these.
func TestGradientsPayNothing(t *testing.T) {
	for _, text := range gradients {
		if !compareSilent(t, text, []string{"N"}, map[string]int64{"N": 5}) {
			t.Errorf("%s\nsays nothing to ranks", text)
		}
	}
}

// compareSilent compares a program with the one that says nothing to ranks, for any shape, for some and for others. It
// reports whether the program says something.
func compareSilent(t *testing.T, text string, dims []string, sizes map[string]int64) bool {
	t.Helper()
	m, err := engine.Compile(text, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	with, without := m.IR(), m.IR().Clone()
	m.Close()
	if !silence(without) {
		return false
	}
	for k := range int64(3) {
		var bind map[string]int64
		if k > 0 {
			bind = map[string]int64{}
			for _, d := range dims {
				bind[d] = sizes[d] + k - 1
			}
		}
		got, want := fused(with.Clone(), bind), fused(without.Clone(), bind)
		if got != want {
			t.Errorf("%v:\n%s\nis\n%s\nand without what it says to ranks\n%s", bind, text, got, want)
			break
		}
	}
	return true
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
