package ast

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Dump prints the tree under n, one node a line, children indented, without spans. It reads the fields
// by reflection, so no node and no field is left out:
//
//	Binary Op="+"
//	  X: Name Name="a"
//	  Y: Lit Kind=Int Raw="1" Value="1"
//
// Fields that are empty are left out; so are the comments and the text of a File.
func Dump(n Node) string {
	var b strings.Builder
	dump(&b, "", "", reflect.ValueOf(n))
	return b.String()
}

// Equal reports whether the trees are the same, spans and comments aside: whether Dump prints the same.
func Equal(a, b Node) bool { return equal(reflect.ValueOf(a), reflect.ValueOf(b)) }

func equal(a, b reflect.Value) bool {
	for a.Kind() == reflect.Pointer || a.Kind() == reflect.Interface {
		if a.Kind() != b.Kind() || a.IsNil() || b.IsNil() {
			return a.Kind() == b.Kind() && a.IsNil() && b.IsNil()
		}
		a, b = a.Elem(), b.Elem()
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !silent(a.Type().Field(i).Name) && !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

// silent reports whether the field holds places or comments.
func silent(field string) bool {
	switch field {
	case "At", "Source", "Comments", "OpLoc":
		return true
	}
	return false
}

var kindNames = [...]string{"Int", "Float", "Bool", "Char", "String"}

// String returns the name of the kind.
func (k LitKind) String() string { return kindNames[k] }

var identType = reflect.TypeFor[Ident]()

func dump(b *strings.Builder, indent, label string, v reflect.Value) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			fmt.Fprintf(b, "%s%snil\n", indent, label)
			return
		}
		v = v.Elem()
	}
	t := v.Type()
	b.WriteString(indent + label + t.Name())
	var children []int
	for i := range t.NumField() {
		f, x := t.Field(i), v.Field(i)
		if silent(f.Name) {
			continue
		}
		if x.Kind() == reflect.Pointer && !x.IsNil() && x.Type().Elem() == identType {
			x = x.Elem()
		}
		switch {
		case x.Type() == identType:
			fmt.Fprintf(b, " %s=%s", f.Name, x.Field(1).String())
		case x.Type() == reflect.TypeFor[LitKind]():
			fmt.Fprintf(b, " %s=%s", f.Name, x.Interface())
		case x.Kind() == reflect.String:
			if x.Len() > 0 {
				fmt.Fprintf(b, " %s=%s", f.Name, strconv.Quote(x.String()))
			}
		case x.Kind() == reflect.Bool:
			if x.Bool() {
				b.WriteString(" " + f.Name)
			}
		case x.Kind() == reflect.Slice && x.Len() == 0:
		case (x.Kind() == reflect.Interface || x.Kind() == reflect.Pointer) && x.IsNil():
		default:
			children = append(children, i)
		}
	}
	b.WriteByte('\n')
	indent += "  "
	for _, i := range children {
		name, x := t.Field(i).Name+": ", v.Field(i)
		if x.Kind() != reflect.Slice {
			dump(b, indent, name, x)
			continue
		}
		for j := range x.Len() {
			dump(b, indent, name, x.Index(j))
		}
	}
}
