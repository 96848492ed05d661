package transcripts

import "slices"

// The views of random transcripts.

func (g *generator) moveAxis() {
	a := g.pick()
	x := g.named[a]
	rank := len(x.shape)
	if rank == 0 {
		return
	}
	from, to := g.IntN(rank), g.IntN(rank)
	move := func(s []int64) []int64 {
		return slices.Insert(slices.Delete(slices.Clone(s), from, from+1), to, s[from])
	}
	g.view("moveaxis", x.view(x.off, move(x.shape), move(x.strides)), g.tensor(a), integer(from-g.IntN(2)*rank),
		integer(to-g.IntN(2)*rank))
}

func (g *generator) expand() {
	a := g.pick()
	x := g.named[a]
	axis := slices.Index(x.shape, 1)
	if axis < 0 {
		return
	}
	n := g.Int64N(4)
	written := axis - len(x.shape) // negative, which shows the order
	args := []obj{g.tensor(a), integer(written), integer(n)}
	if g.older {
		args[1], args[2] = args[2], args[1]
	}
	shape, strides := slices.Clone(x.shape), slices.Clone(x.strides)
	if n != 1 {
		shape[axis], strides[axis] = n, 0
	}
	g.view("expand", x.view(x.off, shape, strides), args...)
}

func (g *generator) contiguous() {
	a := g.pick()
	x := g.named[a]
	if !x.contiguous() {
		x = x.copied()
	}
	g.view("contiguous", x, g.tensor(a))
}

func (g *generator) reference() {
	a := g.pick()
	g.view("new_reference", g.named[a], g.tensor(a))
}

func (g *generator) slice() {
	a := g.pick()
	x := g.named[a]
	off, shape, strides := x.off, []int64{}, []int64{}
	var index []any
	dots := false
	for i := 0; i < len(x.shape); i++ {
		n := x.shape[i]
		switch c := g.IntN(8); {
		case c == 0 && n > 0:
			at := g.Int64N(n)
			off += at * x.strides[i]
			index = append(index, at-n*g.Int64N(2))
			continue
		case c == 1 && !dots:
			dots = true
			index = append(index, ellipsis())
			more := g.IntN(len(x.shape) - i + 1)
			for k := i; k < i+more; k++ {
				shape, strides = append(shape, x.shape[k]), append(strides, x.strides[k])
			}
			i += more - 1
			continue
		case c == 2:
			shape, strides = append(shape, n), append(strides, x.strides[i])
			index = append(index, cut(nil, nil, nil))
		case c == 3: // backwards, all of it
			step := 1 + g.Int64N(3)
			index = append(index, cut(nil, nil, -step))
			count := (n + step - 1) / step
			if count > 0 {
				off += (n - 1) * x.strides[i]
			}
			shape, strides = append(shape, count), append(strides, -step*x.strides[i])
		default:
			start, step := g.Int64N(n+1), 1+g.Int64N(3)
			stop := start + g.Int64N(n+1-start)
			count := (stop - start + step - 1) / step
			if count > 0 {
				off += start * x.strides[i]
			}
			shape, strides = append(shape, count), append(strides, step*x.strides[i])
			var last any = stop
			if stop == n && g.IntN(2) == 0 {
				last = stop + g.Int64N(100)
			}
			var first any = start
			if start < n && g.IntN(3) == 0 {
				first = start - n
			}
			index = append(index, cut(first, last, step))
		}
	}
	g.view("get_slice", x.view(off, shape, strides), g.tensor(a), shapeOf(index))
}

func shapeOf(list []any) obj { return shape(list...) }

func (g *generator) flatten() {
	a := g.pick()
	x := g.named[a]
	rank := len(x.shape)
	if rank == 0 || !x.contiguous() {
		return
	}
	start := g.IntN(rank)
	end := start + g.IntN(rank-start)
	shape := append(slices.Clone(x.shape[:start]), count(x.shape[start:end+1]))
	g.view("flatten", x.reshape(append(shape, x.shape[end+1:]...)), g.tensor(a), integer(start),
		integer(end-g.IntN(2)*rank))
}

func (g *generator) squeeze() {
	a := g.pick()
	x := g.named[a]
	axis := slices.Index(x.shape, 1)
	if axis < 0 {
		return
	}
	drop := func(s []int64) []int64 { return slices.Delete(slices.Clone(s), axis, axis+1) }
	g.view("squeeze", x.view(x.off, drop(x.shape), drop(x.strides)), g.tensor(a), integer(axis-g.IntN(2)*len(x.shape)))
}

func (g *generator) unsqueeze() {
	a := g.pick()
	x := g.named[a]
	rank := len(x.shape) + 1
	if rank > 5 {
		return
	}
	axis := g.IntN(rank)
	add := func(s []int64) []int64 { return slices.Insert(slices.Clone(s), axis, 1) }
	g.view("unsqueeze", x.view(x.off, add(x.shape), add(x.strides)), g.tensor(a), integer(axis-g.IntN(2)*rank))
}

func (g *generator) reshape() {
	a := g.pick()
	x := g.named[a]
	n := count(x.shape)
	shape := []int64{}
	for rest := n; ; { // factors of the number of elements
		f := 1 + g.Int64N(5)
		if n == 0 || f > rest || rest%f != 0 || len(shape) == 3 {
			shape = append(shape, rest)
			break
		}
		shape, rest = append(shape, f), rest/f
	}
	y := x.reshape(shape)
	if i := g.IntN(len(shape)); n > 0 && g.IntN(2) == 0 {
		shape = slices.Clone(shape)
		shape[i] = -1
	}
	g.view("reshape", y, g.tensor(a), extents(shape))
}
