package transcripts

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite examples/transcripts")

// lines is the file with one entry a line.
func (r *record) lines() []byte {
	var b bytes.Buffer
	b.WriteString("{\"__type__\": \"ExecutionTranscript\", \"transcript\": [\n")
	for i, e := range r.entries {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		b.Write(data)
		if i < len(r.entries)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("]}\n")
	return b.Bytes()
}

// product is the transcript of a product of polynomials modulo x^8 + 1 and two primes: transforms, a pointwise product
// and the inverse transform, channels last.
func product() (*record, []int64) {
	const m = 8
	q := []int64{97, 113}
	psi := []int64{root(97, 2*m), root(113, 2*m)}
	tables, inverses, scale, perm := []int64{}, []int64{}, []int64{}, []int64{}
	for k, p := range q {
		for i := range int64(m) {
			tables = append(tables, powMod(psi[k], bitrev(i, m), p))
			inverses = append(inverses, powMod(psi[k], 2*m-bitrev(i, m), p))
		}
		scale = append(scale, powMod(m, p-2, p))
	}
	a, b, want := []int64{}, []int64{}, make([]int64, 2*m)
	for i := range int64(m) {
		perm = append(perm, bitrev(i, m))
		a, b = append(a, i+1, i+1), append(b, 3*i%5, 3*i%5)
	}
	for i := range m {
		for j := range m {
			for k, p := range q {
				v := mulMod(a[2*i], b[2*j], p)
				if i+j >= m {
					v = p - v
				}
				at := 2*((i+j)%m) + k
				want[at] = addMod(want[at], v, p)
			}
		}
	}
	r := &record{}
	send := func(name string, elems []int64, shape ...int64) {
		r.op("host_to_device", dev(name, "int64"), host("int64", shape, false, elems))
	}
	r.start("keys")
	send("q", q, 2)
	send("psi", tables, 2, m)
	send("psi_inv", inverses, 2, m)
	send("m_inv", scale, 2)
	send("perm", perm, m)
	r.end()
	r.start("product")
	send("a", a, 1, m, 1, 2)
	send("b", b, 1, m, 1, 2)
	for _, name := range []string{"ta", "tb"} {
		r.op("empty", dev(name, "int64"), shape(1, m, 1, 2), dtype("int64"))
		r.call("ntt", name[1:], "perm", none(), "q", none(), none(), "psi", name, false, false)
		r.free(name[1:])
	}
	r.call("_modmul_ttt", "ta", "tb", "q", "ta")
	r.call("intt", "ta", "perm", none(), "q", none(), none(), "psi_inv", "m_inv", "tb", false)
	r.op("device_to_host", host("int64", []int64{1, m, 1, 2}, false, want), dev("tb", "int64"))
	r.end()
	fix(r)
	return r, want
}

// fix names the results of transforms, whose last argument is no tensor.
func fix(r *record) {
	for _, e := range r.entries {
		op, ok := e.([]any)[1].(obj)
		if !ok || op["name"] != "intt" && op["name"] != "ntt" {
			continue
		}
		args := op["args"].([]obj)
		for i := len(args) - 1; i >= 0; i-- {
			if args[i]["arg_type"].(obj)["value"] == "DEVICE_TENSOR" {
				op["out"] = args[i]
				break
			}
		}
	}
}

// root is a number of the order n modulo a prime.
func root(p, n int64) int64 {
	for g := int64(2); ; g++ {
		if r := powMod(g, (p-1)/n, p); powMod(r, n/2, p) == p-1 {
			return r
		}
	}
}

// TestExample runs the example of docs/transcripts.md, which is the transcript of product.
func TestExample(t *testing.T) {
	r, want := product()
	check(t, r, want)
	name := filepath.Join("..", "..", "examples", "transcripts", "product.json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, r.lines(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, r.lines()) {
		t.Error("the example is not what the test makes; run `go test ./tests/transcripts -run Example -update`")
	}
	for _, h := range hows {
		if _, err := execute(t, data, h, true); err != nil {
			t.Errorf("%s: %v", h, err)
		}
	}
}
