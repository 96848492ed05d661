package transcripts

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/internal/replay"
	"healc/tests/claims"
	"healc/transcript"
)

// bad wants an error of the reader with the text.
func bad(t *testing.T, what string, data []byte, want string) {
	t.Helper()
	tr, err := transcript.Read("t.json", data)
	if err == nil {
		tr.Close()
	}
	var e *transcript.Error
	if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "t.json: ") || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q", what, err, want)
	}
}

func TestMalformedJSON(t *testing.T) {
	entry := func(s string) string { return `{"__type__": "ExecutionTranscript", "transcript": [` + s + `]}` }
	kind := func(s string) string { return `{"__type__": "ExecutionTranscriptOpType", "value": "` + s + `"}` }
	op := func(args, out string) string {
		return entry(`[` + kind("DEVICE_OP") + `, {"__type__": "DeviceOp", "name": "abs", "args": [` + args +
			`], "out": ` + out + `}]`)
	}
	a := func(kind, v string) string {
		return op(`{"__type__": "DeviceOpArg", "arg_type": {"__type__": "DeviceOpArgType", "value": "`+kind+
			`"}, "value": `+v+`}`, "null")
	}
	for _, c := range []struct{ text, want string }{
		{``, "the transcript: unexpected end of JSON input"},
		{`{`, "the transcript: unexpected end of JSON input"},
		{`[]`, "the transcript is not an object"},
		{`null`, "the transcript is null, not an object"},
		{`{}`, "the `__type__` of the transcript is missing"},
		{`{"__type__": 3}`, "the `__type__` of the transcript is not a string"},
		{`{"__type__": "Transcript"}`, `the transcript is a "Transcript", not "ExecutionTranscript"`},
		{`{"__type__": "ExecutionTranscript"}`, "`transcript` is missing"},
		{`{"__type__": "ExecutionTranscript", "transcript": {}}`, "`transcript` is not a list"},
		{"\xff", "the file is not UTF-8"},
		{strings.Repeat("[", 100_000), "exceeded max depth"},
		{entry(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "exceeded max depth"},
		{entry(`3`), "entry 0: the entry is not a list"},
		{entry(`[null, null], [null]`),
			"entry 1: an entry is a list of an operation type and a payload, and not of 1 values"},
		{entry(`["DEVICE_OP", null]`), "entry 0: the operation type is not an object"},
		{entry(`[` + kind("JUMP") + `, null]`), `entry 0: unknown operation type "JUMP"`},
		{entry(`[` + kind("SEGMENT_START") + `, 3]`), "entry 0: the name of a segment is not a string"},
		{entry(`[` + kind("FREE_DEVICE_TENSOR") + `, null]`), "entry 0: the payload is null"},
		{entry(`[` + kind("FREE_DEVICE_TENSOR") + `, {"__type__": "FreeDeviceTensor", "tensor_name": 1.5}]`),
			"`tensor_name` is neither a string nor an integer"},
		{entry(`[` + kind("FREE_DEVICE_TENSOR") +
			`, {"__type__": "FreeDeviceTensor", "tensor_name": 99999999999999999999}]`),
			"`tensor_name` is neither a string nor an integer"},
		{entry(`[` + kind("DEVICE_OP") + `, {"__type__": "DeviceOp"}]`),
			"entry 0: the name of the operation is missing"},
		{op(`3`, `null`), "entry 0 (abs): argument 0 is not an object"},
		{a("DEVICE_TENSR", "1"), `argument 0 is of the unknown kind "DEVICE_TENSR"`},
		{a("INT", `"1"`), "argument 0 is not a number or a boolean"},
		{a("INT", `9223372036854775808`), "argument 0, 9223372036854775808, is not an integer of 64 bits"},
		{a("INT", `1e999`), "argument 0, 1e999, is out of the range of f64"},
		{a("TENSOR_TYPE", `{"__type__": "dtype", "value": "complex64"}`),
			`argument 0 has the unknown dtype "complex64"`},
		{a("SLICE", `{"__type__": "slice", "start": 1.5, "stop": null, "step": null}`),
			"the start of argument 0 is not an integer"},
		{a("SLICE", `{"__type__": "slice", "start": 1, "stop": 2}`), "the step of argument 0 is missing"},
		{a("SHAPE",
			`[{"__type__": "DeviceOpArg", "arg_type": {"__type__": "DeviceOpArgType", "value": "SHAPE"}, "value": []}]`), "element 0 of argument 0 is a SHAPE"},
		{a("HOST_TENSOR", `{"__type__": "HostTensor", "tensor_base64": {"type": "numpy", "data": "!"}}`),
			"the data of argument 0 is no base64"},
		{a("HOST_TENSOR", `{"__type__": "HostTensor", "tensor_base64": {"type": "text", "data": ""}}`),
			`unknown type "text"`},
		{a("HOST_TENSOR", `{"__type__": "HostTensor", "tensor_base64": {"type": "numpy", "data": ""}}`),
			"argument 0: npy data: at byte 0"},
		{a("HOST_TENSOR", `{"__type__": "HostTensor", "tensor_base64": {"type": "torch", "data": ""}}`),
			"argument 0: no file of torch.save"},
		{op("", `3`), "entry 0 (abs): the out is not an object"},
		{entry(`[` + kind("DEVICE_OP") + `, {"__type__": "DeviceOp", "name": "abs", "args": []}]`), "`out` is missing"},
	} {
		bad(t, c.text[:min(len(c.text), 80)], []byte(c.text), c.want)
	}
}

// of is a transcript that sends one host tensor.
func sent(h obj) []byte {
	r := &record{}
	r.op("host_to_device", dev("x", "int64"), h)
	r.op("device_to_host", none(), dev("x", "int64"))
	return r.json()
}

func TestTorch(t *testing.T) {
	elems := []int64{1, -2, 3, 4, 5, 6, 7}
	big := bytes.Clone(little("int64", elems))
	for i := 0; i < len(big); i += 8 {
		for k := range 4 {
			big[i+k], big[i+7-k] = big[i+7-k], big[i+k]
		}
	}
	for _, c := range []struct {
		file []byte
		want []int64
	}{
		{torchFile(t, "LongStorage", little("int64", elems), 7, 0, []int64{7}, []int64{1}, "little"), elems},
		{torchFile(t, "LongStorage", big, 7, 0, []int64{7}, []int64{1}, "big"), elems},
		{torchFile(t, "LongStorage", little("int64", elems), 7, 1, []int64{2, 3}, []int64{1, 2}, "little"),
			[]int64{-2, 4, 6, 3, 5, 7}},
		{torchFile(t, "LongStorage", little("int64", elems), 7, 6, []int64{1, 1, 1, 2}, []int64{9, 9, 9, 0}, "little"),
			[]int64{7, 7}},
		{torchFile(t, "IntStorage", little("int32", elems), 7, 2, nil, nil, "little"), []int64{3}},
		{torchFile(t, "CharStorage", little("int8", elems), 7, 2, []int64{0, 5}, []int64{5, 1}, "little"), []int64{}},
	} {
		for _, h := range hows {
			got, err := execute(t, sent(encoded("torch", c.file)), h, false)
			if err != nil || len(got) != 1 || len(got[0]) != len(c.want) {
				t.Fatalf("%s: %v, %v, want %v", h, got, err, c.want)
			}
			for i, v := range c.want {
				if got[0][i] != v {
					t.Errorf("%s: %v, want %v", h, got[0], c.want)
				}
			}
		}
	}
}

func TestMalformedTorch(t *testing.T) {
	store := little("int64", []int64{1, 2})
	good := torchPickle("LongStorage", 2, 0, []int64{2}, []int64{1})
	with := func(old, new string) []byte {
		if !bytes.Contains(good, []byte(old)) {
			t.Fatalf("the pickle has no %q", old)
		}
		return bytes.Replace(good, []byte(old), []byte(new), 1)
	}
	file := func(pickle []byte) []byte { return torchZip(t, pickle, store, "little", zip.Store) }
	for _, c := range []struct {
		file []byte
		want string
	}{
		{[]byte("PK"), "no file of torch.save"},
		{torchZip(t, good, store, "middle", zip.Store), `byteorder is "middle"`},
		{torchZip(t, good, store, "little", zip.Deflate), "data.pkl is compressed"},
		{torchZip(t, good, store[:15], "little", zip.Store),
			"the storage claims 2 elements of i64, and its file has 15 bytes"},
		{file(nil), "data.pkl: at byte 0: the pickle ends early"},
		{file(good[:40]), "data.pkl: at byte"},
		{file(with("collections\nOrderedDict", "posix\nsystem")),
			`the pickle uses "system" of the module "posix", which no tensor needs`},
		{file(with("_rebuild_tensor_v2", "_rebuild_parameter")),
			`the pickle uses "_rebuild_parameter" of the module "torch._utils"`},
		{file(with("torch\nLongStorage", "torch\nComplexFloatStorage")), `the pickle uses "ComplexFloatStorage"`},
		{file(with("\x80\x02", "\x80\x04")), "a pickle of protocol 4"},
		{file(with("storage", "sterage")), "a persistent id that is not a storage"},
		{file([]byte("\x80\x02N.")), "the pickle is not one tensor"},
		{file([]byte("\x80\x02i")), "the instruction 0x69 is not one that a tensor needs"},
		{file([]byte("\x80\x02NNR.")), "a call whose arguments are no tuple"},
		{file([]byte("\x80\x02t.")), "there is no mark"},
		{file([]byte("\x80\x02(\x85.")), "there is a mark where a value is needed"},
		{file([]byte("\x80\x02h\x05.")), "nothing is stored at 5"},
		{file([]byte("\x80\x02X\xff\xff\xff\xffabc")), "4294967295 bytes are needed, 3 are left"},
		{file(append([]byte("\x80\x02"), bytes.Repeat([]byte("N"), 5000)...)),
			"the pickle needs more than 1024 values"},
		{file(torchPickle("LongStorage", 3, 0, []int64{2}, []int64{1})), "the storage claims 3 elements"},
		{file(torchPickle("LongStorage", 1<<60, 0, []int64{2}, []int64{1})),
			"the storage claims 1152921504606846976 elements"},
		{file(torchPickle("LongStorage", -1, 0, []int64{2}, []int64{1})), "the storage claims -1 elements"},
		{file(torchPickle("LongStorage", 2, 1, []int64{2}, []int64{1})), "leave the elements from 0 to 1 of i64[2]"},
		{file(torchPickle("LongStorage", 2, -1, []int64{2}, []int64{1})), "leave the elements from 0 to 1 of i64[2]"},
		{file(torchPickle("LongStorage", 2, 1<<62, []int64{2}, []int64{1 << 62})),
			"leave the elements from 0 to 1 of i64[2]"},
		{file(torchPickle("LongStorage", 2, 0, []int64{2}, []int64{-1 << 63})),
			"leave the elements from 0 to 1 of i64[2]"},
		{file(torchPickle("LongStorage", 2, 0, []int64{2, 2}, []int64{1})), "1 strides for shape [2, 2] of rank 2"},
		{file(torchPickle("LongStorage", 2, 0, []int64{-2}, []int64{1})), "extent -2 of axis 0"},
		{file(torchPickle("LongStorage", 2, 0, []int64{1 << 31}, []int64{0})), "extent 2147483648 of axis 0"},
		{file(torchPickle("LongStorage", 2, 0, []int64{1 << 30, 1 << 30, 1 << 30}, []int64{0, 0, 0})), "strided"},
	} {
		bad(t, c.want, sent(encoded("torch", c.file)), c.want)
	}
}

// TestClaims: sizes that a file claims take no memory.
func TestClaims(t *testing.T) {
	claim := npy("int64", []int64{1 << 30, 1 << 10}, false, nil)
	bad(t, "npy", sent(encoded("numpy", claim)), "needs 8796093022208 bytes, the file has 0 left")
	more := append(npy("int64", []int64{2}, false, []int64{1, 2}), 0)
	bad(t, "bytes after the data", sent(encoded("numpy", more)),
		"entry 0 (host_to_device): argument 0: 1 bytes follow the array")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := &record{}
	r.op("empty", dev("x", "int64"), shape(1<<30, 1<<20), dtype("int64"))
	r.into("y", "get_slice", "x", shape(cut(0, 2, 1), 5))
	r.call("_modsum_tcc", "y", 3, 100, "y")
	r.get("y")
	for _, h := range []how{{heal.Interp, false, 1, ""}, {heal.CPU, false, 1, ""}} {
		// What remains of it may be computed or refused, but not tried.
		if got, err := execute(t, r.json(), h, false); err != nil && !strings.Contains(err.Error(), "memory") &&
			!strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v, %v", h, got, err)
		}
	}
	// A tensor that is all one number takes no more than that.
	r = &record{}
	r.op("empty", dev("x", "int64"), shape(1<<31-1), dtype("int64"))
	r.op("device_to_host", none(), dev("x", "int64"))
	r.op("zeros", dev("y", "int64"), shape(1<<30, 1<<20), dtype("int64"))
	r.call("set_const_val", "y", 7)
	r.into("z", "get_slice", "y", shape(cut(5, 1<<29, 2)))
	r.op("device_to_host", none(), dev("z", "int64"))
	for _, h := range []how{{heal.Interp, false, 1, ""}, {heal.CPU, false, 1, ""}, {heal.CPU, true, 1, ""}} {
		wantFilled(t, r.json(), h)
	}
	// A tensor that was expanded before torch.save wrote it has one element in the file.
	expanded := encoded("torch", torchFile(t, "LongStorage", little("int64", []int64{5}), 1, 0, []int64{1 << 30},
		[]int64{0}, "little"))
	r = &record{}
	r.op("host_to_device", dev("x", "int64"), expanded)
	r.op("device_to_host", expanded, dev("x", "int64"))
	for _, h := range hows {
		if err := verified(r.json(), h); err != nil {
			t.Errorf("%s: a tensor that is not looked at: %v", h, err)
		}
	}
	r = &record{}
	r.op("host_to_device", dev("x", "int64"), expanded)
	r.into("y", "get_slice", "x", shape(cut(0, 2, 1)))
	r.put("z", []int64{2}, []int64{1, 2})
	r.call("_modsum_ttc", "z", "y", 100, "z")
	r.get("z")
	if got, err := execute(t, r.json(), how{heal.CPU, false, 1, ""}, false); err != nil ||
		!slices.Equal(got[0], []int64{6, 7}) {
		t.Errorf("two elements of it: %v, %v", got, err)
	}
	if _, err := execute(t, r.json(), how{heal.Interp, false, 1, ""}, false); err == nil ||
		err.Error() != "t.json: entry 3: a tensor of type i64[1073741824] is too large for the interpreter" {
		t.Errorf("two elements of it on the interpreter: %v", err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<28 {
		t.Errorf("%d bytes were allocated", n)
	}
	r = &record{}
	r.op("empty", dev("x", "int64"), shape(1<<30, 1<<30, 1<<30), dtype("int64"))
	refuse(t, r,
		"entry 0 (empty): a tensor of shape [1073741824, 1073741824, 1073741824] has more elements than can be counted")
	r = &record{}
	r.op("empty", dev("x", "int64"), shape(65536, 65536, 65536, 65536, 0), dtype("int64"))
	r.into("y", "flatten", "x", 0, 4)
	r.call("flatten", "x", 0, 3)
	refuse(t, r,
		"entry 2 (flatten): the axes from 0 to 3 of shape [65536, 65536, 65536, 65536, 0] make one of more than "+
			"2^31-1 elements")
}

// wantFilled runs a transcript whose first output is 2^31-1 zeros, and whose second is many sevens.
func wantFilled(t *testing.T, data []byte, h how) {
	t.Helper()
	tr, err := transcript.Read("t.json", data)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	x, err := replay.Compile(tr, replay.Options{
		Options: engine.Options{Backend: h.backend, Threads: 1, Cache: compiled}, NoFuse: h.noFuse})
	if err != nil {
		t.Fatalf("%s: %v", h, err)
	}
	defer x.Close()
	res, err := x.Run(context.Background())
	if err != nil {
		t.Fatalf("%s: %v", h, err)
	}
	defer res.Close()
	for i, shape := range [][]int64{{1<<31 - 1}, {1<<28 - 2, 1 << 20}} {
		last := make([]int64, len(shape))
		for k, n := range shape {
			last[k] = n - 1
		}
		got := res.Outputs[i].Tensor
		if v, err := got.At(last...); !slices.Equal(got.Shape, shape) || err != nil || v != uint64(7*i) {
			t.Errorf("%s: output %d is %s, its last element %d, %v", h, i, got, v, err)
		}
	}
}

// TestSegments: each segment that begins ends.
func TestSegments(t *testing.T) {
	r := &record{}
	r.start("outer")
	r.put("a", []int64{1}, []int64{1})
	r.start("inner")
	r.end()
	refuse(t, r, `entry 0: segment "outer" has no end`)
	r.end()
	r.end()
	refuse(t, r, "entry 5: the end of a segment that was not started")
}

func TestArguments(t *testing.T) {
	refuseOp := func(want string, name string, args ...any) {
		t.Helper()
		r := &record{}
		r.put("a", []int64{2, 3}, []int64{1, 2, 3, 4, 5, 6})
		r.put("b", []int64{3}, []int64{1, 2, 3})
		r.op("host_to_device", dev("n", "int32"), host("int32", []int64{3}, false, []int64{1, 2, 3}))
		r.call("moveaxis", "a", 0, 1)
		r.put("a", []int64{2, 3}, []int64{1, 2, 3, 4, 5, 6})
		r.into("t", "moveaxis", "a", 0, 1)
		r.put("q", []int64{2}, []int64{5, 7})
		r.put("u", []int64{1, 2}, []int64{5, 7})
		r.put("x", []int64{1, 2, 2, 3}, make([]int64, 12))
		r.put("y", []int64{2, 2, 3}, make([]int64, 12))
		r.put("v", []int64{2, 3, 2}, make([]int64, 12))
		r.put("w", []int64{1, 2, 3}, make([]int64, 6))
		r.op("zeros", dev("f", "bool"), shape(1), dtype("bool"))
		r.call(name, args...)
		refuse(t, r, "entry 13 ("+name+"): "+want)
	}
	refuseOp(`there is no operation "warp"`, "warp", "a")
	refuseOp("the arguments are (DEVICE_TENSOR), and it takes (a DEVICE_TENSOR, src INT, dst INT)", "moveaxis", "a")
	refuseOp("the arguments are (DEVICE_TENSOR, DEVICE_TENSOR, INT), and it takes (a DEVICE_TENSOR, src INT, dst INT)",
		"moveaxis", "a", "a", 1)
	refuseOp("the arguments are (), and it takes (a DEVICE_TENSOR), or (a DEVICE_TENSOR, to NONE)", "device_to_host")
	refuseOp("there is no tensor %z", "abs", "z")
	refuseOp("`src` is 2, which is no axis of a tensor of rank 2", "moveaxis", "a", 2, 0)
	refuseOp("`p` is 0.5, which is no i64", "_modneg_tc", "a", 0.5, "a")
	refuseOp("`src` is the float 0.5, not an integer", "moveaxis", "a", 0.5, 0)
	refuseOp("`p` is 4294967296, which is out of the range of i32", "_modneg_tc", "n", 1<<32, "n")
	refuseOp("the result is of shape [2, 3], and the output of [3]", "abs", "a", "b")
	refuseOp("tensor %b shares memory with the output, and is of shape [3], which broadcasting enlarges to [2, 3]",
		"_modsum_ttc", "b", "a", 7, "b")
	refuseOp("`b` is of shape [3, 2], which does not broadcast with [2, 3]", "_modsum_ttc", "a", "t", 7, "a")
	refuseOp("`a` is i64[2, 3], and the output is i32[3]", "_modneg_tc", "a", 7, "n")
	refuseOp("the result is i64, and the output i32", "take_along_axis", "b", "b", 0, "n")
	refuseOp("a tensor that is not contiguous cannot be flattened, shape [3, 2], strides [1, 3]", "flatten", "t", 0, 1)
	refuseOp("axis 0 of shape [2, 3] is of extent 2, not 1", "squeeze", "a", 0)
	refuseOp("axis 0 of shape [2, 3] is not of extent 1", "expand", "a", 0, 5)
	refuseOp("shape [2, 3] of 6 elements does not become [4, -1]", "reshape", "a", shape(4, -1))
	refuseOp("element 0 of `shape` is ..., not an extent", "reshape", "a", shape(ellipsis()))
	refuseOp("index 2 is out of range for axis 0 of shape [2, 3]", "get_slice", "a", shape(2))
	refuseOp("3 axes are indexed", "get_slice", "a", shape(1, 1, 1))
	refuseOp("the step of a slice is 0", "get_slice", "a", shape(cut(nil, nil, 0)))
	refuseOp("`axis` is the last one", "axis_modsum", "a", 1, "b", "b")
	refuseOp("`a`, `b` and `out` are of rank 4, 3 and 3, not 2, 2 and 2", "modmul_axis_sum", "a", "a", "b", none(),
		none(), none(), "a", false)
	refuseOp("a number is taken apart into 1 to 4096 digits, not 0", "apply_g_decomp", "a", 0, 5, "a")
	refuseOp("`pad` is -1", "pad_single_axis", "a", -1, 0, "a")
	refuseOp("element 0 of `shape` is -2, which is not from 0 to 2^31-1", "reshape", "a", shape(-2, 3))
	refuseOp("a tensor of shape [2147483647, 2147483647, 2147483647] has more elements than can be counted", "zeros",
		shape(1<<31-1, 1<<31-1, 1<<31-1), dtype("int64"))
	refuseOp("`v` is 2, which is out of the range of bool", "set_const_val", "f", 2)
	refuseOp("the moduli `p` are of shape [2]; there is one, or one for each of 3 channels", "axis_modsum", "a", 0, "q",
		"b")
	refuseOp("an axis cannot be repeated 2147483648 times", "expand", "u", 0, 1<<31)
	sums := func(want string, args ...any) { t.Helper(); refuseOp(want, "modmul_axis_sum", args...) }
	sums("`axis` is -2; it is -1, for [reps, sum, k, n], or -3, for [reps, n, sum, k]", "x", "y", "b", none(), none(),
		none(), "y", false, -2)
	sums("`a` is of shape [1, 2, 2, 3] and `b` of [2, 3, 2]; they agree but for the first axis", "x", "v", "b", none(),
		none(), none(), "y", false, -3)
	sums("the result is of shape [1, 2, 3], and the output of [2, 2, 3]", "x", "y", "b", none(), none(), none(), "y",
		false, -1)
	sums("the result is of shape [1, 2, 3], and the output of [2, 2, 3]", "x", "y", "b", none(), none(), none(), "y",
		false, -3)
	sums("the moduli `p` are of shape [2]; there is one, or one for each of 3 channels", "x", "y", "q", none(), none(),
		none(), "w", false, -3)
	sums("`apply_perm` is set, and `perm` is NONE", "x", "y", "b", none(), none(), none(), "w", true, -3)
	sums("`perm` is of shape [3]; it has one position for each of 2 elements", "x", "y", "b", none(), none(), "b", "w",
		true, -3)
	refuseOp("`axis` is -2 for `a` of shape [2, 3]; it is -3, for [..., m, r, k], or -1, for [..., k, m]", "ntt", "a",
		-2, "b", none(), "b", none(), none(), "b", "a", 0, false)
	refuseOp("`axis` is -3 for `a` of shape [2, 3]; it is -3, for [..., m, r, k], or -1, for [..., k, m]", "ntt", "a",
		"b", none(), "b", none(), none(), "b", "a", 0, false)
	refuseOp("`tile` expands axis 0 of `a`, of shape [2, 3], whose extent is not 1", "ntt", "a", -1, "b", none(), "b",
		none(), none(), "b", "a", 1, false)
	refuseOp("`tile` is 2, not true or false", "ntt", "a", -1, "b", none(), "b", none(), none(), "b", "a", 2, false)
}

// TestRunTimeErrors: what fails while a transcript runs names its entry, too.
func TestRunTimeErrors(t *testing.T) {
	r := begin([]int64{5, 6}, []int64{7, 0}, []int64{0, 9})
	r.start("s")
	r.call("_modsum_tcc", "a", 1, 7, "a")
	r.call("_modneg_tt", "a", "b", "a")
	r.end()
	refuse(t, r, "entry 5 (_modneg_tt): 0 is no modulus")
	r = begin([]int64{5, 6}, []int64{7, 0}, []int64{0, 9})
	r.call("_mod_tt", "a", "b", "a")
	r.get("a")
	refuse(t, r, "entry 3 (_mod_tt): ")
	r = begin([]int64{5, 6}, []int64{7, 0}, []int64{0, 9})
	r.call("take_along_axis", "a", "c", 0, "a")
	refuse(t, r, "entry 3 (take_along_axis): index 9 is out of range")
	for _, bad := range []int64{-1, 2} { // a permutation does not count from the end
		for _, axis := range []int{-1, -3} {
			r = begin([]int64{5, 7}, []int64{0, bad})
			r.put("x", []int64{1, 2, 2, 2}, make([]int64, 8))
			r.put("y", []int64{2, 2, 2}, make([]int64, 8))
			r.put("w", []int64{1, 2, 2}, make([]int64, 4))
			r.call("modmul_axis_sum", "x", "y", "a", none(), none(), "b", "w", true, axis)
			r.get("w")
			refuse(t, r, fmt.Sprintf("entry 5 (modmul_axis_sum): index %d is out of range for an axis of extent 2",
				bad))
		}
		r = begin([]int64{5, 13}, []int64{0, bad})
		r.put("x", []int64{1, 2, 1, 2}, make([]int64, 4))
		r.put("w", []int64{2, 2}, []int64{1, 2, 1, 5})
		r.call("ntt", "x", -3, "b", none(), "a", none(), none(), "w", "x", false, false)
		refuse(t, r, fmt.Sprintf("entry 4 (ntt): index %d is out of range for an axis of extent 2", bad))
	}
}

func TestVerify(t *testing.T) {
	for _, h := range hows {
		r := &record{}
		r.put("x", []int64{2, 2}, []int64{1, 2, 3, 4})
		r.call("_modsum_tcc", "x", 1, 100, "x")
		r.op("device_to_host", host("int64", []int64{2, 2}, true, []int64{2, 3, 9, 9}), dev("x", "int64"))
		_, err := execute(t, r.json(), h, true)
		var m *transcript.MismatchError
		if want := "t.json: entry 2 (device_to_host): element [1, 0] is 4, and 9 was recorded"; !errors.As(err, &m) ||
			err.Error() != want {
			t.Errorf("%s: %v, want %s", h, err, want)
		}
		r.entries = r.entries[:2]
		r.op("device_to_host", host("int64", []int64{4}, true, []int64{2, 3, 4, 5}), dev("x", "int64"))
		if _, err = execute(t, r.json(), h, true); !errors.As(err, &m) ||
			!strings.Contains(err.Error(), "the result is i64[2,2], and i64[4] was recorded") {
			t.Errorf("%s: %v", h, err)
		}
		r.entries = r.entries[:2]
		r.op("device_to_host", host("int32", []int64{2, 2}, false, []int64{2, 3, 4, 5}), dev("x", "int64"))
		if _, err = execute(t, r.json(), h, true); err != nil {
			t.Errorf("%s: numbers of another type: %v", h, err)
		}
	}
}

// TestVerifyPieces: of large tensors the first difference is found, wherever it is, and whatever equal elements an axis
// has.
func TestVerifyPieces(t *testing.T) {
	const n, m = 5, 20_001
	elems := make([]int64, n*m)
	for i := range elems {
		elems[i] = int64(i)
	}
	for _, at := range []int64{0, m - 1, 2 * m, 2*m + m/2, n*m - 2} {
		for _, d := range []string{"int64", "int32"} {
			wrong := slices.Clone(elems)
			wrong[at], wrong[n*m-1] = -1, -1
			r := &record{}
			r.put("x", []int64{n, m}, elems)
			r.op("device_to_host", host(d, []int64{n, m}, at%2 == 0, wrong), dev("x", "int64"))
			want := fmt.Sprintf("t.json: entry 1 (device_to_host): element [%d, %d] is %d, and -1 was recorded", at/m,
				at%m, at)
			if err := verified(r.json(), hows[0]); err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
	file := func(elems ...int64) obj {
		return encoded("torch", torchFile(t, "LongStorage", little("int64", elems), 2, 0, []int64{1 << 30, 2, 1 << 10},
			[]int64{0, 1, 0}, "little"))
	}
	r := &record{}
	r.op("host_to_device", dev("x", "int64"), file(5, 6))
	r.op("device_to_host", file(5, 7), dev("x", "int64"))
	if err := verified(r.json(), hows[0]); err == nil || err.Error() !=
		"t.json: entry 1 (device_to_host): element [0, 1, 0] is 6, and 7 was recorded" {
		t.Error(err)
	}
}

// FuzzTranscript: any file is answered with values or with an error, in little memory.
func FuzzTranscript(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(generate(seed).json())
	}
	pickle := torchPickle("LongStorage", 2, 0, []int64{2}, []int64{1})
	f.Add(sent(encoded("torch", torchZip(f, pickle, binary.LittleEndian.AppendUint64(make([]byte, 8), 7), "little",
		zip.Store))))
	f.Fuzz(func(t *testing.T, data []byte) {
		err := tryout(t, data)
		var e *transcript.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("an error of type %T: %v", err, err)
		}
	})
}

// tryout lists and compiles a file, and runs it on the interpreter unless its tensors are large.
func tryout(tb testing.TB, data []byte) error {
	enough := claims.Within(tb, len(data), 16<<20, 200)
	t, err := transcript.Read("t.json", data)
	enough()
	if err != nil {
		return err
	}
	defer t.Close()
	if err := t.Print(io.Discard); err != nil {
		return err
	}
	x, err := replay.Compile(t, replay.Options{Options: engine.Options{Backend: heal.Interp}})
	if err != nil {
		return err
	}
	defer x.Close()
	for _, f := range x.IR().Funcs {
		for _, op := range f.Body.Ops {
			n := float64(1)
			shape, _ := op.Type().Shape.Ints()
			for _, e := range shape {
				n *= float64(e)
			}
			if n > 1<<12 {
				return nil
			}
		}
	}
	res, err := x.Run(context.Background())
	if err != nil {
		return err
	}
	defer res.Close()
	if err = res.Verify(); errors.As(err, new(*transcript.MismatchError)) {
		return nil
	}
	return err
}

// FuzzTorch does the same for files of torch.save, which the fuzzer would not find its way into through base64.
func FuzzTorch(f *testing.F) {
	f.Add(torchPickle("LongStorage", 2, 0, []int64{2}, []int64{1}), little("int64", []int64{1, 2}))
	f.Add(torchPickle("CharStorage", 6, 1, []int64{2, 1, 2, 1}, []int64{2, 0, 1, 0}),
		little("int8", []int64{1, 2, 3, 4, 5, 6}))
	f.Fuzz(func(t *testing.T, pickle, storage []byte) {
		file := sent(encoded("torch", torchZip(t, pickle, storage, "little", zip.Store)))
		enough := claims.Within(t, len(file), 16<<20, 200)
		tr, err := transcript.Read("t.json", file)
		enough()
		if err != nil {
			return
		}
		defer tr.Close()
		x := tr.Entries[0].Op.Args[0].Tensor
		if n := x.Elems(); n > 0 && n < 1<<20 {
			x.Bits() // reads every element
		}
	})
}
