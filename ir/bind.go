package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"healc/lang/types"
)

// BindDims finds the values of f's shape parameters from the shapes of its arguments, as BindDimsWith does where none
// is given.
func BindDims(f *Func, shapes [][]int64) (map[string]int64, error) {
	return BindDimsWith(f, nil, shapes)
}

// BindDimsWith finds the values of f's shape parameters from the shapes of its arguments. An extent that is
// one parameter binds it; an extent like 2*N+1, linear in one unknown parameter, is solved; everything
// else is checked when the rest is bound. given are values that are known from elsewhere.
// The error says which parameter has which extents.
func BindDimsWith(f *Func, given map[string]int64, shapes [][]int64) (map[string]int64, error) {
	params := f.Params()
	if len(shapes) != len(params) {
		return nil, fmt.Errorf("%s takes %s, not %d", f.Name, types.Count(len(params), "argument"), len(shapes))
	}
	b := binding{f: f, values: map[string]int64{}, from: map[string]string{}}
	for name, n := range given {
		b.values[name], b.from[name] = n, "the brackets of the entry"
	}
	for i, p := range params {
		if len(shapes[i]) != p.Type.Rank() {
			return nil, fmt.Errorf("%s is %s and has rank %d, but the argument has rank %d: %v",
				b.name(i), p.Type, p.Type.Rank(), len(shapes[i]), shapes[i])
		}
	}
	// Plain parameters first, so that messages speak of them and not of a solved equation. Then every round
	// may leave an extent with one unknown that had two.
	for known, solve := -1, false; known < len(b.values); solve = true {
		if solve {
			known = len(b.values)
		}
		for i, p := range params {
			for k, d := range p.Type.Shape {
				if _, plain := d.AsParam(); plain || solve {
					if err := b.bind(i, k, d, shapes[i][k]); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	for _, name := range f.Dims {
		if _, ok := b.values[name]; !ok {
			return nil, fmt.Errorf("no argument of %s determines the shape parameter %s", f.Name, name)
		}
	}
	return b.values, b.check(shapes)
}

type binding struct {
	f      *Func
	values map[string]int64
	from   map[string]string // where each value comes from: "axis 0 of x"
}

// name is the name of parameter i for messages.
func (b *binding) name(i int) string {
	if n := b.f.Params()[i].Name; n != "" {
		return n
	}
	return fmt.Sprintf("argument %d", i+1)
}

// bind learns from the extent d of axis k of argument i being n. It leaves what it cannot solve to check.
func (b *binding) bind(i, k int, d types.Dim, n int64) error {
	place := fmt.Sprintf("axis %d of %s", k, b.name(i))
	var unknown string
	var coef, rest int64
	for _, t := range d.Terms() {
		product, free := t.Coef, 0
		for _, v := range t.Vars {
			value, known := b.values[v]
			switch {
			case known:
				product *= value
			case unknown == "" || unknown == v:
				unknown = v
				free++
			default:
				return nil
			}
		}
		switch free {
		case 0:
			rest += product
		case 1:
			coef += product
		default:
			return nil
		}
	}
	if unknown == "" || coef == 0 {
		name, plain := d.AsParam()
		if plain && b.values[name] != n {
			return fmt.Errorf("the shape parameter %s is %d by %s, but %d by %s", name, b.values[name], b.from[name], n,
				place)
		}
		return nil
	}
	if (n-rest)%coef != 0 || (n-rest)/coef < 0 {
		return fmt.Errorf("%s has extent %d, which is %s for no %s", place, n, d, unknown)
	}
	b.values[unknown] = (n - rest) / coef
	b.from[unknown] = place
	return nil
}

// check compares every extent with its value.
func (b *binding) check(shapes [][]int64) error {
	for i, p := range b.f.Params() {
		for k, d := range p.Type.Shape {
			want, err := d.Eval(b.values)
			if err != nil {
				return fmt.Errorf("axis %d of %s: %w", k, b.name(i), err)
			}
			if _, literal := d.Const(); literal && want != shapes[i][k] {
				return fmt.Errorf("axis %d of %s has extent %d, and the type %s asks for %d", k, b.name(i),
					shapes[i][k], p.Type, want)
			}
			if want != shapes[i][k] {
				return fmt.Errorf("axis %d of %s has extent %d, but %s is %d%s", k, b.name(i), shapes[i][k], d, want,
					b.where(d))
			}
		}
	}
	return nil
}

// where explains the values of the parameters in d.
func (b *binding) where(d types.Dim) string {
	s := ""
	for _, name := range d.Params() {
		s += fmt.Sprintf(", with %s = %d by %s", name, b.values[name], b.from[name])
	}
	return s
}

// With is what the message of an error says of values of shape parameters: ` (with M = 3, N = 4)`, nothing of none.
func With(dims map[string]types.Dim) string {
	text, shows := WithShown(dims)
	for _, d := range shows {
		text = strings.Replace(text, "{}", d.String(), 1)
	}
	return text
}

// WithShown is With where values are known when the program runs: {} stands for each of these in the text.
func WithShown(dims map[string]types.Dim) (text string, shows types.Shape) {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		n, known := dims[name].Const()
		if known {
			parts = append(parts, fmt.Sprintf("%s = %d", name, n))
			continue
		}
		parts = append(parts, name+" = {}")
		shows = append(shows, dims[name])
	}
	if len(parts) == 0 {
		return "", nil
	}
	return " (with " + strings.Join(parts, ", ") + ")", shows
}
