package gpu_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"healc/codegen/gpu"
)

// standardForms are the forms that the standard kernels testdata/NAME.txtar take, in the order of the kernels.
var standardForms = map[string][]string{
	"argmax":       {"cooperative", "cooperative"},
	"bags":         {"atomic scatter"},
	"bins":         {"atomic scatter"},
	"chain":        {"element-wise"},
	"colmax":       {"columns"},
	"colsum":       {"columns", "fallback"},
	"gather":       {"cooperative"},
	"gelu":         {"element-wise"},
	"histogram":    {"ordered scatter"},
	"layernorm":    {"cooperative with row cache"},
	"loop":         {"thread per row", "cooperative with row cache", "cooperative"},
	"matmul":       {"matmul"},
	"matmul_f64":   {"matmul"},
	"matvec":       {"thread per row"},
	"modmul":       {"element-wise"},
	"ntt":          {"cooperative"},
	"pick":         {"element-wise"},
	"rowsum":       {"cooperative"},
	"scan":         {"thread per row"},
	"softmax":      {"cooperative with row cache"},
	"softmax_long": {"cooperative", "columns", "cooperative", "cooperative", "element-wise"},
	"sort":         {"cooperative"},
	"total":        {"cooperative", "cooperative"},
	"transpose":    {"transpose"},
	"vectors":      {"cooperative"},
}

// TestForms: the standard kernels take the forms that are meant for them, and every form is one of a standard kernel.
func TestForms(t *testing.T) {
	all := archives(t)
	if len(all) != len(standardForms) {
		t.Fatalf("%d archives and %d rows", len(all), len(standardForms))
	}
	taken := map[string]bool{}
	for _, a := range all {
		km, done := standardKernels(t, a.text["in.heal"], a.text["bind"])
		names := gpu.FormNames(km, "")
		done()
		var got []string
		for _, k := range km.Kernels {
			got = append(got, names[k.Name])
			taken[names[k.Name]] = true
		}
		if want := standardForms[a.name]; !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", a.name, got, want)
		}
	}
	for _, f := range gpu.KernelForms {
		if !taken[f.Name] {
			t.Errorf("no standard kernel takes the form %s", f.Name)
		}
	}
}

// TestFormsInDocs: docs/gpu.md has the forms in their order, with what each is for.
func TestFormsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/gpu.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "| form |")
	rows := strings.Split(rest, "\n")[2:]
	for i, f := range gpu.KernelForms {
		if want := fmt.Sprintf("| %s | %s | ", f.Name, f.For); !strings.HasPrefix(rows[i], want) {
			t.Errorf("row %d is %q, which does not begin with %q", i, rows[i], want)
		}
	}
	if next := rows[len(gpu.KernelForms)]; next != "" {
		t.Errorf("a row beyond the last form: %q", next)
	}
}
