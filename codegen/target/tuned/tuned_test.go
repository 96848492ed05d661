package tuned

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
)

// parse reads kernels.
func parse(t *testing.T, text string) *kernel.Module {
	t.Helper()
	m, errs := kernel.Parse(diag.NewFile("m.kernels", text))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	return m
}

// added is a module with one kernel, which adds to n elements what is named.
func added(t *testing.T, name string, n int, constant string) *kernel.Kernel {
	t.Helper()
	m := parse(t, fmt.Sprintf(`kernels "m"

kernel @%s(in x: f32[%d], out y: f32[%d]) over %%0 in 0..%d {
  note "add (line 1)"
  %%1: f32 = load x[%%0]
  %%2: f32 = const %s
  %%3: f32 = add %%1, %%2
  store y[%%0], %%3
}
`, name, n, n, n, constant))
	return m.Kernels[0]
}

// TestKey: names, notes and extents do not count for what a kernel is, what it computes does; and the shape has the
// extents to the next power of two.
func TestKey(t *testing.T) {
	k := KeyOf(added(t, "k0", 1000, "0.5"), "p")
	if k.Shape != "1024 1024" || k.Processor != "p" {
		t.Errorf("%+v", k)
	}
	for _, n := range []int{1024, 725, 1448} {
		if other := KeyOf(added(t, "k7", n, "0.5"), "p"); other != k {
			t.Errorf("%d elements are %+v, not %+v", n, other, k)
		}
	}
	for _, n := range []int{724, 1449} {
		other := KeyOf(added(t, "k0", n, "0.5"), "p")
		if other.Kernel != k.Kernel || other.Shape == k.Shape {
			t.Errorf("%d elements are %+v, beside %+v", n, other, k)
		}
	}
	if other := KeyOf(added(t, "k0", 1000, "0.25"), "p"); other.Kernel == k.Kernel {
		t.Error("another constant is the same kernel")
	}
	strided := added(t, "k0", 1000, "0.5")
	for i := range strided.Params {
		strided.Params[i].Elems = []types.Dim{types.Lit(1)}
	}
	if other := KeyOf(strided, "p"); other != k {
		t.Errorf("strides that are the usual ones are %+v", other)
	}
	if other := KeyOf(added(t, "k0", 7, "0.5"), "p"); other.Kernel == k.Kernel || other.Shape != "7 7" {
		t.Errorf("few elements are %+v", other)
	}
}

// TestSizeless: which numbers of a text stand for extents.
func TestSizeless(t *testing.T) {
	for text, want := range map[string]string{
		"over %20 in 0..1000 { load b30[1000*%20 + 500] }":   "over %20 in 0..#1 { load b30[#1*%20 + #2] }",
		"const 1000.25; const -176.0; const 1.2583166e+07":   "const 1000.25; const -176.0; const 1.2583166e+07",
		"check divide_by_zero %12 site 40; f32[15, 16, -17]": "check divide_by_zero %12 site ; f32[15, #1, -#2]",
		"99999999999999999999999 16":                         "#1 #2",
		"1000.":                                              "#1.",
		"":                                                   "",
	} {
		if got := sizeless(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestProcessor(t *testing.T) {
	for want, target := range map[string]codegen.Target{
		profile.Here().ID():    {},
		"znver4":               {CPU: "znver4"},
		"aarch64-linux-gnu":    {Triple: "aarch64-linux-gnu"},
		"x86_64-linux-gnu skx": {Triple: "x86_64-linux-gnu", CPU: "skx"},
		"x86-64-v4/x86-64-v3":  {CPU: "x86-64-v4/x86-64-v3"},
	} {
		if got := ProcessorOf(target); got != want {
			t.Errorf("%+v is %s, want %s", target, got, want)
		}
	}
}

// entry is one with a set, for a kernel of a number.
func entry(number int, set Set) Entry {
	return Entry{Key: Key{fmt.Sprintf("%016x", number), "16 16", "p"}, Name: "k0_f", Measured: "today, by <me>",
		Set: set, Time: 1234.5, Rejected: []Tried{{nil, 1500}, {Set{"rows.many": 4, "columns.rows": 8}, 1600.25}}}
}

// TestFile: what is written is read, the order in which entries come does not show, and one that is put in place of
// another leaves the rest.
func TestFile(t *testing.T) {
	a, b := &File{}, &File{}
	for i := range 5 {
		a.Put(entry(i, Set{"rows.many": 2 + i}))
		b.Put(entry(4-i, Set{"rows.many": 6 - i}))
	}
	if !bytes.Equal(a.Text(), b.Text()) || a.Digest() != b.Digest() {
		t.Errorf("in another order:\n%s\n%s", a.Text(), b.Text())
	}
	back, err := Parse("f.tune", a.Text())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Text(), a.Text()) || len(back.Entries()) != 5 {
		t.Errorf("%s is read as\n%s", a.Text(), back.Text())
	}
	if !strings.Contains(string(a.Text()), `"measured": "today, by <me>"`) {
		t.Errorf("%s", a.Text())
	}
	c := back.Clone()
	c.Put(entry(2, nil))
	if n := len(c.Entries()); n != 5 || len(c.Find(entry(2, nil).Key).Set) != 0 || c.Digest() == a.Digest() {
		t.Errorf("%d entries:\n%s", n, c.Text())
	}
	if back.Find(entry(2, nil).Key).Set["rows.many"] != 4 {
		t.Error("a change of a copy shows in the file")
	}
	var none *File
	if none.Find(Key{}) != nil || none.Entries() != nil || none.Digest() != "" || none.Clone().Find(Key{}) != nil {
		t.Error("no file has entries")
	}
}

// TestErrors: what is wrong in a file is said.
func TestErrors(t *testing.T) {
	good := string(func() []byte { f := &File{}; f.Put(entry(1, Set{"rows.many": 4})); return f.Text() }())
	change := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q in\n%s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	twice := good[strings.Index(good, "{\"kernel"):strings.LastIndex(good, "\n]")]
	for text, want := range map[string]string{
		"":                            "EOF",
		"like = base":                 "line 1: invalid character",
		"{\n\"heal_tune\": 1,\n,":     "line 3: invalid character",
		"{}":                          "heal_tune is 0, and this healc reads 1",
		`{"heal_tune": 2}`:            "heal_tune is 2, and this healc reads 1",
		`{"heal_tune": 1, "frob": 2}`: "unknown field \"frob\"",
		`{"heal_tune": "x"}`:          "cannot unmarshal string",
		good + "{}":                   "something behind its end",
		change(`"rows.many": 4`, `"rows.frob": 4`):       "entry 1: a profile has no number `rows.frob`",
		change(`"rows.many": 4`, `"rows.many": 99`):      "entry 1: rows.many is 99, and has to be from 2 to 16 rows",
		change(`"rows.many": 4`, `"columns.rows": 3`):    "columns.rows is 3, and has to be a power of two",
		change(`"rows.many": 4`, `"plan.near_bytes": 0`): "plan.near_bytes is not of single kernels",
		change(`"rows.many": 4`, `"threads.op_time": 1`): "threads.op_time is not of single kernels",
		change(`"rows.many": 4`, `"rows.many": 4.5`):     "cannot unmarshal number 4.5",
		change("0000000000000001", "0000"):               "kernel is `0000`",
		change("0000000000000001", "000000000000000G"):   "has to be 16 hexadecimal digits",
		change(`"p"`, `""`):                              "it names no processor",
		change("today", `to\u001b[31mday`):               "a text is",
		change("today", strings.Repeat("x", maxWords+1)): "a text has more than 1000 bytes",
		change("1234.5", "-1"):                           "a time is -1 ns",
		change("1234.5", "1e300"):                        "a time is 1e+300 ns",
		change("]}\n]", "]},"+twice+"\n]"):               "two entries for",
		strings.Repeat(" ", MaxBytes+1):                  "more than 16777216 bytes",
		strings.Repeat("[", 100000):                      "invalid character",
	} {
		_, err := Parse("f.tune", []byte(text))
		var bad *Error
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "f.tune is no tune file: ") ||
			!strings.Contains(err.Error(), want) && want != "invalid character" {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

// TestUse: kernels are found in a file by what they are, and those that are not are told.
func TestUse(t *testing.T) {
	m := &kernel.Module{Kernels: []*kernel.Kernel{added(t, "a", 1000, "0.5"), added(t, "b", 1000, "0.25"),
		added(t, "c", 5000, "0.5")}}
	f := &File{Name: "f.tune"}
	f.Put(Entry{Key: KeyOf(m.Kernels[0], "p"), Set: Set{"loops.short_body": 0, "prefetch.distance": 64}})
	f.Put(Entry{Key: KeyOf(m.Kernels[1], "p")})
	u := f.Use(m, "p")
	sets := u.Sets()
	if len(u.Entries) != 2 || len(sets) != 1 || Text(sets) != "a: loops.short_body = 0, prefetch.distance = 64\n" {
		t.Errorf("%+v, %+v", u, sets)
	}
	p := sets["a"].On(profile.Base())
	if p.Loops.ShortBody != 0 || p.Prefetch.Distance != 64 || profile.Base().Prefetch.Distance == 64 {
		t.Errorf("%+v", p)
	}
	if sets["b"].On(profile.Base()) != profile.Base() {
		t.Error("no numbers make another profile")
	}
	err := u.All(f)
	var missing *MissingError
	if !errors.As(err, &missing) || len(missing.Missing) != 1 ||
		err.Error() != "f.tune has no measured schedule for the kernel c, for the shapes 4096 4096 on the processor p" {
		t.Error(err)
	}
	if err := f.Use(m, "q").All(nil); err == nil || !strings.HasPrefix(err.Error(), "there is no tune file") ||
		!strings.Contains(err.Error(), ", and 2 more") {
		t.Error(err)
	}
	m.Kernels = m.Kernels[:2]
	if err := f.Use(m, "p").All(f); err != nil {
		t.Error(err)
	}
}

// TestFields: the numbers of single kernels are those that schedules and emitters read.
func TestFields(t *testing.T) {
	for name, want := range map[string]bool{"prefetch.distance": true, "ntt.words": true, "matmul.chunk_rows": true,
		"gpu.unrolled": false, "threads.wake_time": false, "plan.unit_rows": false, "effort.quick": false} {
		if f := profile.FieldNamed(name); f.OfKernels() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	if _, ok := profile.FindField("frob"); ok {
		t.Error("there is a field `frob`")
	}
}

func FuzzParse(f *testing.F) {
	file := &File{}
	file.Put(entry(1, Set{"rows.many": 4}))
	f.Add(file.Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("f", text)
		if err != nil {
			return
		}
		again, err := Parse("f", file.Text())
		if err != nil || !bytes.Equal(again.Text(), file.Text()) {
			t.Errorf("%v: %s is written as %s", err, text, file.Text())
		}
		for _, e := range file.Entries() {
			e.Set.On(profile.Base())
		}
	})
}
