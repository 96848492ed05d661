package explain

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"healc/lang/types"
	"healc/runtime/abi"
)

// cost is a quantity that depends on shapes: a polynomial in shape parameters, as coefficients by
// monomial ("" is 1, "M*N" a product). The arithmetic is in floats: it is for people to read, and
// chunks of reductions make fractions.
type cost map[string]float64

func number(n float64) cost { return cost{"": n} }

// dimCost is the value of an extent.
func dimCost(d types.Dim) cost {
	c := cost{}
	for _, t := range d.Terms() {
		c[strings.Join(t.Vars, "*")] += float64(t.Coef)
	}
	return c
}

// extentCost is the value of ceil(Dim/Div), without the rounding when it is symbolic.
func extentCost(e abi.Extent) cost {
	if e.Div <= 1 {
		return dimCost(e.Dim)
	}
	if n, ok := e.Dim.Const(); ok {
		return number(math.Ceil(float64(n) / float64(e.Div)))
	}
	return dimCost(e.Dim).times(number(1 / float64(e.Div)))
}

func (c cost) plus(d cost) cost {
	out := cost{}
	for k, v := range c {
		out[k] += v
	}
	for k, v := range d {
		out[k] += v
	}
	return out
}

func (c cost) times(d cost) cost {
	out := cost{}
	for k, v := range c {
		for l, w := range d {
			vars := append(monomial(k), monomial(l)...)
			sort.Strings(vars)
			out[strings.Join(vars, "*")] += v * w
		}
	}
	return out
}

func monomial(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "*")
}

// sample is the value that shape parameters are given where one number is needed.
const sample = 1024

// at evaluates with every shape parameter at sample.
func (c cost) at() float64 {
	sum := 0.0
	for k, v := range c {
		sum += v * math.Pow(sample, float64(len(monomial(k))))
	}
	return sum
}

// isNumber reports that no shape parameter is in it.
func (c cost) isNumber() bool {
	for k, v := range c {
		if k != "" && v != 0 {
			return false
		}
	}
	return true
}

// least and most choose by the value at the sample.
func least(a, b cost) cost {
	if b.at() < a.at() {
		return b
	}
	return a
}

func most(a, b cost) cost {
	if b.at() > a.at() {
		return b
	}
	return a
}

// String prints the polynomial, products of many parameters first: 2*M*N + 3*M.
func (c cost) String() string {
	var keys []string
	for k, v := range c {
		if v != 0 {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if n, m := len(monomial(keys[i])), len(monomial(keys[j])); n != m {
			return n > m
		}
		return keys[i] < keys[j]
	})
	var b strings.Builder
	for i, k := range keys {
		v := c[k]
		switch {
		case i > 0 && v < 0:
			b.WriteString(" - ")
			v = -v
		case i > 0:
			b.WriteString(" + ")
		}
		switch {
		case k == "":
			b.WriteString(plain(v))
		case plain(v) == "1":
			b.WriteString(k)
		default:
			b.WriteString(plain(v) + "*" + k)
		}
	}
	if b.Len() == 0 {
		return "0"
	}
	return b.String()
}

// plain prints a whole number with all digits, others with four.
func plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// inBytes prints a number of bytes, in larger units as well when it is one number.
func (c cost) inBytes() string {
	s := c.String() + " bytes"
	if n := c.at(); c.isNumber() && n >= 10<<10 {
		unit, names := n/(1<<10), []string{"KiB", "MiB", "GiB", "TiB"}
		for len(names) > 1 && unit >= 1<<10 {
			unit, names = unit/(1<<10), names[1:]
		}
		s += fmt.Sprintf(" (%.1f %s)", unit, names[0])
	}
	return s
}
