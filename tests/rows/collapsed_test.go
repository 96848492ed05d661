package rows

import (
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestMixedRows: where a kernel's last axes are one, and its elements differ in which arm they take, the range is cut
// where the schedule says. An arm that has a check and a loop is none for vectors.
func TestMixedRows(t *testing.T) {
	const source = "pub fn f(x: u32[64, 63], p: u8[4095]) -> u32[64, 64] = " +
		"pad(x, 1, 0, 1, 5_u32 / bor(+/(p as u32), 1_u32))"
	interp, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	x := &ir.Array{DType: types.U32, Shape: []int64{64, 63}}
	for i := range 64 * 63 {
		x.Bits = append(x.Bits, uint64(i))
	}
	args := []*ir.Array{x, {DType: types.U8, Shape: []int64{4095}, Bits: make([]uint64, 4095)}}
	p := profile.Base().Clone()
	p.Loops.CollapsedWork = 1
	want := outcome(t, interp, "f", 1, args...)
	for k, cpu := range devices.Targets(t) {
		for _, w := range ways.Thorough(sample.Today(t)+k, 2) {
			for _, o := range w.Options(t, engine.Options{Threads: 1 + k%2,
				Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
				o.Debug.Profile = p
				m, err := engine.Compile(source, o)
				if err != nil {
					t.Fatal(err)
				}
				if diff := random.Diff(want, outcome(t, m, "f", 1, args...)); diff != "" {
					t.Errorf("%q: %s", cpu, diff)
				}
				m.Close()
			}
		}
	}
}
