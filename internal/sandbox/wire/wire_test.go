package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/claims"
)

// tensorOf has the elements 0, 1 and so on.
func tensorOf(t testing.TB, dtype types.DType, shape ...int64) *tensor.Tensor {
	t.Helper()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	bits := make([]uint64, n)
	for i := range bits {
		bits[i] = uint64(i)
	}
	x, err := tensor.FromBits(dtype, shape, bits)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func sendAll(t testing.TB, m *Message) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := NewWriter(&b).Send(m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTensors: a tensor arrives with its elements, in the order of its axes, and in no more memory than it needs.
func TestTensors(t *testing.T) {
	view := func(x *tensor.Tensor, offset int64, shape, strides []int64) *tensor.Tensor {
		v, err := x.Unchecked(offset, shape, strides)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	i32 := tensorOf(t, types.I32, 100000)
	for _, x := range []*tensor.Tensor{
		tensorOf(t, types.F32), tensorOf(t, types.Bool, 3, 5), tensorOf(t, types.F64, 200, 300),
		tensorOf(t, types.U8, 3, 0, 2), view(i32, 0, []int64{4, 5}, []int64{1, 4}),
		view(i32, 3, []int64{4}, []int64{-1}),
		view(i32, 0, []int64{4, 5}, []int64{0, 1}), view(i32, 0, []int64{4, 5}, []int64{1, 1}),
		view(i32, 0, []int64{4, 5, 3}, []int64{20000, 1, -0}), view(i32, 0, []int64{3, 1, 2}, []int64{2, 77, 1}),
		view(i32, 99999, []int64{3, 4}, []int64{-10000, -7}), view(i32, 0, []int64{2, 3, 4}, []int64{3, 1, 6}),
		view(i32, 5, []int64{1, 1}, []int64{0, 0}), view(i32, 0, []int64{2, 0}, []int64{-5, 9}),
	} {
		raw := sendAll(t, &Message{Kind: Call, ID: 7, Func: 9, Text: []byte("text"), Tensors: []*tensor.Tensor{x, nil}})
		for _, how := range []string{"wanted", "any", "trusted"} {
			r := NewReader(bytes.NewReader(raw))
			h, err := r.Next()
			text, err2 := r.Text(h)
			if err != nil || err2 != nil || h.Kind != Call || h.ID != 7 || h.Func != 9 || string(text) != "text" ||
				h.Tensors != 2 {
				t.Fatalf("%+v %q %v %v", h, text, err, err2)
			}
			read := r.Trusted
			switch how {
			case "wanted":
				read = func() (*tensor.Tensor, error) { return r.Wanted(Want{x.DType, x.Shape}) }
			case "any":
				read = func() (*tensor.Tensor, error) { return r.Any(1 << 20) }
			}
			y, err := read()
			if err != nil {
				t.Fatalf("%v %v: %v", x.Shape, x.Strides, err)
			}
			if y.DType != x.DType || !slices.Equal(y.Shape, x.Shape) || !slices.Equal(y.Bits(), x.Bits()) ||
				y.IsContiguous() != x.IsContiguous() || y.IsColumnMajor() != x.IsColumnMajor() {
				t.Errorf("%v with strides %d became %v with %d: %v", x, x.Strides, y, y.Strides, y.Bits())
			}
			if most := 4*x.Bytes() + 64; y.Storage().Bytes() > most {
				t.Errorf("%v with strides %d takes %d bytes", x, x.Strides, y.Storage().Bytes())
			}
			for i, s := range x.Strides {
				if x.Elems() > 0 && x.Shape[i] > 1 &&
					((s == 0) != (y.Strides[i] == 0) || (s < 0) != (y.Strides[i] < 0)) {
					t.Errorf("strides %d became %d", x.Strides, y.Strides)
				}
			}
			if y, err := r.Any(0); y != nil || err != nil {
				t.Errorf("%v, %v in place of nil", y, err)
			}
		}
	}
}

// TestRefused: what is not right is an error, and makes no memory.
func TestRefused(t *testing.T) {
	head := func(kind Kind, text, tensors uint32) []byte {
		b := append([]byte{byte(kind)}, make([]byte, 8)...)
		b = binary.LittleEndian.AppendUint32(b, text)
		return binary.LittleEndian.AppendUint32(b, tensors)
	}
	dense := func(dtype types.DType, data []byte, shape ...uint32) []byte {
		b := append(head(Done, 0, 1), formTensor, byte(dtype), byte(len(shape)), 0)
		for i, n := range shape {
			b = binary.LittleEndian.AppendUint32(b, n)
			b = append(b, byte(i), 0, 0)
		}
		return append(b, data...)
	}
	want := &Want{types.F32, []int64{2}}
	axes := dense(types.F32, make([]byte, 8), 2)
	axes[headBytes+8] = 1 // the only axis is the second
	spread := dense(types.F32, make([]byte, 4), 1<<30)
	spread[headBytes+10] = flagZero
	flags := dense(types.F32, make([]byte, 8), 2)
	flags[headBytes+10] = 8
	for name, c := range map[string]struct {
		raw  []byte
		want *Want
		says string
	}{
		"a kind":             {head(99, 0, 0), nil, "kind 99"},
		"no kind":            {head(0, 0, 0), nil, "kind 0"},
		"a long text":        {head(Done, MaxText+1, 0), nil, "too long"},
		"many tensors":       {head(Done, 0, MaxTensors+1), nil, "too many"},
		"a cut text":         {head(Done, MaxText, 0), nil, "unexpected EOF"},
		"a cut tensor":       {dense(types.F32, nil, 2), want, "unexpected EOF"},
		"a large cut tensor": {dense(types.F32, nil, 1<<30, 4), &Want{types.F32, []int64{1 << 30, 4}}, "EOF"},
		"another type":       {dense(types.I32, make([]byte, 8), 2), want, "i32[2] where f32[2]"},
		"another shape":      {dense(types.F32, make([]byte, 12), 3), want, "f32[3] where f32[2]"},
		"another rank":       {dense(types.F32, make([]byte, 8), 2, 1), want, "f32[2,1] where f32[2]"},
		"no type":            {dense(77, make([]byte, 8), 2), nil, "type 77"},
		"a bool of 2":        {dense(types.Bool, []byte{0, 2}, 2), nil, "a bool is 2"},
		"nil":                {append(head(Done, 0, 1), formNil), want, "no tensor"},
		"a form":             {append(head(Done, 0, 1), 9), want, "form 9"},
		"a string":           {append(head(Done, 0, 1), formText, 0, 0, 0, 0), want, "a string"},
		"a long string":      {append(head(Done, 0, 1), formText, 1, 0, 0, 255), nil, "too long"},
		"too large":          {dense(types.F64, nil, 1<<20), nil, "too large"},
		"larger than memory": {dense(types.F64, nil, 1<<30, 1<<30, 1<<30), nil, "out of memory"},
		"axes":               {axes, want, "no order"},
		"too much of one":    {spread, nil, "too large"},
		"flags":              {flags, want, "no order"},
	} {
		err := func() error {
			r := NewReader(bytes.NewReader(c.raw))
			h, err := r.Next()
			if err != nil {
				return err
			}
			if _, err := r.Text(h); err != nil {
				return err
			}
			if c.want != nil {
				_, err = r.Wanted(*c.want)
			} else {
				_, err = r.Any(1 << 20)
			}
			return err
		}()
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzMessages: whatever the other side says, there is a message or an error; what was read can be sent, and is the
// same again. Memory follows what was read.
func FuzzMessages(f *testing.F) {
	f.Add(sendAll(f, &Message{Kind: Done, ID: 1, Tensors: []*tensor.Tensor{tensorOf(f, types.F32, 2, 3), nil,
		tensor.Text("text")}}))
	columns, _ := tensorOf(f, types.Bool, 3, 4).ColumnMajor()
	rows, _ := tensorOf(f, types.I8, 3).Expand(2, 3)
	f.Add(sendAll(f, &Message{Kind: SaveNpy, ID: 1, Text: []byte("x.npy"), Tensors: []*tensor.Tensor{columns, rows}}))
	f.Add(sendAll(f, &Message{Kind: Failed, Text: Encode(&Failure{Kind: kindRuntime, Text: "x",
		Cause: &Failure{Kind: kindList, List: &diagnoses{Files: []file{{"a", "b"}}, Items: []diagnosis{{Code: "E0101",
			Primary: label{Places: []spot{{2, 0, 9}, {1, -1, 1}}}}}}}})}))
	f.Add(sendAll(f, &Message{Kind: Done, Text: Encode(&Function{Name: "f", Dims: []string{"N"},
		Params: []Param{{Name: "x", Type: types.Of(types.F32, 3)}}, Results: []types.Tensor{types.Of(types.I8)}})}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		defer claims.Within(t, len(raw), 4<<20, 512)()
		r := NewReader(bytes.NewReader(raw))
		for {
			h, err := r.Next()
			if err != nil {
				return
			}
			text, err := r.Text(h)
			if err != nil {
				return
			}
			var failure Failure
			if Decode(text, &failure) == nil {
				if err := failure.Err(Context{}); err != nil {
					_ = err.Error()
				}
			}
			var fn Function
			if Decode(text, &fn) == nil && fn.Verify() == nil {
				shapes := make([][]int64, len(fn.Params))
				for i := range shapes {
					shapes[i] = make([]int64, len(fn.Params[i].Type.Shape))
				}
				_, _ = fn.Wanted(shapes)
			}
			var all []*tensor.Tensor
			for range h.Tensors {
				x, err := r.Any(1 << 16)
				if err != nil {
					return
				}
				all = append(all, x)
			}
			var again bytes.Buffer
			if err := NewWriter(&again).Send(&Message{h.Kind, h.ID, h.Func, text, all}); err != nil {
				t.Fatal(err)
			}
			s := NewReader(&again)
			g, _ := s.Next()
			same, err := s.Text(g)
			if err != nil || !bytes.Equal(text, same) || g != h {
				t.Fatalf("%+v %q became %+v %q, %v", h, text, g, same, err)
			}
			for _, x := range all {
				y, err := s.Any(1 << 17)
				if err != nil {
					t.Fatal(err)
				}
				if fmt.Sprint(x) != fmt.Sprint(y) || x != nil && !x.IsText() && !slices.Equal(x.Bits(), y.Bits()) {
					t.Fatalf("%v became %v", x, y)
				}
			}
		}
	})
}
