package types

import (
	"math/rand/v2"
	"testing"
)

func mustDim(t *testing.T, s string) Dim {
	t.Helper()
	d, err := ParseDim(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNormalForm(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"1+N", "N+1"}, {"N+1", "N+1"}, {"N*M", "M*N"}, {"2*N-N-N", "0"}, {"3-5", "-2"}, {"M*N+N*M", "2*M*N"},
		{"N*N*2+N-1", "2*N*N+N-1"}, {"-N", "-N"}, {"0*N+7", "7"}, {"-9223372036854775808", "-9223372036854775808"},
	} {
		d := mustDim(t, c.in)
		if d.String() != c.want {
			t.Errorf("%s prints as %s, want %s", c.in, d, c.want)
		}
		if !mustDim(t, d.String()).Equal(d) {
			t.Errorf("%s does not read back", d)
		}
	}
}

func TestParseDimRefuses(t *testing.T) {
	for _, s := range []string{"", "+", "1+", "N*", "1.5", "N M$", "99999999999999999999", "*N"} {
		if d, err := ParseDim(s); err == nil {
			t.Errorf("%q reads as %s", s, d)
		}
	}
}

// TestArithmeticAgreesWithNumbers evaluates random polynomials: arithmetic on dims is arithmetic on their values.
func TestArithmeticAgreesWithNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	bind := map[string]int64{"N": 5, "M": -3, "K": 7}
	random := func() Dim {
		d := Lit(r.Int64N(9) - 4)
		for range r.IntN(4) {
			p := Lit(r.Int64N(7) - 3)
			for range r.IntN(3) {
				p, _ = p.Mul(Param([]string{"N", "M", "K"}[r.IntN(3)]))
			}
			d, _ = d.Add(p)
		}
		return d
	}
	eval := func(d Dim, err error) int64 {
		if err != nil {
			t.Fatal(err)
		}
		v, err := d.Eval(bind)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for range 3000 {
		a, b := random(), random()
		x, y := eval(a, nil), eval(b, nil)
		if eval(a.Add(b)) != x+y || eval(a.Sub(b)) != x-y || eval(a.Mul(b)) != x*y {
			t.Fatalf("%s and %s: sum, difference or product is wrong", a, b)
		}
		p, _ := a.Mul(b)
		if !b.IsConst(0) {
			if q, ok := p.Div(b); !ok || !q.Equal(a) {
				t.Fatalf("(%s) / (%s) = %s, %v; want %s", p, b, q, ok, a)
			}
		}
		if back, err := ParseDim(a.String()); err != nil || !back.Equal(a) {
			t.Fatalf("%s reads back as %s", a, back)
		}
		text, _ := a.MarshalText()
		var u Dim
		if err := u.UnmarshalText(text); err != nil || !u.Equal(a) {
			t.Fatalf("%s comes back from its text as %s", a, u)
		}
	}
}

func TestDivIsExact(t *testing.T) {
	for _, c := range []struct{ x, y, want string }{
		{"2*N", "2", "N"}, {"N*M+N", "N", "M+1"}, {"N*N-1", "N+1", "N-1"}, {"N", "2", ""}, {"N+1", "N", ""},
		{"7", "0", ""}, {"0", "N", "0"}, {"6", "-3", "-2"},
	} {
		q, ok := mustDim(t, c.x).Div(mustDim(t, c.y))
		if ok != (c.want != "") || ok && q.String() != c.want {
			t.Errorf("(%s) / (%s) = %s, %v; want %q", c.x, c.y, q, ok, c.want)
		}
	}
}

func TestOverflowIsAnError(t *testing.T) {
	big := Lit(1<<63 - 1)
	if d, err := big.Add(Lit(1)); err == nil {
		t.Errorf("max + 1 = %s", d)
	}
	if d, err := big.Mul(Lit(2)); err == nil {
		t.Errorf("max * 2 = %s", d)
	}
	if d, err := Lit(0).Sub(Lit(-1 << 63)); err == nil {
		t.Errorf("0 - min = %s", d)
	}
	n, _ := Param("N").Mul(Param("N"))
	if v, err := n.Eval(map[string]int64{"N": 1 << 40}); err == nil {
		t.Errorf("2^40 squared = %d", v)
	}
	if _, err := n.Eval(nil); err == nil {
		t.Error("a parameter without a value evaluates")
	}
}

func TestBroadcast(t *testing.T) {
	shape := func(s ...string) Shape {
		var out Shape
		for _, x := range s {
			out = append(out, mustDim(t, x))
		}
		return out
	}
	for _, c := range []struct {
		a, b Shape
		want string
		axis int
	}{
		{shape("8", "1", "6"), shape("7", "1"), "[8, 7, 6]", 0},
		{shape(), shape("N", "M"), "[N, M]", 0},
		{shape("N", "1"), shape("1", "N"), "[N, N]", 0},
		{shape("N"), shape("N"), "[N]", 0},
		{shape("0"), shape("1"), "[0]", 0},
		{shape("N"), shape("M"), "", 1},
		{shape("5", "2", "4", "1"), shape("3", "1", "1"), "", 3},
		{shape("N+1"), shape("1+N"), "[N+1]", 0},
	} {
		got, err := Broadcast(c.a, c.b)
		if c.axis == 0 {
			if err != nil || got.String() != c.want {
				t.Errorf("%s with %s gives %s, %v; want %s", c.a, c.b, got, err, c.want)
			}
			continue
		}
		rule, ok := err.(*RuleError)
		if !ok || rule.Axis != c.axis || rule.Why == "" {
			t.Errorf("%s with %s: error %v, want axis %d from the end", c.a, c.b, err, c.axis)
		}
	}
}
