package types

import (
	"fmt"
	"math/bits"
	"sort"
	"strconv"
	"strings"
)

// MaxExtent is the largest extent of one axis (language.md, section 2).
const MaxExtent = 1<<31 - 1

// Dim is an extent: a polynomial with integer coefficients over shape parameters, in normal form, so
// that N+1 and 1+N are one Dim. The zero value is the literal 0. A Dim is immutable.
type Dim struct {
	terms []term // sorted by vars (fewer factors first, then by name); no zero coefficients
}

type term struct {
	coef int64
	vars []string // factors, sorted, repeated for powers; empty for the constant term
}

// Lit returns the literal extent n.
func Lit(n int64) Dim {
	if n == 0 {
		return Dim{}
	}
	return Dim{[]term{{coef: n}}}
}

// Param returns the shape parameter called name.
func Param(name string) Dim { return Dim{[]term{{1, []string{name}}}} }

// Const returns the value of a dim without parameters.
func (d Dim) Const() (int64, bool) {
	switch {
	case len(d.terms) == 0:
		return 0, true
	case len(d.terms) == 1 && len(d.terms[0].vars) == 0:
		return d.terms[0].coef, true
	}
	return 0, false
}

// IsConst reports whether d is the literal n.
func (d Dim) IsConst(n int64) bool {
	v, ok := d.Const()
	return ok && v == n
}

// AlwaysPositive reports that d is at least 1 whatever its parameters are, as far as the signs of its coefficients show
// it.
func (d Dim) AlwaysPositive() bool {
	positive := false
	for _, t := range d.Terms() {
		if t.Coef < 0 {
			return false
		}
		positive = positive || len(t.Vars) == 0
	}
	return positive
}

// Equal reports whether d and e are the same polynomial.
func (d Dim) Equal(e Dim) bool {
	if len(d.terms) != len(e.terms) {
		return false
	}
	for i, t := range d.terms {
		if t.coef != e.terms[i].coef || compareVars(t.vars, e.terms[i].vars) != 0 {
			return false
		}
	}
	return true
}

// Params returns the names of the parameters in d, sorted, each once.
func (d Dim) Params() []string {
	set := map[string]bool{}
	for _, t := range d.terms {
		for _, v := range t.vars {
			set[v] = true
		}
	}
	names := make([]string, 0, len(set))
	for v := range set {
		names = append(names, v)
	}
	sort.Strings(names)
	return names
}

// AsParam returns the name when d is just one parameter.
func (d Dim) AsParam() (string, bool) {
	if len(d.terms) == 1 && d.terms[0].coef == 1 && len(d.terms[0].vars) == 1 {
		return d.terms[0].vars[0], true
	}
	return "", false
}

// An OverflowError says that an extent does not fit in 64 bits.
type OverflowError struct{ Op, X, Y string }

func (e *OverflowError) Error() string {
	return fmt.Sprintf("the extent (%s) %s (%s) overflows 64 bits", e.X, e.Op, e.Y)
}

// Add returns d + e.
func (d Dim) Add(e Dim) (Dim, error) {
	out := make([]term, 0, len(d.terms)+len(e.terms))
	out = append(append(out, d.terms...), e.terms...)
	r, ok := normal(out)
	if !ok {
		return Dim{}, &OverflowError{"+", d.String(), e.String()}
	}
	return r, nil
}

// Sub returns d - e.
func (d Dim) Sub(e Dim) (Dim, error) {
	out := make([]term, 0, len(d.terms)+len(e.terms))
	out = append(out, d.terms...)
	for _, t := range e.terms {
		if t.coef == -1<<63 {
			return Dim{}, &OverflowError{"-", d.String(), e.String()}
		}
		out = append(out, term{-t.coef, t.vars})
	}
	r, ok := normal(out)
	if !ok {
		return Dim{}, &OverflowError{"-", d.String(), e.String()}
	}
	return r, nil
}

// Mul returns d * e.
func (d Dim) Mul(e Dim) (Dim, error) {
	var out []term
	for _, a := range d.terms {
		for _, b := range e.terms {
			c, ok := mul64(a.coef, b.coef)
			if !ok {
				return Dim{}, &OverflowError{"*", d.String(), e.String()}
			}
			vars := append(append([]string{}, a.vars...), b.vars...)
			sort.Strings(vars)
			out = append(out, term{c, vars})
		}
	}
	r, ok := normal(out)
	if !ok {
		return Dim{}, &OverflowError{"*", d.String(), e.String()}
	}
	return r, nil
}

// Div returns the exact quotient d / e, and false when e does not divide d as a polynomial. e has one
// term, or equals d up to a constant factor.
func (d Dim) Div(e Dim) (Dim, bool) {
	if len(e.terms) == 0 {
		return Dim{}, false
	}
	if len(d.terms) == 0 {
		return Dim{}, true
	}
	lead := e.terms[len(e.terms)-1]
	if len(e.terms) > 1 {
		// Long division by the leading term, which ends because every step removes one.
		rest, quot := d, Dim{}
		for i := 0; len(rest.terms) > 0 && i < 64; i++ {
			t, ok := divTerm(rest.terms[len(rest.terms)-1], lead)
			if !ok {
				return Dim{}, false
			}
			q := Dim{[]term{t}}
			p, err := q.Mul(e)
			if err != nil {
				return Dim{}, false
			}
			if rest, err = rest.Sub(p); err != nil {
				return Dim{}, false
			}
			if quot, err = quot.Add(q); err != nil {
				return Dim{}, false
			}
		}
		return quot, len(rest.terms) == 0
	}
	out := make([]term, 0, len(d.terms))
	for _, t := range d.terms {
		q, ok := divTerm(t, lead)
		if !ok {
			return Dim{}, false
		}
		out = append(out, q)
	}
	r, ok := normal(out)
	return r, ok
}

func divTerm(a, b term) (term, bool) {
	if b.coef == 0 || a.coef == -1<<63 || a.coef%b.coef != 0 {
		return term{}, false
	}
	vars := append([]string{}, a.vars...)
	for _, v := range b.vars {
		i := sort.SearchStrings(vars, v)
		if i == len(vars) || vars[i] != v {
			return term{}, false
		}
		vars = append(vars[:i], vars[i+1:]...)
	}
	return term{a.coef / b.coef, vars}, true
}

// Subst replaces each parameter that bind names by its value. Parameters it does not name stay.
func (d Dim) Subst(bind map[string]Dim) (Dim, error) {
	if len(bind) == 0 {
		return d, nil
	}
	sum := Dim{}
	for _, t := range d.terms {
		p := Lit(t.coef)
		for _, v := range t.vars {
			f, ok := bind[v]
			if !ok {
				f = Param(v)
			}
			var err error
			if p, err = p.Mul(f); err != nil {
				return Dim{}, err
			}
		}
		var err error
		if sum, err = sum.Add(p); err != nil {
			return Dim{}, err
		}
	}
	return sum, nil
}

// Eval returns the value of d. It is an error when a parameter is not bound or the value overflows.
func (d Dim) Eval(bind map[string]int64) (int64, error) {
	dims := make(map[string]Dim, len(bind))
	for k, v := range bind {
		dims[k] = Lit(v)
	}
	r, err := d.Subst(dims)
	if err != nil {
		return 0, err
	}
	v, ok := r.Const()
	if !ok {
		return 0, fmt.Errorf("the extent %s is not known: %s has no value", d, strings.Join(r.Params(), ", "))
	}
	return v, nil
}

// Term is one summand of a dim: Coef times the product of Vars (sorted; powers are repeated).
type Term struct {
	Coef int64
	Vars []string
}

// Terms returns the summands in normal order, for code that computes a dim at run time. The caller
// must not change the Vars.
func (d Dim) Terms() []Term {
	out := make([]Term, len(d.terms))
	for i, t := range d.terms {
		out[i] = Term{t.coef, t.vars}
	}
	return out
}

// String prints the normal form as source: constants last, `2*N*M + N - 1`. ParseDim reads it back.
func (d Dim) String() string {
	if len(d.terms) == 0 {
		return "0"
	}
	var b strings.Builder
	for i := len(d.terms) - 1; i >= 0; i-- {
		t := d.terms[i]
		neg := t.coef < 0
		switch {
		case b.Len() == 0 && neg:
			b.WriteString("-")
		case b.Len() > 0 && neg:
			b.WriteString("-")
		case b.Len() > 0:
			b.WriteString("+")
		}
		abs := strings.TrimPrefix(strconv.FormatInt(t.coef, 10), "-")
		if len(t.vars) == 0 || abs != "1" {
			b.WriteString(abs)
			if len(t.vars) > 0 {
				b.WriteString("*")
			}
		}
		b.WriteString(strings.Join(t.vars, "*"))
	}
	return b.String()
}

// ParseDim reads what String prints: sums of products of integers and names.
func ParseDim(s string) (Dim, error) {
	sum := Dim{}
	rest := strings.ReplaceAll(s, " ", "")
	if rest == "" {
		return Dim{}, fmt.Errorf("empty extent")
	}
	for rest != "" {
		sign := int64(1)
		if rest[0] == '+' || rest[0] == '-' {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, "+-")
		if end < 0 {
			end = len(rest)
		}
		prod := Lit(sign)
		for _, f := range strings.Split(rest[:end], "*") {
			var d Dim
			if n, err := strconv.ParseInt(f, 10, 64); err == nil {
				d = Lit(n)
			} else if f == "9223372036854775808" && sign < 0 {
				d, prod = Lit(-1<<63), Lit(1)
			} else if isName(f) {
				d = Param(f)
			} else {
				return Dim{}, fmt.Errorf("bad extent %q", s)
			}
			var err error
			if prod, err = prod.Mul(d); err != nil {
				return Dim{}, err
			}
		}
		var err error
		if sum, err = sum.Add(prod); err != nil {
			return Dim{}, err
		}
		rest = rest[end:]
	}
	return sum, nil
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || c == '%' || c == '.' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

func normal(ts []term) (Dim, bool) {
	sort.SliceStable(ts, func(i, j int) bool { return compareVars(ts[i].vars, ts[j].vars) < 0 })
	out := make([]term, 0, len(ts))
	for _, t := range ts {
		if n := len(out); n > 0 && compareVars(out[n-1].vars, t.vars) == 0 {
			sum := out[n-1].coef + t.coef
			if (out[n-1].coef > 0) == (t.coef > 0) && (sum > 0) != (t.coef > 0) {
				return Dim{}, false
			}
			out[n-1].coef = sum
			if sum == 0 {
				out = out[:n-1]
			}
			continue
		}
		if t.coef != 0 {
			out = append(out, t)
		}
	}
	return Dim{out}, true
}

func compareVars(a, b []string) int {
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	for i := range a {
		if c := strings.Compare(a[i], b[i]); c != 0 {
			return -c // so that String, which prints backwards, is alphabetical
		}
	}
	return 0
}

func mul64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	neg := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(abs64(a), abs64(b))
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !neg {
		return 0, false
	}
	if neg {
		return -int64(lo), true
	}
	return int64(lo), true
}

func abs64(a int64) uint64 {
	if a < 0 {
		return uint64(-(a + 1)) + 1
	}
	return uint64(a)
}

// MarshalText writes what String prints.
func (d Dim) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Dim) UnmarshalText(text []byte) error {
	v, err := ParseDim(string(text))
	*d = v
	return err
}
