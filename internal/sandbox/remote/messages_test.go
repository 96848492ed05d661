package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"healc/internal/sandbox"
	"healc/internal/sandbox/wire"
	"healc/lang/types"
	"healc/runtime/tensor"
)

// TestRefused: a child that says anything else than what it was asked is refused.
func TestRefused(t *testing.T) {
	one := func(shape ...int64) *tensor.Tensor {
		x, err := tensor.Zeros(types.F32, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	type all = []*tensor.Tensor
	done := func(id uint32, text string, ts ...*tensor.Tensor) wire.Message {
		return wire.Message{Kind: wire.Done, ID: id, Text: []byte(text), Tensors: ts}
	}
	say := func(kind wire.Kind, text string, ts ...*tensor.Tensor) wire.Message {
		return wire.Message{Kind: kind, ID: 9, Text: []byte(text), Tensors: ts}
	}
	wrong, _ := one(3).Expand(2, 3)
	for name, c := range map[string]struct {
		said []wire.Message
		want string
	}{
		"what was asked": {[]wire.Message{done(1, "", one(2), one()), done(2, "{}")}, "EOF"},
		"an error":       {[]wire.Message{{Kind: wire.Failed, ID: 1, Text: []byte("{}")}}, "EOF"},
		"twice": {[]wire.Message{done(1, "", one(2), one()), done(1, "", one(2), one())},
			"nobody asked"},
		"of another":            {[]wire.Message{done(7, "")}, "nobody asked"},
		"too few":               {[]wire.Message{done(1, "", one(2))}, "1 tensors in place of 2"},
		"too many":              {[]wire.Message{done(1, "", one(2), one(), one())}, "3 tensors in place of 2"},
		"another shape":         {[]wire.Message{done(1, "", one(2), one(1))}, "where f32 is to be"},
		"expanded to another":   {[]wire.Message{done(1, "", wrong, one())}, "where f32[2] is to be"},
		"nil":                   {[]wire.Message{done(1, "", nil, one())}, "no tensor"},
		"a string":              {[]wire.Message{done(1, "", tensor.Text("x"), one())}, "a string"},
		"a text":                {[]wire.Message{done(1, "x", one(2), one())}, "with a text"},
		"tensors for a text":    {[]wire.Message{done(2, "{}", one(2))}, "1 tensors in place of 0"},
		"an unreadable error":   {[]wire.Message{{Kind: wire.Failed, ID: 1, Text: []byte("{")}}, "cannot be read"},
		"a request":             {[]wire.Message{say(wire.Call, "")}, "no answer"},
		"an answer":             {[]wire.Message{say(wire.Answer, "")}, "no answer"},
		"a file":                {[]wire.Message{say(wire.ReadFile, "/etc/passwd")}, "may not ask"},
		"a tensor file":         {[]wire.Message{say(wire.LoadNpy, "x.npy")}, "no call does"},
		"to save one":           {[]wire.Message{say(wire.SaveNpy, "x.npy", one())}, "no call does"},
		"to save a picture":     {[]wire.Message{say(wire.SaveImage, "png:x.png", one())}, "no call does"},
		"a print with a tensor": {[]wire.Message{say(wire.Print, "x", one())}, "asks with 1 tensors"},
		"a print after the calls": {[]wire.Message{done(1, "", one(2), one()), say(wire.Print, "x")},
			"no call does"},
	} {
		var b bytes.Buffer
		w := wire.NewWriter(&b)
		for i := range c.said {
			if err := w.Send(&c.said[i]); err != nil {
				t.Fatal(err)
			}
		}
		m := &Module{waiting: map[uint32]*request{
			1: {kind: wire.Call, ctx: context.Background(), reply: make(chan reply, 1),
				wants: []wire.Want{{DType: types.F32, Shape: []int64{2}}, {DType: types.F32, Shape: []int64{}}}},
			2: {kind: wire.Find, ctx: context.Background(), reply: make(chan reply, 1)},
		}, lock: make(chan struct{}, 1), gone: make(chan struct{})}
		err := m.messages(wire.NewReader(&b))
		var said *refusal
		if c.want == "EOF" {
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.As(err, &said) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// More than the process may have in memory cannot come from there.
	m := &Module{opts: Options{Rules: sandbox.Rules{Memory: 7}}, waiting: map[uint32]*request{1: {kind: wire.Call,
		ctx: context.Background(), wants: []wire.Want{{DType: types.F32, Shape: []int64{2}}}}}}
	var b bytes.Buffer
	if err := wire.NewWriter(&b).Send(&wire.Message{Kind: wire.Done, ID: 1, Tensors: all{one(2)}}); err != nil {
		t.Fatal(err)
	}
	if err := m.messages(wire.NewReader(&b)); err == nil || !strings.Contains(err.Error(), "Memory allows") {
		t.Error(err)
	}
}

// TestDescribed: a function is described by what there is.
func TestDescribed(t *testing.T) {
	for text, want := range map[string]string{
		`{"Name":"f"}`:          "",
		`{"Name":"f\u001b[2J"}`: "a name is",
		`{"Name":"f","Params":[{"Name":"x","Type":{"Elem":99}}]}`:                                "a type is none",
		`{"Name":"f","Params":[{"Name":"x","Type":{"Elem":0}}]}`:                                 "a type is none",
		`{"Name":"f","Results":[{"Elem":14,"Shape":["3"]}]}`:                                     "a type is none",
		`{"Name":"f","Results":[{"Elem":12,"Sharding":1}]}`:                                      "a type is none",
		`{"Name":"f","Results":[{"Elem":12,"Layout":9}]}`:                                        "a type is none",
		`{"Name":"f","Dims":["N"],"Params":[{"Name":"x","Type":{"Elem":12,"Shape":["N*N+N"]}}]}`: "",
	} {
		var f wire.Function
		err := wire.Decode([]byte(text), &f)
		if err == nil {
			err = f.Verify()
		}
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
