package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
)

// TestRows: every row runs, at small sizes on the simulator, so that a machine with a device finds nothing broken.
func TestRows(t *testing.T) {
	if _, err := libllvm.Open(); err != nil || testing.Short() {
		t.Skip("not with -short or without libLLVM")
	}
	var out strings.Builder
	if err := bench(&out, heal.PTXSim, 1<<16, "no-python"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x * 2.0 + 1.0", "softmax", "layer norm", "x @ y, f32",
		"max/ along axis 0", "+/ along axis 0", "a histogram of 256", "i32 sums at 2^20", "f32 sums at 2^20",
		"x @ y, i8", "ntt, i64", "ntt with a permutation", "intt", "with graphs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no row of %s in\n%s", want, out.String())
		}
	}
}

// TestWithoutDevice: no device is no failure, and is said.
func TestWithoutDevice(t *testing.T) {
	if _, _, err := heal.Devices(heal.GPU); err == nil {
		t.Skip("there is a device")
	}
	if err := bench(os.Stdout, heal.GPU, 1, ""); err == nil {
		t.Error("it ran without a device")
	}
}

// TestTune: every program for which numbers are tried compiles, and one of them is measured with other numbers on the
// simulator, after which the profile is as it was.
func TestTune(t *testing.T) {
	if _, err := libllvm.Open(); err != nil || testing.Short() {
		t.Skip("not with -short or without libLLVM")
	}
	var out strings.Builder
	if err := codes(&out, "sm_90", 1<<16); err != nil {
		t.Fatal(err)
	}
	rows := tuned(1 << 16)
	usual := &variant{codes: strings.Fields(out.String())}
	if len(usual.codes) != len(rows) {
		t.Fatalf("%d codes of %d rows", len(usual.codes), len(rows))
	}
	d, err := heal.OpenDevice(heal.PTXSim, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := devices("sm_90")
	before := *p
	all := variants(p)
	for i, v := range all {
		v.codes = slices.Repeat([]string{strconv.Itoa(i % 2)}, len(rows)) // two that differ from the usual one
	}
	var table strings.Builder
	if err := tuneRow(&table, d, heal.PTXSim, p, rows[0], 0, usual, all); err != nil {
		t.Fatal(err)
	}
	if *p != before {
		t.Error("the profile is another one afterwards")
	}
	if !strings.HasPrefix(table.String(), rows[0].name) || !strings.Contains(table.String(), "3 codes") {
		t.Errorf("the table is\n%s", table.String())
	}
}
