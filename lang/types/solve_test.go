package types

import "testing"

func TestUnknown(t *testing.T) {
	for _, c := range []struct{ dim, known, name, coef, rest string }{
		{"N", "", "N", "1", "0"},
		{"2*N+1", "", "N", "2", "1"},
		{"M*N-M+3", "M", "N", "M", "-M+3"},
		{"M*N", "", "", "", ""},
		{"N*N", "", "", "", ""},
		{"N", "N", "", "", ""},
		{"4", "", "", "", ""},
	} {
		d, err := ParseDim(c.dim)
		if err != nil {
			t.Fatal(err)
		}
		name, coef, rest, ok := Unknown(d, func(v string) bool { return v == c.known })
		if ok != (c.name != "") || ok && (name != c.name || coef.String() != c.coef || rest.String() != c.rest) {
			t.Errorf("%s: %v %s, %s, %s", c.dim, ok, name, coef, rest)
		}
	}
}
