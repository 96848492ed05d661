package random

import (
	"fmt"
	"strings"
)

// Orders is a random function `f` that reduces a whole view of a tensor, which may lie in any order in memory: a
// reduction takes the elements in row-major order. From `since` on some go along the rows of such views instead. Its
// extents are shape parameters, whose values come with it.
func Orders(seed uint64) (text string, bind map[string]int64) {
	if seed >= since {
		return newOpen(seed, 15, (*open).whole, (*open).inRows, (*open).inRows)
	}
	return newOpen(seed, 15, (*open).whole)
}

// whole is a reduction of a view.
func (o *open) whole() (text, result string) {
	elem, x, names := o.turnedView(4096)
	switch o.r.IntN(5) {
	case 0:
		return "max/(" + x + ")", elem
	case 1:
		return "+/(" + x + " .* " + o.param(elem, names...) + ")", elem
	case 2:
		return fmt.Sprintf("{ let v = %s; (+/(v), +/(v .* v)) }", x), "(" + elem + ", " + elem + ")"
	}
	return "+/(" + x + ")", elem
}

// inRows goes along the rows of a view, or down its columns: they are reduced, and read again.
func (o *open) inRows() (text, result string) {
	elem, x, names := o.turnedView(1 + o.r.IntN(4)*300)
	last := fmt.Sprint(len(names) - 1)
	if len(names) == 3 && o.r.IntN(3) == 0 {
		last = "(1, 2)"
	}
	if o.r.IntN(4) == 0 {
		last = "0"
	}
	same := shapedAs(elem, names...)
	switch o.r.IntN(6) {
	case 0:
		return "cumsum(" + x + ", axis = 1)", same
	case 1:
		return fmt.Sprintf("{ let v = %s; v .- max/[axis=%s, keep](v) }", x, last), same
	case 2:
		return fmt.Sprintf("{ let v = %s .* %s; let s = +/[axis=%s, keep](v); +/[axis=%s, keep](v .- s) .* v }", x,
			o.param(elem, names...), last, last), same
	case 3: // an arm that reads another operand
		form := "{ let v = %s; let s = +/[axis=%s, keep](v); let w = %s; where(s .< 0 as %s, w, v) .- s }"
		return fmt.Sprintf(form, x, last, o.param(elem, names...), elem), same
	}
	return fmt.Sprintf("{ let v = %s; v .- +/[axis=%s, keep](v .* v) }", x, last), same
}

// turnedView is a view of a tensor, with the names of its extents; along one axis the tensor may have some chunks
// of elements.
func (o *open) turnedView(chunk int) (elem, x string, names []string) {
	elem = o.of("f32", "f32", "f64", "f16", "i32", "u8")
	rank := 2 + o.r.IntN(2)
	most := []int{9000, 60}[rank-2]
	names = []string{"M", "N", "K"}[:rank]
	stored := make([]string, rank)
	elems, long := 1, o.r.IntN(rank)
	for i, name := range names {
		n := o.size(most)
		if i == long { // rows of some chunks
			n = max(n, chunk*o.r.IntN(3)+o.size(chunk))
		}
		n = max(min(n, 140_000/elems), 1)
		elems *= n
		stored[i] = o.extent(name, n)
	}
	cut := o.r.IntN(2*rank) - rank // the axis of a slice, if there is one
	form := o.r.IntN(3)
	if cut >= 0 {
		stored[cut] = []string{names[cut] + " + 1", "2*" + names[cut], "3*" + names[cut]}[form]
	}
	x = o.param(elem, stored...)
	if cut >= 0 {
		ranges := strings.Split(strings.Repeat("..,", rank-1)+"..", ",")
		ranges[cut] = []string{"1..", "0..2*" + names[cut] + " by 2", "0..3*" + names[cut] + " by 3"}[form]
		x += "[" + strings.Join(ranges, ", ") + "]"
	}
	if o.r.IntN(5) == 0 {
		x = fmt.Sprintf("flip(%s, %d)", x, o.r.IntN(rank))
	}
	switch {
	case o.r.IntN(4) == 0:
	case rank == 2:
		x = "transpose(" + x + ")"
		names[0], names[1] = names[1], names[0]
	default:
		i, j := o.r.IntN(rank), o.r.IntN(rank)
		x = fmt.Sprintf("moveaxis(%s, %d, %d)", x, i, j)
		name := names[i]
		names = append(append([]string{}, names[:i]...), names[i+1:]...)
		names = append(names[:j], append([]string{name}, names[j:]...)...)
	}
	return elem, x, names
}
