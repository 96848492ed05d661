package collective

import "healc/runtime/exchange"

// What ranks send each other for a file is known before: the functions here say so to Write, and to
// `healc explain --ranks`.

// Opening is how many bytes each rank has of the two gathers by which a file is opened: whether it can write parts, and
// the tag of the file, which rank 0 has made.
func Opening(ranks int) (can, tag []int) {
	can, tag = make([]int, ranks), make([]int, ranks)
	for i := range can {
		can[i] = 1
	}
	tag[0] = 8
	return can, tag
}

// Bands are the exchanges by which ranks get whole rows to write, some at a time, where the runs of a part would be
// short; nil where parts are written as they lie.
func Bands(l exchange.Layout, ranks int) []exchange.Swap {
	if l.Outer <= 1 || l.Outer < int64(ranks) || l.Block*l.Inner >= shortRun {
		return nil
	}
	rows := max(piece/max(l.Extent*l.Inner, 1), 1) * int64(ranks)
	var out []exchange.Swap
	for at := int64(0); at < l.Outer; at += rows {
		n := min(rows, l.Outer-at)
		out = append(out, exchange.Swap{Dims: [5]int64{1, n, 1, l.Extent, l.Inner}, From: l.Blocks,
			To: exchange.CutFor(n, ranks), Back: true})
	}
	return out
}
