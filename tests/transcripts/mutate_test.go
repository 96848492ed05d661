package transcripts

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"healc/tests/sample"
	"healc/transcript"
)

// TestMutations breaks random transcripts in one to three places, where a value is replaced by one from elsewhere or by
// an odd one: each is an error that says so or a transcript that runs. What the fuzzer does to bytes, this does to
// values. A quarter of the seeds run, other ones every day.
func TestMutations(t *testing.T) {
	n, parts, day := 4000, sample.Part(4), sample.Today(t)
	if testing.Short() {
		n, parts = 400, 1
	}
	tried, ran := 0, 0
	for seed := range uint64(n) {
		if (int(seed)+day)%parts > 0 {
			continue
		}
		tried++
		g := generate(seed / 8)
		var tree any
		if err := json.Unmarshal(g.json(), &tree); err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 9))
		for range 1 + r.IntN(3) {
			var places []place
			collect(tree, &places)
			places[r.IntN(len(places))].set(odd(r, places))
		}
		data, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		err = tryout(t, data)
		var e *transcript.Error
		switch {
		case err == nil:
			ran++
		case !errors.As(err, &e):
			t.Errorf("seed %d: an error of type %T: %v", seed, err, err)
		case e.Msg == "":
			t.Errorf("seed %d: an error that says nothing: %v", seed, err)
		}
	}
	if ran == 0 || ran == tried {
		t.Errorf("%d of %d mutations ran, so nothing was broken or everything", ran, tried)
	}
}

// place is a value within another.
type place struct {
	value any
	set   func(any)
}

// collect lists the values of a tree. Those of names, kinds and numbers come more often than those of bulk.
func collect(v any, out *[]place) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range []string{"__type__", "name", "args", "out", "arg_type", "value", "inf_name", "tensor_name",
			"dtype", "start", "stop", "step", "type", "data", "transcript", "tensor_base64"} {
			if x, ok := v[k]; ok {
				*out = append(*out, place{x, func(n any) { v[k] = n }})
				collect(x, out)
			}
		}
	case []any:
		for i, x := range v {
			*out = append(*out, place{x, func(n any) { v[i] = n }})
			collect(x, out)
		}
	}
}

// odd is a value from elsewhere in the tree, which does not become part of itself, or one that is seldom right.
func odd(r *rand.Rand, places []place) any {
	switch v := places[r.IntN(len(places))].value.(type) {
	case map[string]any, []any:
		if r.IntN(2) == 0 {
			data, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			var c any
			if err := json.Unmarshal(data, &c); err != nil {
				panic(err)
			}
			return c
		}
	default:
		if r.IntN(2) == 0 {
			return v
		}
	}
	values := []any{nil, 0, -1, 1, 2, 3, 5, 1 << 20, 1<<31 - 1, 1 << 31, int64(1<<63 - 1), int64(-1 << 63), 1.5, 1e300,
		true, "", "DEVICE_TENSOR", "INT", "SHAPE", "torch.int32", "torch.int8",
		"torch.float64", "ntt", "reshape", "abs", "expand", "contiguous", "%", []any{}, map[string]any{}}
	return values[r.IntN(len(values))]
}
