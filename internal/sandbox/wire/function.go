package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"healc/ir"
	"healc/lang/types"
)

// Function is what the parent knows about a function.
type Function struct {
	Number    uint32 // what calls name it by
	Name      string
	Signature string
	Dims      []string
	Params    []Param
	Results   []types.Tensor // as declared

	of *ir.Func
}

// Param is a parameter.
type Param struct {
	Name    string
	Type    types.Tensor // as declared
	Updated bool
}

// Verify checks a description that came from elsewhere, before anything else is done with it.
func (f *Function) Verify() error {
	of := &ir.Func{Name: f.Name, Dims: f.Dims, Body: &ir.Block{}, Results: f.Results}
	for _, text := range append([]string{f.Name, f.Signature}, f.Dims...) {
		if err := printable(text); err != nil {
			return err
		}
	}
	if len(f.Params) > MaxTensors/2 || len(f.Results) > MaxTensors/2 {
		return errors.New("it has too many parameters or results")
	}
	for _, p := range f.Params {
		if err := verifyType(p.Type); err != nil {
			return err
		}
		if err := printable(p.Name); err != nil {
			return err
		}
		of.Body.Params = append(of.Body.Params, &ir.Value{Name: p.Name, Type: p.Type})
	}
	for _, t := range f.Results {
		if err := verifyType(t); err != nil {
			return err
		}
	}
	f.of = of
	return nil
}

// verifyType checks a type.
func verifyType(t types.Tensor) error {
	if !t.Elem.Converts() && t.Elem != types.String || t.Elem == types.String && len(t.Shape) > 0 ||
		len(t.Shape) > MaxRank || t.Layout > types.Strided || t.Place > types.OnUnified ||
		t.Sharding.Axis() >= len(t.Shape) {
		return errors.New("a type is none")
	}
	return nil
}

// printable refuses names that would do more than show where they are printed.
func printable(s string) error {
	bad := strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	if bad || !utf8.ValidString(s) {
		return fmt.Errorf("a name is %q", s)
	}
	return nil
}

// Wanted are the results, and after them the new values of the updated parameters, for arguments of these shapes.
func (f *Function) Wanted(shapes [][]int64) ([]Want, error) {
	bind, err := ir.BindDimsWith(f.of, nil, shapes)
	if err != nil {
		return nil, err
	}
	var out []Want
	for _, t := range f.Results {
		w := Want{DType: t.Elem, Shape: make([]int64, len(t.Shape))}
		for i, d := range t.Shape {
			if w.Shape[i], err = d.Eval(bind); err != nil {
				return nil, err
			}
		}
		out = append(out, w)
	}
	for i, p := range f.Params {
		if p.Updated {
			out = append(out, Want{p.Type.Elem, shapes[i]})
		}
	}
	return out, nil
}
