package transcripts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/internal/replay"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
	"healc/transcript"
)

// compiled keeps the code of this run of the tests: it is the same for any number of threads.
var compiled *cache.Cache

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "transcripts")
	if err != nil {
		panic(err)
	}
	compiled = &cache.Cache{Dir: dir}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// how is one way to run a transcript.
type how struct {
	backend string
	noFuse  bool
	threads int
	cpu     string // the processor that code is made for; "" is this one
}

func (h how) String() string {
	return fmt.Sprintf("%s noFuse=%v threads=%d", h.backend, h.noFuse, h.threads)
}

var hows = []how{{heal.Interp, false, 1, ""}, {heal.Interp, true, 1, ""}, {heal.CPU, false, 1, ""},
	{heal.CPU, false, 3, ""}, {heal.CPU, true, 2, ""}}

// execute runs a file; the caller gets the outputs as numbers. On the CPU it is compiled in the ways of the day, which
// have to give the same.
func execute(t testing.TB, data []byte, h how, verify bool) (outputs [][]int64, err error) {
	o := engine.Options{Backend: h.backend, Threads: h.threads, SplitAll: h.threads > 1,
		Target: codegen.Target{CPU: h.cpu}, Cache: compiled}
	if h.backend != heal.CPU {
		return executeOne(data, replay.Options{Options: o, NoFuse: h.noFuse}, verify)
	}
	o.Target.CPU = devices.InTurn(h.threads, h.cpu)
	for _, w := range ways.Drawn(string(data)) {
		for _, o := range w.Options(t, o) {
			if o.Cache == nil {
				o.Cache = compiled
			}
			now, err := executeOne(data, replay.Options{Options: o, NoFuse: h.noFuse}, verify)
			if err != nil {
				t.Log(w)
				return now, err
			}
			if outputs != nil && !reflect.DeepEqual(now, outputs) {
				return now, fmt.Errorf("%s gives %v, and before it %v", w, now, outputs)
			}
			outputs = now
		}
	}
	return outputs, nil
}

func executeOne(data []byte, o replay.Options, verify bool) (outputs [][]int64, err error) {
	t, err := transcript.Read("t.json", data)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	x, err := replay.Compile(t, o)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	res, err := x.Run(context.Background())
	if err != nil {
		return nil, err
	}
	defer res.Close()
	if verify {
		err = res.Verify()
	}
	for _, o := range res.Outputs {
		outputs = append(outputs, numbers(o.Tensor))
	}
	return outputs, err
}

// verified compares what a file gives with what it recorded, and looks at nothing else.
func verified(data []byte, h how) error {
	t, err := transcript.Read("t.json", data)
	if err != nil {
		return err
	}
	defer t.Close()
	x, err := replay.Compile(t, replay.Options{
		Options: engine.Options{Backend: h.backend, Threads: h.threads, Cache: compiled}, NoFuse: h.noFuse})
	if err != nil {
		return err
	}
	defer x.Close()
	res, err := x.Run(context.Background())
	if err != nil {
		return err
	}
	defer res.Close()
	return res.Verify()
}

func numbers(t *tensor.Tensor) []int64 {
	out := []int64{}
	for _, b := range t.Bits() {
		unused := 64 - t.DType.Bits()
		out = append(out, int64(b<<unused)>>unused)
	}
	return out
}

// checked counts the transcripts of check, of which some run on a device.
var checked int

// check runs a transcript in every way and compares its outputs.
func check(t *testing.T, r *record, want ...[]int64) {
	t.Helper()
	all := hows
	if checked++; devices.Takes(checked+sample.Day(), 6) {
		all = append(all[:len(all):len(all)], how{devices.Backend(), false, 1, ""})
	}
	for _, h := range all {
		got, err := execute(t, r.json(), h, false)
		if err != nil {
			t.Fatalf("%s: %v", h, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", h, got, want)
		}
	}
}

// refuse wants an error with the text.
func refuse(t *testing.T, r *record, want string) {
	t.Helper()
	for _, h := range []how{{heal.Interp, false, 1, ""}, {heal.CPU, true, 1, ""}} {
		_, err := execute(t, r.json(), h, false)
		var e *transcript.Error
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v (%T), want %q", h, err, err, want)
		}
	}
}

// begin makes a transcript with host tensors of i64: names a, b, ... in order.
func begin(tensors ...[]int64) *record {
	r := &record{}
	for i, elems := range tensors {
		r.put(string(rune('a'+i)), []int64{int64(len(elems))}, elems)
	}
	return r
}

// put sends an i64 tensor to the device.
func (r *record) put(name any, shape []int64, elems []int64) {
	r.op("host_to_device", dev(name, "int64"), host("int64", shape, false, elems))
}

// get brings a tensor to the host, where any value is expected.
func (r *record) get(name any) {
	r.op("device_to_host", host("int64", []int64{1}, false, []int64{0}), dev(name, "int64"), none())
}

// call is an operation on tensors of i64 and integers; the last tensor is the result, under its own name.
func (r *record) call(name string, args ...any) {
	var list []obj
	out := none()
	for _, a := range args {
		switch a := a.(type) {
		case string:
			list = append(list, dev(a, "int64"))
			out = list[len(list)-1]
		case obj:
			list = append(list, a)
		default:
			list = append(list, integer(a))
		}
	}
	r.op(name, out, list...)
}

// into is call with a name for the result.
func (r *record) into(out, name string, args ...any) {
	r.call(name, args...)
	pair := r.entries[len(r.entries)-1].([]any)
	pair[1].(obj)["out"] = dev(out, "int64")
}

func TestModular(t *testing.T) {
	r := begin([]int64{5, -1, 3}, []int64{6, 3, 1 << 62}, []int64{7, 11, 1<<62 + 1}, []int64{0, 0, 0})
	r.call("_modmul_ttt", "a", "b", "c", "d")
	r.get("d")
	r.call("_modmul_ttc", "a", "b", 7, "d")
	r.get("d")
	r.call("_modmul_tct", "a", 2, "c", "d")
	r.get("d")
	r.call("_modmul_tcc", "a", -1, 7, "d")
	r.get("d")
	r.call("_modsum_ttt", "a", "b", "c", "d")
	r.get("d")
	r.call("_modsum_tcc", "a", 10, 7, "a")
	r.get("a")
	r.call("_modneg_tt", "b", "c", "b")
	r.get("b")
	r.call("_modneg_tc", "a", 7, "d")
	r.get("d")
	check(t, r, []int64{2, 8, 1<<62 - 2}, []int64{2, 4, 5}, []int64{3, 9, 6}, []int64{2, 1, 4},
		[]int64{4, 2, 2}, []int64{1, 2, 6}, []int64{1, 8, 1}, []int64{6, 5, 1})
}

func TestRemainderTruncates(t *testing.T) {
	r := begin([]int64{7, -7, 8}, []int64{4, 4, -3}, []int64{0, 0, 0})
	r.call("_mod_tt", "a", "b", "c")
	r.get("c")
	r.call("_mod_tc", "a", 4, "c")
	r.get("c")
	r.call("_mod_ct", -9, "b", "c")
	r.get("c")
	check(t, r, []int64{3, -3, 2}, []int64{3, -3, 0}, []int64{-1, -1, 0})
	r = begin([]int64{1}, []int64{4, 4}, []int64{0, 0})
	r.call("_mod_tt", "a", "b", "c")
	refuse(t, r, "entry 3 (_mod_tt): `a` is of shape [1], and the output of [2]")
}

func TestWritesShowInViews(t *testing.T) {
	r := &record{}
	r.put("x", []int64{2, 3}, []int64{1, 2, 3, 4, 5, 6})
	r.into("rows", "moveaxis", "x", 0, 1)
	r.into("col", "get_slice", "x", shape(ellipsis(), 1))
	r.into("back", "get_slice", "rows", shape(cut(nil, nil, -2)))
	r.call("set_const_val", "col", 9)
	r.get("x")
	r.get("rows")
	r.call("_modsum_tcc", "back", 10, 100, "back")
	r.get("x")
	r.free("x")
	r.get("back")
	check(t, r, []int64{1, 9, 3, 4, 9, 6}, []int64{1, 4, 9, 9, 3, 6}, []int64{11, 9, 13, 14, 9, 16},
		[]int64{13, 16, 11, 14})
}

func TestNames(t *testing.T) {
	r := begin([]int64{1})
	r.free("a")
	r.get("a")
	refuse(t, r, "entry 2 (device_to_host): tensor %a was freed by entry 1")
	r = begin([]int64{1})
	r.free("z")
	refuse(t, r, "entry 1: there is no tensor %z")
	r = begin([]int64{1})
	r.free("a")
	r.free("a")
	refuse(t, r, "entry 2: tensor %a was freed by entry 1")
	// A name of digits and an integer are two names; a name may be bound again.
	r = &record{}
	r.put(6, []int64{1}, []int64{1})
	r.put("6", []int64{1}, []int64{2})
	r.get(6)
	r.put(6, []int64{2}, []int64{3, 4})
	r.get(6)
	r.get("6")
	check(t, r, []int64{1}, []int64{3, 4}, []int64{2})
}

// TestStridesSurvive: a tensor in Fortran order, and a view of it, come back with their strides.
func TestStridesSurvive(t *testing.T) {
	r := &record{}
	r.op("host_to_device", dev("x", "int64"), host("int64", []int64{2, 3}, true, []int64{1, 2, 3, 4, 5, 6}))
	r.into("v", "get_slice", "x", shape(cut(nil, nil, nil), cut(nil, nil, -2)))
	r.into("y", "moveaxis", "x", 0, 1)
	r.get("x")
	r.get("v")
	r.get("y")
	check(t, r, []int64{1, 2, 3, 4, 5, 6}, []int64{3, 1, 6, 4}, []int64{1, 4, 2, 5, 3, 6})
	tr, err := transcript.Read("t.json", r.json())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	x, err := replay.Compile(tr, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	res, err := x.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	for i, want := range [][]int64{{1, 2}, {1, -4}, {2, 1}} {
		if got := res.Outputs[i].Tensor.Strides; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: strides %v, want %v", res.Outputs[i].Name, got, want)
		}
	}
}

// TestElementsApart: elements of a host tensor that share memory, as those of an expanded one do, are apart on the
// device, where a write to one changes no other.
func TestElementsApart(t *testing.T) {
	for _, c := range []struct {
		shape, strides, want []int64 // want is x after the first row was written
	}{
		{[]int64{2, 3}, []int64{0, 1}, []int64{11, 12, 13, 1, 2, 3}},
		{[]int64{2, 2}, []int64{1, 1}, []int64{11, 12, 2, 3}},
		{[]int64{2, 2}, []int64{1, 2}, []int64{11, 13, 2, 4}}, // these are apart
	} {
		r := &record{}
		r.op("host_to_device", dev("x", "int64"), encoded("torch",
			torchFile(t, "LongStorage", little("int64", []int64{1, 2, 3, 4}), 4, 0, c.shape, c.strides, "little")))
		r.into("flat", "reshape", "x", shape(-1))
		r.into("row", "get_slice", "x", shape(0))
		r.get("row")
		r.call("_modsum_tcc", "row", 10, 100, "row")
		r.get("x")
		r.get("row")
		r.get("flat")
		r.call("_modsum_tcc", "x", 0, 100, "x")
		r.get("x")
		row := c.want[:c.shape[1]]
		before, flat := make([]int64, len(row)), c.want // a reshape is a view of what is contiguous on the device
		for i, v := range row {
			before[i] = v - 10
		}
		if c.strides[1] == 2 {
			flat = []int64{1, 3, 2, 4}
		}
		check(t, r, before, c.want, row, flat, c.want)
	}
}
