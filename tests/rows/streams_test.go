package rows

import (
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// streamed are reductions whose chunks or rows can go side by side.
const streamed = `
fn total[N](x: T[N]) -> T = +/(x)
fn products[N](x: T[N], y: T[N]) -> T = +/(x .* y)
fn several[N](x: T[N]) -> (T, T, T) = (+/(x), +/(x .* x), max/(x))
fn greatest[N](x: T[N]) -> (T, T) = (max/(x), min/(x))
fn first[N](x: T[N]) -> i32 = argmax(x)
fn cube[N](x: T[N, 3, 32]) -> T = +/(x)
fn rows[M, N](x: T[M, N]) -> (T[M], T[M]) = (+/[axis=1](x), +/[axis=1](x .* x))
fn best[M, N](x: T[M, N]) -> (i32[M], T[M]) = (argmin(x, axis = 1), max/[axis=1](x))
fn more[M, N](x: T[M, N], y: T[M, N]) -> T[M] = +/[axis=1](x .* y) .* x[.., 0]
`

// TestStreams compares reductions that go along 2 or 4 chunks or rows at once, and that fetch ahead, with the
// interpreter's bits.
func TestStreams(t *testing.T) {
	lengths := []int64{131072, 131073, 3*65536 - 1, 4096*35 + 2048}
	shapes := [][]int64{{5, 4096}, {301, 200}, {64, 129}, {1, 1000}, {9, 4095}, {130, 1000}}
	cpus := devices.Targets(t)
	day, step := sample.Today(t), sample.Part(3)
	turn := day
	if testing.Short() {
		step = 9
	}
	for i, d := range []types.DType{types.F32, types.F64, types.BF16, types.I32, types.U8, types.F16, types.I64} {
		if testing.Short() && i > 2 {
			break
		}
		source := strings.ReplaceAll(streamed, "T[", d.String()+"[")
		source = strings.NewReplacer("-> T", "-> "+d.String(), "(T, T, T)", "("+d.String()+", "+d.String()+", "+
			d.String()+")", "(T, T)", "("+d.String()+", "+d.String()+")").Replace(source)
		interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
		if err != nil {
			t.Fatal(err)
		}
		defer interp.Close()
		for k, count := range []int{2, 4} {
			turn++
			if !sample.Has(day+i, k, 4) {
				continue
			}
			p := profile.Base().Clone()
			p.Reduce.Streams, p.Reduce.FreeStreams, p.Prefetch.LargeInput = count, count, 0
			p.Reduce.Ahead = turn / 2 % 2 * 1024
			cpu := cpus[(turn/4+i)%len(cpus)]
			var modules []*engine.Module
			for _, w := range ways.Thorough(turn, 3) {
				for _, o := range w.Options(t, engine.Options{Threads: 1 + turn%3, SplitAll: true,
					Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
					o.Debug.Profile = p
					m, err := engine.Compile(source, o)
					if err != nil {
						t.Fatal(err)
					}
					defer m.Close()
					modules = append(modules, m)
				}
			}
			for k, name := range interp.Names() {
				of := shapes
				switch name {
				case "cube":
					of = [][]int64{{1400, 3, 32}, {2047, 3, 32}}
				case "rows", "best", "more":
				default:
					of = nil
					for _, n := range lengths {
						of = append(of, []int64{n})
					}
				}
				for j, shape := range of {
					if (k+j+turn)%step != 0 { // the others on other days
						continue
					}
					for _, m := range modules {
						if msg := compareLayouts(interp, m, name, shape, layouts[0], uint64(turn+j)); msg != "" {
							t.Errorf("%s of %s%v, %d streams, %q: %s", name, d, shape, count, cpu, msg)
						}
					}
				}
			}
		}
	}
}
