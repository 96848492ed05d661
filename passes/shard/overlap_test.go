package shard_test

import (
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/diag"
	"healc/passes/shard"
)

// TestOverlap: exchanges go to where what they send is there, and kernels that need nothing of them before those that
// do; nothing goes past what has an effect, and nothing that may fail past another.
func TestOverlap(t *testing.T) {
	const text = `module "m"

io func @main(%x: f32[8], %y: f32[8], %z: f32[8], %i: i32[8]) -> () {
  print %i
  %0: f32[8] = exp %x
  %1: f32[8] = log %y
  %2: f32[16] = all_gather %1 {axis = 0, extent = 16, block = 8}
  %3: f32[16] = exp %2
  %4: f32[8] = sin %z
  %5: f32[8] = cos %4
  %6: f32[16] = sin %3
  %7: f32[8] = cos %y
  %8: i32[8] = div %i, %i
  print %8
  %9: f32[8] = sin %x
  print %3
  print %6
  print %5
  print %0
  print %7
  print %9
  return
}
`
	m, errs := ir.Parse(diag.NewFile("m", text))
	if errs.HasErrors() {
		t.Fatal(errs)
	}
	shard.Overlap(m)
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range m.Funcs[0].Body.Ops {
		if op.Def.Name != "print" || len(got) < 12 {
			got = append(got, op.Def.Name)
		}
	}
	want := "print exp log all_gather sin cos cos exp sin div print sin"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("the operations are\n%s, not\n%s\n%s", s, want, m)
	}
}
