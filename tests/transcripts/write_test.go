package transcripts

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// record builds the JSON of a transcript.
type record struct{ entries []any }

type obj = map[string]any

func typed(name string, more obj) obj {
	o := obj{"__type__": name}
	for k, v := range more {
		o[k] = v
	}
	return o
}

func (r *record) add(kind string, payload any) {
	var k any
	if kind != "" {
		k = typed("ExecutionTranscriptOpType", obj{"value": kind})
	}
	r.entries = append(r.entries, []any{k, payload})
}

func (r *record) start(name string) { r.add("SEGMENT_START", name) }
func (r *record) end()              { r.add("SEGMENT_END", nil) }
func (r *record) free(name any) {
	r.add("FREE_DEVICE_TENSOR", typed("FreeDeviceTensor", obj{"tensor_name": name}))
}

func (r *record) op(name string, out obj, args ...obj) {
	if args == nil {
		args = []obj{}
	}
	r.add("DEVICE_OP", typed("DeviceOp", obj{"name": name, "args": args, "out": out}))
}

// json is the file.
func (r *record) json() []byte {
	entries := r.entries
	if entries == nil {
		entries = []any{}
	}
	data, err := json.Marshal(typed("ExecutionTranscript", obj{"transcript": entries}))
	if err != nil {
		panic(err)
	}
	return data
}

func arg(kind string, v any) obj {
	return typed("DeviceOpArg", obj{"arg_type": typed("DeviceOpArgType", obj{"value": kind}), "value": v})
}

func dev(name any, dtype string) obj {
	return arg("DEVICE_TENSOR", typed("DeviceTensorPointer", obj{"dtype": "torch." + dtype, "inf_name": name}))
}

func integer(n any) obj   { return arg("INT", n) }
func none() obj           { return arg("NONE", nil) }
func dtype(s string) obj  { return arg("TENSOR_TYPE", typed("dtype", obj{"value": s})) }
func ellipsis() obj       { return arg("ELLIPSIS", typed("ellipsis", nil)) }
func cut(a, b, c any) obj { return arg("SLICE", typed("slice", obj{"start": a, "stop": b, "step": c})) }
func shape(list ...any) obj {
	var out []obj
	for _, x := range list {
		if o, ok := x.(obj); ok {
			out = append(out, o)
		} else {
			out = append(out, integer(x))
		}
	}
	if out == nil {
		out = []obj{}
	}
	return arg("SHAPE", out)
}

func extents(n []int64) obj {
	var list []any
	for _, e := range n {
		list = append(list, e)
	}
	return shape(list...)
}

func encoded(kind string, data []byte) obj {
	return arg("HOST_TENSOR",
		typed("HostTensor", obj{"tensor_base64": obj{"type": kind, "data": base64.StdEncoding.EncodeToString(data)}}))
}

// host is a tensor as a .npy file.
func host(d string, shape []int64, fortran bool, elems []int64) obj {
	return encoded("numpy", npy(d, shape, fortran, elems))
}

var widths = map[string]int{"int8": 1, "int32": 4, "int64": 8}

// little are the elements, least significant byte first.
func little(d string, elems []int64) []byte {
	var out []byte
	for _, v := range elems {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		out = append(out, b[:widths[d]]...)
	}
	return out
}

// npy writes a file of NumPy; elems are in row-major order whatever the order of the file is.
func npy(d string, shape []int64, fortran bool, elems []int64) []byte {
	if fortran {
		elems = columnMajor(shape, elems)
	}
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		text += ","
	}
	order := "False"
	if fortran {
		order = "True"
	}
	head := fmt.Sprintf("{'descr': '<i%d', 'fortran_order': %s, 'shape': (%s), }", widths[d], order, text)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	head += "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	return append(append(out, head...), little(d, elems)...)
}

func columnMajor(shape []int64, elems []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i, e := range shape {
		strides[i] = n
		n *= e
	}
	out := make([]int64, len(elems))
	at := make([]int64, len(shape))
	for _, v := range elems {
		to := int64(0)
		for i := range at {
			to += at[i] * strides[i]
		}
		out[to] = v
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
	}
	return out
}

// torchFile is what torch.save writes for a tensor over a storage.
func torchFile(t testing.TB, class string, storage []byte, elems, offset int64, shape, strides []int64,
	order string) []byte {
	t.Helper()
	return torchZip(t, torchPickle(class, elems, offset, shape, strides), storage, order, zip.Store)
}

func torchPickle(class string, elems, offset int64, shape, strides []int64) []byte {
	var p bytes.Buffer
	text := func(s string) {
		p.WriteByte('X')
		binary.Write(&p, binary.LittleEndian, uint32(len(s)))
		p.WriteString(s)
	}
	number := func(n int64) {
		switch {
		case n >= 0 && n < 256:
			p.Write([]byte{'K', byte(n)})
		case n >= 0 && n < 1<<16:
			p.Write([]byte{'M', byte(n), byte(n >> 8)})
		case n == int64(int32(n)):
			p.WriteByte('J')
			binary.Write(&p, binary.LittleEndian, int32(n))
		default:
			p.Write([]byte{0x8a, 8})
			binary.Write(&p, binary.LittleEndian, n)
		}
	}
	tuple := func(list []int64) {
		if len(list) > 3 {
			p.WriteByte('(')
		}
		for _, n := range list {
			number(n)
		}
		p.WriteByte([]byte{')', 0x85, 0x86, 0x87, 't'}[min(len(list), 4)])
	}
	p.WriteString("\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((")
	text("storage")
	p.WriteString("q\x01ctorch\n" + class + "\nq\x02")
	text("0")
	p.WriteString("q\x03")
	text("cpu")
	p.WriteString("q\x04")
	number(elems)
	p.WriteString("tq\x05Q")
	number(offset)
	tuple(shape)
	p.WriteString("q\x06")
	tuple(strides)
	p.WriteString("q\x07\x89ccollections\nOrderedDict\nq\x08)Rq\x09tq\x0aRq\x0b.")
	return p.Bytes()
}

func torchZip(t testing.TB, pickle, storage []byte, order string, method uint16) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range []struct {
		name string
		data []byte
	}{{"archive/data.pkl", pickle}, {"archive/byteorder", []byte(order)}, {"archive/data/0", storage},
		{"archive/version", []byte("3\n")}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
